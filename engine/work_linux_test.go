package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// A worked place has 10,000 files, and counts what looks at them do.
type worked struct {
	*place
	watch Watch
	done  worktree.Counters
	scans int
}

func newWorked(t *testing.T) *worked {
	w := &worked{place: newPlace(t, true)}
	w.env["REWIND_WATCH"] = "true"
	for i := range 10_000 {
		w.write(fmt.Sprintf("d%d/e%d/f%d", i/400, i/20, i%20), fmt.Sprint(i))
	}
	w.write(".gitignore", "*.o\nout\n")
	w.commit("all")
	t.Cleanup(func() { w.watch.Close() })
	return w
}

// next opens the worktree for one more verb; nil: of a program that keeps nothing.
func (w *worked) next(watch *Watch) *Engine {
	w.t.Helper()
	open := Open
	if watch != nil {
		open = watch.Open
	}
	e, err := open(context.Background(), w.dir, &Options{Getenv: w.getenv})
	w.must(err)
	return w.counting(e)
}

// lent opens the worktree for a verb of a program to which that which watches lends turns.
func (w *worked) lent() *Engine {
	w.t.Helper()
	e, err := Open(context.Background(), w.dir, &Options{Getenv: w.getenv, Lend: w.watch.Lend})
	w.must(err)
	return w.counting(e)
}

func (w *worked) counting(e *Engine) *Engine {
	w.done, w.scans = worktree.Counters{}, 0
	e.counted = func(c worktree.Counters) {
		w.scans++
		w.done.Dirs += c.Dirs
		w.done.Listed += c.Listed
		w.done.Stats += c.Stats
		w.done.Opened += c.Opened
	}
	return e
}

