package command

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-82afce7a/rewind/bench"
	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// A benchRun is one call of the benchmark.
type benchRun struct {
	app       *app
	opt       bench.Options
	benchstat bool
}

func benchCommand(a *app) *cobra.Command {
	r := &benchRun{app: a}
	c := cli.Command("bench", "Measure rewind beside git and its peers, on copies, in one run", cli.Nothing, func(c *cobra.Command, _ []string) error {
		return r.run(c)
	})
	f := c.Flags()
	f.StringVar(&r.opt.Corpus, "corpus", "", "a `directory` to copy and work on (default: generate one)")
	f.IntVar(&r.opt.Files, "files", 0, "how many files to generate, 10 to 1000000 (default 10000)")
	f.IntVar(&r.opt.Bytes, "bytes", 0, "how many bytes a generated file has at most (default 12800)")
	f.Uint64Var(&r.opt.Seed, "seed", 0, "of the generated files and of what is done to them")
	f.IntVar(&r.opt.Rounds, "rounds", 0, "measured rounds (default 7; fewer than 6 support no ratio)")
	f.IntVar(&r.opt.Turns, "turns", 0, "turns of the workload of that name (default 1000), and of remote (default 100)")
	f.IntVar(&r.opt.History, "history", 0, "snapshots of the workload of that name (default 20000)")
	f.StringSliceVar(&r.opt.Workloads, "workloads", nil, "only these `names`; \"all\" for all (default: those that take minutes together)")
	f.StringSliceVar(&r.opt.Contenders, "contenders", nil, "only these `names` (default: all that are installed)")
	f.StringVar(&r.opt.Before, "before", "", "an earlier `program` of rewind, to compare with where worktrees are watched")
	f.StringVar(&r.opt.S3, "s3", "", "versitygw, a `program` to serve the repositories of the workload remote (default: they are directories)")
	f.DurationVar(&r.opt.Latency, "latency", 0, "that lies before what --s3 serves, there and back")
	f.StringVar(&r.opt.Dir, "dir", "", "the `directory` for copies and stores, on the file system to measure (default: that for temporary files)")
	f.BoolVar(&r.benchstat, "benchstat", false, "print what benchstat reads in place of tables")
	return a.JSONFlag(c)
}

func (r *benchRun) run(c *cobra.Command) error {
	if err := r.check(c.Flags()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.opt.Binary, r.opt.Version = self, strings.Trim(cli.Version(), "()")
	r.opt.Progress, r.opt.Note = benchProgress(r.app.Err)
	told, err := bench.Run(c.Context(), r.opt)
	if show.IsTerminal(r.app.Err) {
		show.Say(r.app.Err, "\r\033[K")
	}
	if told == nil || err != nil && len(told.Results) == 0 {
		return err
	}
	told.Command = commandOf(c.Flags())
	if failed := r.tell(told); err == nil {
		err = failed
	}
	return err
}

// check says what of the flags cannot be.
func (r *benchRun) check(f *pflag.FlagSet) error {
	for name, n := range map[string]int{"rounds": r.opt.Rounds, "files": r.opt.Files, "bytes": r.opt.Bytes, "turns": r.opt.Turns, "history": r.opt.History} {
		if f.Changed(name) && n < 1 {
			return exit.Usagef("bench: --%s %d is less than one", name, n)
		}
	}
	if r.opt.Latency < 0 || r.opt.Latency > 0 && r.opt.S3 == "" {
		return exit.Usagef("bench: --latency %v needs --s3, and is not less than nothing", r.opt.Latency)
	}
	if slices.Equal(r.opt.Workloads, []string{"all"}) {
		r.opt.Workloads = bench.Workloads()
	}
	for _, name := range r.opt.Workloads {
		if !slices.Contains(bench.Workloads(), name) {
			return exit.Usagef("bench: %q is no workload: %s", name, strings.Join(bench.Workloads(), ", "))
		}
	}
	for _, name := range r.opt.Contenders {
		if !slices.Contains(bench.Contenders(), name) {
			return exit.Usagef("bench: %q is no contender: %s", name, strings.Join(bench.Contenders(), ", "))
		}
	}
	return nil
}

// tell prints a report in the form that was asked for.
func (r *benchRun) tell(told *bench.Report) error {
	switch {
	case r.app.JSON:
		r.app.PrintJSON(told)
		return nil
	case r.benchstat:
		return told.Benchstat(r.app.Out)
	}
	return told.Print(r.app.Out)
}

// commandOf is the command with its flags, but for directories and where the
// report goes: whoever has such a machine can repeat it.
func commandOf(f *pflag.FlagSet) string {
	text := "rewind bench"
	f.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "corpus":
			text += " --corpus DIR"
		case "before":
			text += " --before PROGRAM"
		case "s3":
			text += " --s3 PROGRAM"
		case "latency", "files", "bytes", "seed", "rounds", "turns", "history", "workloads", "contenders":
			text += " --" + flag.Name + " " + strings.Trim(flag.Value.String(), "[]")
		}
	})
	return text
}

// benchProgress tells what is being done: in one line that changes where a person
// looks on; elsewhere a line when another workload begins, as a log needs no more.
// A note has a line that stays.
func benchProgress(w io.Writer) (progress, note func(string)) {
	if show.IsTerminal(w) {
		return func(line string) { show.Say(w, "\r\033[K%s", line) }, func(line string) { show.Say(w, "\r\033[K%s\n", line) }
	}
	last := ""
	progress = func(line string) {
		stage, _, _ := strings.Cut(line, ":")
		if stage != last {
			show.Say(w, "%s\n", stage)
		}
		last = stage
	}
	return progress, func(line string) { show.Say(w, "%s\n", line) }
}
