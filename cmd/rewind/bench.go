package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/bench"
)

func benchCommand(a *app) *cobra.Command {
	var opt bench.Options
	c := verb("bench", "Measure rewind beside git and its peers, on copies, in one run", nothing, func(c *cobra.Command, _ []string) error {
		for name, n := range map[string]int{"rounds": opt.Rounds, "files": opt.Files} {
			if c.Flags().Changed(name) && n < 1 {
				return usagef("bench: --%s %d is less than one", name, n)
			}
		}
		for _, name := range opt.Workloads {
			if !slices.Contains(bench.Workloads(), name) {
				return usagef("bench: %q is no workload: %s", name, strings.Join(bench.Workloads(), ", "))
			}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		opt.Binary = self
		opt.Progress = func(line string) { say(a.err, "%s\n", line) }
		report, err := bench.Run(c.Context(), opt)
		if err != nil {
			return err
		}
		if a.json {
			a.printJSON(report)
			return nil
		}
		return report.Print(a.out)
	})
	f := c.Flags()
	f.StringVar(&opt.Corpus, "corpus", "", "a `directory` to copy and work on (default: generate one)")
	f.IntVar(&opt.Files, "files", 0, "how many files to generate (default 10000)")
	f.Uint64Var(&opt.Seed, "seed", 0, "of the generated files")
	f.IntVar(&opt.Rounds, "rounds", 0, "measured rounds (default 7)")
	f.StringSliceVar(&opt.Workloads, "workloads", nil, "only these `names` (default: all)")
	f.StringVar(&opt.Dir, "dir", "", "the `directory` for copies and stores, on the file system to measure")
	return a.jsonFlag(c)
}
