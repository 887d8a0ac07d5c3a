package bench

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// A workload is one thing that everyone is asked to do.
type workload struct {
	name     string
	about    string // the situation, and what is measured
	usual    bool   // part of a run that names no workloads
	restores bool   // runs where the file system is known
	run      func(ctx context.Context, st *stage, w workload) ([]report.Result, error)
}

// workloads lists them all, in the order in which they are run.
var workloads = []workload{
	{"edit-1", "one file has other bytes since the last snapshot; a snapshot", true, false, records(1, edit, true)},
	{"edit-5", "five files have other bytes since the last snapshot; a snapshot", false, false, records(5, edit, true)},
	{"edit-10", "ten files have other bytes since the last snapshot; a snapshot", true, false, records(10, edit, true)},
	{"edit-1000", "a thousand files have other bytes since the last snapshot; a snapshot", true, false, records(1000, edit, true)},
	{"files", "ten new files, ten files of the last time gone; a snapshot", true, false, records(10, comeAndGo, false)},
	{"branch", "another branch was checked out, on which a thousand files differ; a snapshot", false, false, records(1000, switchBranch, true)},
	{"large", "a new file of 200 MB that does not compress, in which one MiB is another since the last snapshot; a snapshot", false, false, records(1, editLarge, false)},
	{"first", "a clean checkout that the contender has never seen; a snapshot", true, false, firsts(false)},
	{"first-nogit", "the same, of the files alone; a snapshot that goes without git", true, false, firsts(true)},
	{"start", "commands that should cost no more than their start", true, false, starts},
	{"sessions", "four sessions each edit a file in the same directory and take a snapshot, all at once; until all have it", false, false, sessions},
	{"size", "one file has other bytes since the last snapshot, in directories of more and more files; a snapshot", false, false, sizes(100, records(1, edit, true))},
	{"watched-questions", "two files have other bytes since the last snapshot", false, false, sizes(1000, asksEach(false))},
	{"watched-back", "two files have other bytes since the last snapshot", false, false, sizes(1000, asksEach(true))},
	{"turns", "turns of a scripted agent: each edits one to three files, some make, delete or rename one; a snapshot after each", false, false, turns},
	{"history", "commands in a directory with a long history", false, false, histories},
	{"remote", "a repository elsewhere, with a password that was given", false, false, remotes(false)},
	{"remote-own", "the same; rewind with a password that it made", false, false, remotes(true)},
	{"restore-1", "one file has other bytes; a restore", true, true, restores(damaged(1))},
	{"restore-1000", "of a thousand files eight in ten have other bytes, one is deleted, one is new; a restore", true, true, restores(damaged(1000))},
	{"situations", "what agents and shells do to a worktree; whether a restore gives back all of it, and nothing else", false, false, tryAll},
	{"rm-5000", "rm -rf of directories with five thousand files; a restore", false, true, restores(removed(5000))},
}

// Workloads lists the keys of the workloads.
func Workloads() []string {
	var list []string
	for _, w := range workloads {
		list = append(list, w.name)
	}
	return list
}

// usual lists those of a run that names none.
func usual() []string {
	var list []string
	for _, w := range workloads {
		if w.usual {
			list = append(list, w.name)
		}
	}
	return list
}

// result wraps lines in the result of the workload.
func (w workload) result(st *stage, n int, lines []report.Line) []report.Result {
	if lines == nil {
		return nil
	}
	return []report.Result{{Workload: w.name, About: w.about, Files: st.names.files, Changed: n, Lines: lines}}
}

// changed is what was done to a worktree before a turn.
type changed struct {
	files []string // that have other bytes than before
	seen  int      // as how many changes git status sees it; -1: not known
}

// A change makes the situation of a turn, in a lane that has been primed.
type change func(ctx context.Context, l *lane, n int) (changed, error)

// compare makes a way of each contender that takes part, and measures them beside
// some more. Before and after it their lanes are clean checkouts.
func (st *stage) compare(ctx context.Context, w workload, takes func(contender) bool, wayOf func(c contender, l *lane) way, more ...way) ([]report.Line, error) {
	var ways []way
	defer func() { st.tidy(ctx, ways) }()
	for _, c := range st.chosen {
		if !takes(c) {
			continue
		}
		l, err := st.lane(ctx, c)
		if err != nil {
			return nil, err
		}
		if err := l.clean(ctx); err != nil {
			return nil, err
		}
		one := wayOf(c, l)
		one.name, one.lane, one.ours = c.name, l, c.ours()
		ways = append(ways, one)
	}
	return measure(ctx, st, w.name, append(ways, more...))
}

// makes reports whether a contender records and restores.
func (c contender) makes() bool { return c.make != nil }

