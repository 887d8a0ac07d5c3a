package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Main is the command `rewind bench`: it parses the arguments, runs, and writes
// the report to stdout and progress to stderr. The binary measured is the one
// given unless a flag names another. It gives flag.ErrHelp when help was asked
// for, and an error that wraps [ErrUsage] for arguments that are none.
func Main(ctx context.Context, binary string, args []string, stdout, stderr io.Writer) error {
	o := Options{Progress: func(line string) { fmt.Fprintln(stderr, line) }}
	flags := flag.NewFlagSet("rewind bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Binary, "binary", binary, "the rewind program; empty: the peers alone")
	flags.StringVar(&o.Corpus, "corpus", "", "directory to copy and work on; empty: generated files")
	flags.IntVar(&o.Files, "files", 10_000, "how many files to generate")
	flags.Uint64Var(&o.Seed, "seed", 1, "of the generated files")
	flags.IntVar(&o.Rounds, "rounds", 7, "measured rounds")
	flags.StringVar(&o.Dir, "dir", "", "where to work (default: the temporary directory)")
	chosen := flags.String("workloads", strings.Join(Workloads(), ","), "which to run")
	format := flags.String("format", "table", "table, json or go (for benchstat)")
	if err := flags.Parse(args); err != nil {
		return errors.Join(ErrUsage, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: %q", ErrUsage, flags.Args())
	}
	o.Workloads = strings.Split(*chosen, ",")
	write, known := map[string]func(*Report, io.Writer) error{
		"table": (*Report).Table, "json": (*Report).JSON, "go": (*Report).Benchmarks,
	}[*format]
	if !known {
		return fmt.Errorf("%w: no format %q", ErrUsage, *format)
	}
	report, err := Run(ctx, o)
	if report != nil && len(report.Results) > 0 {
		err = firstError(err, write(report, stdout))
	}
	return err
}

// ErrUsage is reported by [Main] for arguments that it does not know.
var ErrUsage = errors.New("usage")
