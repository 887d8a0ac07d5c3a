// Package bench runs rewind beside git and beside the programs that do the
// same work, in one run, on copies of one directory, and compares them.
//
// Every contender is driven as processes, the way its users meet it; of agents
// and editors only the git commands are run, not the program that gives them, so
// what is shown is the least they can take. Each contender has a copy of its own:
// none meets what another left. They take turns within each round and the order
// rotates, so that a disturbance of the machine meets all. What a run claims to
// have recorded or restored is compared with what is expected, outside of the
// measured time. Where rewind is wrong the run fails; of the others it is told.
//
// # What the figures mean
//
// After a restore the whole directory is compared with a picture of before: type,
// permissions, bytes, links, nothing missing and nothing more. Workloads that restore
// do that each time; after others the last snapshot is restored once. Bytes of a file
// are not read again if it has the inode, size and time of change that it had when
// they were read, more than two seconds after that time: nobody can set that. On Linux
// alone; a mapping on tmpfs has no such time, and no contender writes through one.
//
// A median has the interval of the sign test, which assumes nothing of the
// distribution: between the k-th smallest and k-th largest value, so that it misses
// the median in less than one run of twenty. Fewer than six rounds promise nothing. A
// ratio is the median over the rounds of the time to that of the first line, with the
// same interval: within a round the machine was the same for both. It is printed only
// if that interval excludes 1 and holds the ratio of the medians beside it; else there
// is a ~.
//
// Stored is what is allocated under .git and in the stores. Beyond the changed content
// is what is more than the changed files, each deflated whole: what any store must add
// that keeps no deltas. What lives on is halted while others have their turns. The
// first round warms up and takes the memory. Who has taken two minutes for a workload
// does no more rounds.
//
// Not taken: one directory for all, where the index that one refreshed helps or hurts
// the next; means and standard deviations, as one disturbance decides; a bootstrap,
// which with seven values invents more than it knows; ratios of medians, which compare
// different minutes. The page of a run is made by a module of its own, ../bench/page:
// html/template keeps every exported method of a program alive.
//
// The package knows no file format of any contender, and nothing of the rest
// of this module but package trust. The directory given as corpus is only read.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
	"github.com/seed-82afce7a/rewind/internal/trust"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// Options say what to run. The zero value, with a Binary, is the recommended run.
type Options struct {
	Binary     string            // the rewind program; "": the peers alone
	Version    string            // of that program
	Before     string            // an earlier rewind, with which it is compared where worktrees are watched; "": none
	Corpus     string            // directory to copy, with its .git if it has one; "": generate one
	Files      int               // how many files to generate; 0: 10,000
	Bytes      int               // that a generated file has at most; 0: 12,800
	Seed       uint64            // of the generated files, and of what the scripted agent does
	Rounds     int               // measured rounds, after one that only warms up; 0: 7
	Turns      int               // of the scripted agent; 0: 1,000, and 100 where each is brought elsewhere
	History    int               // how many snapshots the workload of that name has; 0: 20,000
	Workloads  []string          // keys of [Workloads]; nil: those that are usual
	Contenders []string          // keys of [Contenders]; nil: all
	S3         string            // versitygw, which serves the repositories of the workload remote; "": they are directories
	Latency    time.Duration     // that lies before that server
	Dir        string            // where copies and stores go, on the file system to measure; "": the directory for temporary files
	Progress   func(line string) // is told what is being done, often
	Note       func(line string) // is told what whoever waits should know, seldom
	large      int64             // bytes of the large file; 0: 200 MB
	pushes     int               // how many turns are brought elsewhere
	longest    time.Duration     // that the rounds of a contender may take in one workload; 0: two minutes
}

// A Report is the outcome of a run.
type Report = report.Report

// Run measures and gives the report. It fails if rewind fails, or does not do
// what it says; the report then has the workloads that were finished before.
// What it makes is in one new directory, which it removes.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	if o, err = o.filled(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "rewind-bench-")
	if err != nil {
		return nil, err
	}
	defer func() {
		o.Progress("removing the copies")
		err = firstError(err, removeAll(dir))
	}()
	r = &report.Report{Time: time.Now().UTC(), Machine: machine(ctx, o), Rounds: o.Rounds, Seed: o.Seed}
	chosen, absent := o.contenders(ctx)
	for _, c := range append(chosen, absent...) {
		r.Contenders = append(r.Contenders, c.told)
	}
	for _, restores := range []bool{false, true} {
		if err := runStage(ctx, o, r, stagePlan{dir, restores, chosen}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// filled gives o with its defaults, or says what in it cannot be.
func (o Options) filled() (Options, error) {
	o.pushes = cmp.Or(o.Turns, pushesUsual)
	for value, usual := range map[*int]int{&o.Files: 10_000, &o.Bytes: bytesMost, &o.Rounds: 7, &o.Turns: 1000, &o.History: 20_000} {
		if *value == 0 {
			*value = usual
		}
	}
	if o.large == 0 {
		o.large = 200e6
	}
	o.longest = cmp.Or(o.longest, 2*time.Minute)
	for _, tell := range []*func(string){&o.Progress, &o.Note} {
		if *tell == nil {
			*tell = func(string) {}
		}
	}
	if o.Workloads == nil {
		o.Workloads = usual()
	}
	for _, name := range o.Workloads {
		if !slices.ContainsFunc(workloads, func(w workload) bool { return w.name == name }) {
			return o, fmt.Errorf("no workload %q", name)
		}
	}
	for _, key := range o.Contenders {
		if !slices.ContainsFunc(contenders, func(c contender) bool { return c.key == key }) {
			return o, fmt.Errorf("no contender %q", key)
		}
	}
	if o.S3 != "" {
		program, err := exec.LookPath(o.S3)
		if err != nil {
			return o, err
		}
		o.S3 = program
	}
	for _, path := range []*string{&o.Binary, &o.Before, &o.Corpus, &o.Dir} { // what is run works in directories of its own
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

// A stagePlan is where a stage goes, whether it is for restoring, and who comes.
type stagePlan struct {
	dir      string
	restores bool
	chosen   []contender
}

// runStage runs the workloads of one kind in copies on one file system. Those that
// restore wait for the disk's journal, so they are given a file system that is known.
func runStage(ctx context.Context, o Options, r *report.Report, p stagePlan) (err error) {
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
		if where, err = restorePlace(ctx, p.dir, imageBytes(corpusBytes(o)*int64(len(p.chosen)), o.Rounds)); err != nil {
			return err
		}
		if where.undo != nil {
			defer func() { err = firstError(err, where.undo()) }()
		}
	}
	st, err := newStage(ctx, o, where, p.chosen)
	if err != nil {
		return err
	}
	defer st.close()
	for _, w := range chosen {
		results, err := w.run(ctx, st, w)
		for i := range results {
			results[i].Place = cmp.Or(results[i].Place, where.kind)
			results[i].Compare()
		}
		r.Results = append(r.Results, results...)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
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

// removeAll removes a directory, also where a restore has made one read-only. What
// lies four directories deep is removed side by side: there are millions of
// files in a large run.
func removeAll(dir string) error {
	parts := workers(func(path string) error { _ = os.RemoveAll(path); return nil })
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() && strings.Count(path[len(dir):], string(filepath.Separator)) == 4 {
			parts.give(path)
			return fs.SkipDir
		}
		return nil
	})
	_ = parts.wait()
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// oneLine is the beginning of an error's text, in one line, without the place of
// the lane.
func (l *lane) oneLine(err error) string {
	text := visible.Line(strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), filepath.Dir(l.tree), "DIR")), " "))
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