func (w *worked) arm() {
	w.t.Helper()
	for range 2000 {
		w.snap(w.next(&w.watch), "", nil)
		if ok, why := w.watch.State(); ok {
			return
		} else if strings.Contains(why, "not possible") {
			w.t.Skipf("SKIPPED: nothing can be watched here: %s", why)
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatal("it is not watched")
}

// wantAtMost fails where more was looked at.
func (w *worked) wantAtMost(what string, scans int, most worktree.Counters) {
	w.t.Helper()
	if w.scans != scans || w.done.Dirs > most.Dirs || w.done.Listed > most.Listed || w.done.Stats > most.Stats || w.done.Opened > most.Opened {
		w.t.Errorf("%s: %d scans of %+v, more than %d of %+v", what, w.scans, w.done, scans, most)
	}
}

// edit changes two files.
func (w *worked) edit(text string) {
	w.write("d3/e70/f1", text)
	w.write("d20/e401/f7", text)
}

// A verb of a worked engine, which says how many paths it changes.
type workedVerb struct {
	name string
	do   func(*Engine) (changed int, err error)
}

// looksOf is the most that each verb looks at in a watched worktree of 10,000 files, of
// which two were edited or put back: directories that are entered and those that are listed,
// paths that are asked for their state, files that are opened. Two directories have 20 files
// each. Nothing of it grows with the worktree. One of the files may be young, and is
// looked at and read once more. What changed in the last three seconds is listed again, as
// its events may come late: the snapshot waits for that, and the restore behind it lists nothing.
var looksOf = map[string]worktree.Counters{
	"preview":            {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"diff":               {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"status":             {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"plan of a restore":  {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"snapshot":           {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"restore":            {Dirs: 5, Listed: 0, Stats: 6, Opened: 3},
	"plan of an undo":    {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"undo":               {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"plan of a redo":     {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"redo":               {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"plan of a revert":   {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"revert":             {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"plan of an apply":   {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"apply":              {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"a step of a bisect": {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
	"its end":            {Dirs: 5, Listed: 2, Stats: 42, Opened: 4},
}

// done carries out an operation, planned asks what it would do.
func done(ctx context.Context, op func() Op) func(*Engine) (int, error) {
	return func(e *Engine) (int, error) {
		r, err := e.Do(ctx, op())
		if err != nil {
			return 0, err
		}
		return r.Written, nil
	}
}

func planned(ctx context.Context, op func() Op) func(*Engine) (int, error) {
	return func(e *Engine) (int, error) {
		d, err := e.Plan(ctx, op())
		if err != nil {
			return 0, err
		}
		return len(d.Changes), nil
	}
}

// verbs are called in this order: from edited files there and back between the snapshot
// first and the one that is taken, last.
func (w *worked) verbs(ctx context.Context, first ID, last *ID) []workedVerb {
	back := func() Op { return Op{To: first} }
	revert := func() Op { return Op{Verb: "revert", Ranges: []Range{{From: *last, To: first}}} }
	apply := func() Op { return Op{Verb: "apply", Ranges: []Range{{From: first, To: *last}}} }
	undo, redo := func() Op { return Op{Verb: Undo} }, func() Op { return Op{Verb: Redo} }
	return []workedVerb{
		{"preview", func(e *Engine) (int, error) {
			r, err := e.Snapshot(ctx, &SnapshotOptions{DryRun: true})
			return r.Changed, err
		}},
		{"diff", func(e *Engine) (int, error) {
			s, err := e.Find(ctx, first.String())
			w.must(err)
			d, err := e.Diff(ctx, s, nil, nil)
			return len(d.Changes), err
		}},
		{"status", func(e *Engine) (int, error) {
			_, err := e.Status(ctx)
			w.must(err)
			here, err := e.Here(ctx)
			w.must(err)
			d, err := e.Diff(ctx, here, nil, nil)
			return len(d.Changes), err
		}},
		{"plan of a restore", planned(ctx, back)},
		{"snapshot", func(e *Engine) (int, error) {
			r, err := e.Snapshot(ctx, nil)
			*last = r.ID
			return r.Changed, err
		}},
		{"restore", done(ctx, back)},
		{"plan of an undo", planned(ctx, undo)},
		{"undo", done(ctx, undo)},
		{"plan of a redo", planned(ctx, redo)},
		{"redo", done(ctx, redo)},
		{"undo", done(ctx, undo)},
		{"plan of a revert", planned(ctx, revert)},
		{"revert", done(ctx, revert)},
		{"plan of an apply", planned(ctx, apply)},
		{"apply", done(ctx, apply)},
		{"a step of a bisect", done(ctx, back)},
		{"its end", done(ctx, undo)},
	}
}

// What a verb costs in a worktree that is watched does not grow with that, and without a
// watcher each looks at everything once.
func TestAVerbLooksOnlyWhereSomethingChanged(t *testing.T) {
	t.Parallel()
	w := newWorked(t)
	const all = 10_010
	var last ID
	verbs := w.verbs(context.Background(), w.snap(w.next(nil), "", nil).ID, &last)
	next := func() *Engine { return w.next(&w.watch) }
	for _, by := range []string{"who watches", "lent turns", "nobody"} {
		switch by {
		case "who watches":
			w.arm()
		case "lent turns":
			next = w.lent
		default:
			next = func() *Engine { return w.next(nil) }
		}
		for _, v := range verbs {
			if v.name == "preview" {
				w.edit("edited, watched by " + by)
			}
			if v.name == "snapshot" && by != "nobody" {
				time.Sleep(3500 * time.Millisecond)
			}
			e := next()
			n, err := v.do(e)
			w.must(err)
			if n != 2 {
				t.Errorf("watched by %s: %s changed %d paths", by, v.name, n)
			}
			most, known := looksOf[v.name]
			if !known {
				t.Errorf("%s is not in the table", v.name)
			}
			if by == "nobody" {
				most = worktree.Counters{Dirs: 526, Listed: 526, Stats: all, Opened: 60}
			}
			w.wantAtMost(fmt.Sprintf("watched by %s: %s", by, v.name), 1, most)
			e.Close()
		}
		w.undo(next())
	}
}

// What is ignored now and lies where the target has something is recorded first. It is
// found when the rest was looked at, which is not looked at again.
func TestAPlanThatNeedsIgnoredFilesLooksAtTheRestOnce(t *testing.T) {
	t.Parallel()
	w := newWorked(t)
	w.write("gen/a", "one")
	back := Op{To: w.snap(w.next(nil), "", nil).ID}
	w.write(".gitignore", "*.o\nout\ngen\n")
	w.write("gen/a", "two")
	w.write("gen/b", "stays")
	for _, by := range []string{"nobody", "who watches", "lent turns"} {
		next, few := func() *Engine { return w.next(nil) }, int64(10_030)
		w.snap(next(), "", nil)
		switch by {
		case "who watches":
			w.arm()
			next, few = func() *Engine { return w.next(&w.watch) }, 60
		case "lent turns":
			w.arm()
			next, few = w.lent, 60
		}
		most := worktree.Counters{Dirs: 540, Listed: 540, Stats: few, Opened: 60}
		if by != "nobody" {
			most.Dirs, most.Listed = 20, 20
		}
		e := next()
		if d := w.plan(e, back); len(d.Changes) != 2 { // .gitignore and gen/a
			t.Errorf("%+v", d.Changes)
		}
		w.wantAtMost(by+": plan", 2, most)
		e = next()
		w.do(e, back)
		w.wantAtMost(by+": restore", 2, most)
		w.want("gen/a", "one")
		w.want("gen/b", "stays")
		w.undo(next())
		w.want("gen/a", "two")
		e.Close()
		if ok, why := w.watch.State(); by != "nobody" && !ok {
			t.Errorf("%s: the next turn looks at everything: %q", by, why)
		}
	}
}
