// Package bench runs rewind beside git and beside the programs that do the
// same work, in one run, on one directory, and compares them.
//
// Every contender is driven as processes, the way its users meet it; of the
// peers only the git commands are run, not the program that gives them, so
// what is shown is the least they can take. Contenders take turns within each
// round and the order rotates, so that a disturbance of the machine meets all.
// What a run claims to have recorded or restored is compared with the bytes
// expected, outside of the measured time: a contender that does nothing fails.
//
// The package knows no file format of any contender, and nothing of the rest
// of this module. The directory given as corpus is only read.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

// Options say what to run. The zero value, with a Binary, is the recommended run.
type Options struct {
	Binary    string   // the rewind program; "": the peers alone
	Corpus    string   // directory to copy, with its .git if it has one; "": generate one
	Files     int      // how many files to generate; 0: 10,000
	Seed      uint64   // of the generated files
	Rounds    int      // measured rounds, after one that only warms up; 0: 7
	Workloads []string // names of [Workloads]; nil: all
	Dir       string   // where copies and stores go, on the file system to measure; "": a new temporary directory, removed at the end
	Progress  func(line string)
}

// Run measures and gives the report. It fails if any contender fails, or does
// not do what it says; the report then has the workloads that were finished
// before. Only the directory of the options is written to.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o, err = o.filled(); err != nil {
		return nil, err
	}
	if o.Dir != "" { // what is run works in directories of its own
		if o.Dir, err = filepath.Abs(o.Dir); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(o.Dir, "rewind-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = firstError(err, os.RemoveAll(dir)) }()
	report = &Report{Time: time.Now().UTC(), System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Rounds: o.Rounds}
	for _, restores := range []bool{false, true} {
		if err := runStage(ctx, o, report, stagePlan{dir, restores}); err != nil {
			return report, err
		}
	}
	return report, nil
}

// filled gives o with its defaults, or says what in it cannot be.
func (o Options) filled() (Options, error) {
	if o.Files == 0 {
		o.Files = 10_000
	}
	if o.Rounds == 0 {
		o.Rounds = 7
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Workloads == nil {
		o.Workloads = Workloads()
	}
	for _, name := range o.Workloads {
		if !slices.Contains(Workloads(), name) {
			return o, fmt.Errorf("no workload %q", name)
		}
	}
	for _, path := range []*string{&o.Binary, &o.Corpus} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		if _, err := os.Stat(abs); err != nil {
			return o, err
		}
		*path = abs
	}
	if o.Corpus == "" {
		return o, nil
	}
	return o, ownCorpus(o.Corpus)
}

// ownCorpus refuses what somebody else owns: the copy would be the user's, and git
// would run there what the owner has configured.
func ownCorpus(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, ".git")} {
		st, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !trust.Owned(path, st) {
			return fmt.Errorf("the corpus %s %w; copy its files without its .git, as yourself", path, trust.ErrForeign)
		}
	}
	return nil
}

// A stagePlan is where a stage goes, and whether it is for restoring.
type stagePlan struct {
	dir      string
	restores bool
}

// runStage runs the workloads of one kind in one copy of the corpus. Those that
// restore wait for the disk's journal, so they are given a file system that is known.
func runStage(ctx context.Context, o Options, report *Report, p stagePlan) (err error) {
	var chosen []workload
	for _, w := range workloads {
		if w.restores == p.restores && slices.Contains(o.Workloads, w.name) {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	where := place{dir: filepath.Join(p.dir, "here"), kind: fileSystem(p.dir)}
	if p.restores {
		if where, err = restorePlace(ctx, p.dir, imageBytes(corpusBytes(o), o.Rounds)); err != nil {
			return err
		}
		defer func() { err = firstError(err, where.leave()) }()
	}
	o.Progress("copying the corpus to " + where.kind)
	st, err := newStage(ctx, o, where.dir)
	if err != nil {
		return err
	}
	for _, w := range chosen {
		result, err := measure(ctx, o, st, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		result.Place, result.Files = where.kind, st.names.files
		report.Results = append(report.Results, *result)
	}
	return nil
}

// measure runs one workload: a round that warms up and takes the memory, and
// then the rounds that count.
func measure(ctx context.Context, o Options, st *stage, w workload) (*Result, error) {
	contenders := w.contenders(st)
	result := &Result{Workload: w.name, Changed: st.count(w.changed)}
	for _, c := range contenders {
		result.Contenders = append(result.Contenders, Contender{Name: c.name})
	}
	for round := range o.Rounds + 1 {
		for turn := range contenders {
			i := (turn + round) % len(contenders)
			s, err := once(ctx, st, contenders[i], round == 0)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			if round == 0 {
				result.Contenders[i].PeakBytes = s.peak
				continue
			}
			result.Contenders[i].Seconds = append(result.Contenders[i].Seconds, s.took.Seconds())
			result.Contenders[i].DiskBytes = append(result.Contenders[i].DiskBytes, s.disk)
		}
		o.Progress(fmt.Sprintf("%s: round %d of %d", w.name, round, o.Rounds))
	}
	result.compare()
	return result, nil
}

// A sample is what one turn of one contender cost.
type sample struct {
	took time.Duration
	peak int64 // bytes of the largest process; 0 where unknown
	disk int64 // bytes allocated by it, net
}

// once gives one contender its turn.
func once(ctx context.Context, st *stage, c contender, watchMemory bool) (sample, error) {
	if err := c.before(ctx); err != nil {
		return sample{}, fmt.Errorf("prepare: %w", err)
	}
	st.peak.reset(watchMemory)
	size, err := st.stored()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	if err := c.act(ctx); err != nil {
		return sample{}, err
	}
	s := sample{took: time.Since(start), peak: st.peak.bytes()}
	st.peak.reset(false)
	after, err := st.stored()
	if err != nil {
		return sample{}, err
	}
	s.disk = after - size
	if err := c.after(ctx); err != nil {
		return sample{}, fmt.Errorf("check: %w", err)
	}
	return s, nil
}

// firstError gives the error that came first.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
