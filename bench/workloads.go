package bench

import (
	"context"
	"fmt"
	"slices"

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
	{"size", "one file has other bytes since the last snapshot, in directories of more and more files; a snapshot", false, false, sizes},
	{"turns", "turns of a scripted agent: each edits one to three files, some make, delete or rename one; a snapshot after each", false, false, turns},
	{"history", "commands in a directory with a long history", false, false, histories},
	{"restore-1", "one file has other bytes; a restore", true, true, restores(damaged(1))},
	{"restore-1000", "of a thousand files eight in ten have other bytes, one is deleted, one is new; a restore", true, true, restores(damaged(1000))},
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

// records makes the workload of a snapshot after a change of n files. The bare
// system calls take part where the names stay what they were.
func records(n int, do change, sameNames bool) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
		var ways []way
		defer func() { st.tidy(ctx, ways) }()
		for _, c := range st.chosen {
			one := func(l *lane) (changed, error) { return do(ctx, l, n) }
			var way way
			var err error
			switch {
			case c.make != nil:
				way, err = st.recorder(ctx, c, one)
			case c.needs == "" && !sameNames:
				continue
			default:
				way, err = st.looks(ctx, c, one)
			}
			if err != nil {
				return nil, err
			}
			ways = append(ways, way)
		}
		lines, err := measure(ctx, st, w.name, ways)
		return w.result(st, st.count(n), lines), err
	}
}

// recorder makes a way of a contender that records: a snapshot after a change.
func (st *stage) recorder(ctx context.Context, c contender, do func(*lane) (changed, error)) (way, error) {
	l, err := st.lane(ctx, c)
	if err != nil {
		return way{}, err
	}
	if err := l.clean(ctx); err != nil {
		return way{}, err
	}
	var did changed
	var id string
	return way{
		name: c.name, lane: l, ours: c.ours(),
		before: func(ctx context.Context) (err error) {
			if err := l.prime(ctx); err != nil {
				return err
			}
			did, err = do(l)
			return err
		},
		act: func(ctx context.Context) (err error) {
			id, err = l.system.snapshot(ctx, l)
			return err
		},
		after: func(ctx context.Context) error { return l.holds(ctx, id, did.files) },
		prove: func(ctx context.Context) error { return l.comesBack(ctx, id) },
	}, nil
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
		var ways []way
		still := func(*lane) (changed, error) { return changed{}, nil }
		for _, c := range st.chosen {
			var way way
			var err error
			switch {
			case c.make != nil && !c.resident && (c.noGit || !noGit):
				way, err = st.first(ctx, c)
			case c.look != nil && !noGit:
				way, err = st.looks(ctx, c, still)
			default:
				continue
			}
			if err != nil {
				return nil, err
			}
			ways = append(ways, way)
		}
		if noGit {
			way, err := st.initAdd(ctx)
			if err != nil {
				return nil, err
			}
			ways = append(ways, way)
		}
		lines, err := measure(ctx, st, w.name, ways)
		return w.result(st, 0, lines), err
	}
}

// first makes a way of a contender that has never seen the worktree.
func (st *stage) first(ctx context.Context, c contender) (way, error) {
	w, err := st.recorder(ctx, c, func(l *lane) (changed, error) { return changed{files: l.pick(3)}, nil })
	w.before = func(ctx context.Context) error {
		return w.lane.system.forget(ctx, w.lane)
	}
	inner := w.after
	w.after = func(ctx context.Context) error {
		w.lane.primed = true
		return inner(ctx)
	}
	return w, err
}

// initAdd is what git does with files that it has never seen, in a repository
// apart: git init and git add -A.
func (st *stage) initAdd(ctx context.Context) (way, error) {
	l, err := st.lane(ctx, contender{key: "git-init-add", name: "git init, add -A"})
	if err != nil {
		return way{}, err
	}
	env := []string{"GIT_DIR=" + l.state + "/fresh.git", "GIT_WORK_TREE=" + l.tree}
	git := func(ctx context.Context, args ...string) (string, error) {
		out, err := l.run(ctx, command{name: "git", args: args, env: env})
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
		var ways []way
		for _, c := range st.chosen {
			if c.make == nil {
				continue
			}
			way, err := st.restorer(ctx, c, harm)
			if err != nil {
				return nil, err
			}
			ways = append(ways, way)
		}
		defer func() { st.tidy(ctx, ways) }()
		lines, err := measure(ctx, st, w.name, ways)
		var n int
		if i := slices.IndexFunc(ways, func(w way) bool { return w.lane.harmed > 0 }); i >= 0 {
			n = ways[i].lane.harmed
		}
		return w.result(st, n, lines), err
	}
}

// restorer makes a way of a contender that puts back.
func (st *stage) restorer(ctx context.Context, c contender, harm func(l *lane) error) (way, error) {
	l, err := st.lane(ctx, c)
	if err != nil {
		return way{}, err
	}
	var id string
	return way{
		name: c.name, lane: l, ours: c.ours(),
		before: func(ctx context.Context) (err error) {
			if err := l.clean(ctx); err != nil {
				return err
			}
			if id, err = l.system.snapshot(ctx, l); err != nil {
				return err
			}
			l.primed = true
			if err := l.prime(ctx); err != nil {
				return err
			}
			return harm(l)
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
	}, nil
}

// count limits a number of files to change to half of those that there are.
func (st *stage) count(n int) int { return min(n, len(st.names.old)/2) }