// records makes the workload of a snapshot after a change of n files. The bare
// system calls take part where the names stay what they were.
func records(n int, do change, sameNames bool) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
		takes := func(c contender) bool { return c.makes() || c.needs != "" || sameNames }
		lines, err := st.compare(ctx, w, takes, func(c contender, l *lane) way {
			one := func() (changed, error) { return do(ctx, l, n) }
			if c.makes() {
				return l.recorder(l.prime, one)
			}
			return l.looks(c, one)
		})
		return w.result(st, st.count(n), lines), err
	}
}

// recorder is the way of a lane whose system records: a snapshot after a change, for
// which the system is made ready.
func (l *lane) recorder(ready func(context.Context) error, do func() (changed, error)) way {
	var did changed
	var id string
	return way{
		before: func(ctx context.Context) (err error) {
			if err := ready(ctx); err != nil {
				return err
			}
			did, err = do()
			return err
		},
		act: func(ctx context.Context) (err error) {
			id, err = l.system.snapshot(ctx, l)
			l.primed = l.primed || err == nil
			return err
		},
		after: func(ctx context.Context) error { return l.holds(ctx, id, did.files) },
		prove: func(ctx context.Context) error { return l.comesBack(ctx, id) },
	}
}

// tidy makes clean checkouts of the lanes that were used. What it cannot undo is
// found by the next workload, which begins with the same.
func (st *stage) tidy(ctx context.Context, ways []way) {
	for _, w := range ways {
		w.lane.wake()
		if w.lane.was != "" {
			_, _ = w.lane.git(ctx, "symbolic-ref", "HEAD", w.lane.was)
			w.lane.was = ""
		}
		_ = w.lane.clean(ctx)
		w.lane.rest()
	}
}

// firsts makes the workload of a first snapshot.
func firsts(noGit bool) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
		takes := func(c contender) bool {
			return c.makes() && !c.resident && (c.noGit || !noGit) || c.look != nil && !noGit
		}
		var git []way
		if noGit {
			way, err := st.initAdd(ctx)
			if err != nil {
				return nil, err
			}
			git = append(git, way)
		}
		lines, err := st.compare(ctx, w, takes, func(c contender, l *lane) way {
			if c.makes() {
				return l.recorder(l.forget, func() (changed, error) { return changed{files: l.pick(3)}, nil })
			}
			return l.looks(c, func() (changed, error) { return changed{}, nil })
		}, git...)
		return w.result(st, 0, lines), err
	}
}

// initAdd is what git does with files that it has never seen, in a repository
// apart: git init and git add -A.
func (st *stage) initAdd(ctx context.Context) (way, error) {
	l, err := st.lane(ctx, contender{key: "git-init-add", name: "git init, add -A"})
	if err != nil {
		return way{}, err
	}
	git := func(ctx context.Context, args ...string) (string, error) {
		out, err := l.run(ctx, command{name: "git", args: args, env: []string{"GIT_DIR=" + l.state + "/fresh.git", "GIT_WORK_TREE=" + l.tree}})
		return string(out), err
	}
	return way{
		name: l.contender.name, lane: l,
		before: func(context.Context) error { return emptyDir(l.state) },
		act: func(ctx context.Context) error {
			if _, err := git(ctx, "init", "-q"); err != nil {
				return err
			}
			_, err := git(ctx, "add", "-A")
			return err
		},
		after: func(ctx context.Context) error {
			added, err := git(ctx, "ls-files", "-z")
			if n := len(split0(added)); err == nil && n < len(l.names.old) {
				err = inexact{fmt.Sprintf("git added %d files of %d", n, len(l.names.old))}
			}
			return err
		},
	}, nil
}

// restores makes the workload of a restore of a clean checkout after some harm.
func restores(harm func(l *lane) error) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
		harmed := 0
		lines, err := st.compare(ctx, w, contender.makes, func(_ contender, l *lane) way {
			return st.restorer(l, func() error {
				err := harm(l)
				harmed = l.harmed
				return err
			})
		})
		return w.result(st, harmed, lines), err
	}
}

// restorer is the way of a lane whose system puts back.
func (st *stage) restorer(l *lane, harm func() error) way {
	var id string
	return way{
		before: func(ctx context.Context) (err error) {
			if err := l.clean(ctx); err != nil {
				return err
			}
			if id, err = l.system.snapshot(ctx, l); err != nil {
				return err
			}
			l.primed = true
			return firstError(l.prime(ctx), harm())
		},
		act: func(ctx context.Context) error { return l.system.restore(ctx, l, id) },
		after: func(ctx context.Context) error {
			want, err := st.picture(ctx)
			if err != nil {
				return err
			}
			return want.differs(l.tree, l.read)
		},
		prove: func(context.Context) error { return nil }, // each restore was compared
	}
}

// count limits a number of files to change to half of those that there are.
func (st *stage) count(n int) int { return min(n, len(st.names.old)/2) }
