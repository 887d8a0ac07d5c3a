package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// picture lists all that a worktree has: kind, permissions, bytes.
func (p *place) picture() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	p.must(filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == p.dir {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		what := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			p.must(err)
			what += " " + string(data)
		} else if info.Mode()&os.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			p.must(err)
			what += " " + to
		}
		out[p.rel(path)] = what
		return err
	}))
	return out
}

func (p *place) wantPicture(what string, want map[string]string) {
	p.t.Helper()
	now := p.picture()
	for path, text := range want {
		if now[path] != text {
			p.t.Errorf("%s: %s is %q, and was %q", what, path, now[path], text)
		}
	}
	for path, text := range now {
		if _, ok := want[path]; !ok {
			p.t.Errorf("%s: %s is too much: %q", what, path, text)
		}
	}
}

func TestAnIgnoredFileInAParentsPlaceIsBackAfterAnUndo(t *testing.T) {
	ctx := context.Background()
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		p.write("b/x", "in it")
		e := p.open()
		id := p.snap(e, "one", nil).ID
		p.remove("b")
		p.write(".gitignore", "b\n")
		p.write("b", "precious")
		before := p.picture()
		r, err := e.Do(ctx, Op{To: id, Paths: []string{"b/x"}})
		if err != nil || len(r.Conflicts) > 0 || p.read("b/x") != "in it" {
			t.Fatalf("%v %+v", err, r)
		}
		if r, err = e.Do(ctx, Op{Verb: Undo}); err != nil || len(r.Conflicts) > 0 {
			t.Fatalf("%v %+v", err, r)
		}
		p.wantPicture("undo", before)
	}
}

// inItsParentsPlace is a place where b was a directory with a file x, then a file, and is
// a directory again since a restore of b/x.
func inItsParentsPlace(t *testing.T) (*place, *Engine) {
	t.Helper()
	p := newPlace(t, false)
	p.write("b/x", "in it")
	e := p.open()
	id := p.snap(e, "one", nil).ID
	p.remove("b")
	p.write("b", "precious")
	p.do(e, Op{To: id, Paths: []string{"b/x"}})
	return p, e
}

// What was put beside the restored path goes with the directory that the
// restore made there, and is recorded first.
func TestUndoOfAPathTakesWhatStandsBelowItsParentsPlaceIntoItsPlan(t *testing.T) {
	ctx := context.Background()
	p, e := inItsParentsPlace(t)
	p.write("b/new", "made since")
	with := p.picture()
	plan, err := e.Plan(ctx, Op{Verb: Undo})
	if err != nil || len(plan.Changes) != 3 {
		t.Errorf("%v: %+v, want the file, and the two that lie in its place", err, plan)
	}
	r, err := e.Do(ctx, Op{Verb: Undo})
	if err != nil || len(r.Conflicts) > 0 || p.read("b") != "precious" {
		t.Fatalf("%v %+v", err, r)
	}
	if r, err = e.Do(ctx, Op{Verb: Redo}); err != nil || len(r.Conflicts) > 0 {
		t.Fatalf("%v %+v", err, r)
	}
	p.wantPicture("redo", with)
}

// An undo that a crash interrupted knows from its record what it takes back.
func TestAPlanOfAnUnfinishedUndoHasTheParentsPlace(t *testing.T) {
	ctx := context.Background()
	p, e := inItsParentsPlace(t)
	unlock, err := e.lockOperations(ctx)
	p.must(err)
	op, to, err := e.taken(ctx, &Op{Verb: Undo})
	p.must(err)
	undo := running{&Operation{Kind: "undo", Reverts: op.Seq}, unlock}
	_, err = e.prepare(ctx, undo, to)
	p.must(errors.Join(err, unlock.Unlock()))
	plan, err := e.Plan(ctx, Op{Verb: Undo})
	if err != nil || len(plan.Changes) != 2 {
		t.Errorf("%v: %+v", err, plan)
	}
	if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil || p.read("b") != "precious" {
		t.Error(err)
	}
}

// A directory that was made a repository since stays one: no restore takes git's own files away, so none counts it.
func TestADirectoryThatIsARepositoryNowIsNoChangeOfARestore(t *testing.T) {
	p := newPlace(t, true)
	p.write("nested/f", "1")
	e := p.open()
	back := Op{To: p.snap(e, "1", nil).ID}
	p.git("init", "-q", "nested")
	p.write("nested/f", "2")
	for want := 1; want >= 0; want-- { // the second one has nothing to do
		if r := p.do(e, back); r.Written != want || r.Deleted != 0 {
			t.Errorf("%d written and %d deleted, want %d", r.Written, r.Deleted, want)
		}
	}
	if p.read("nested/f") != "1" || !p.exists("nested/.git/HEAD") {
		t.Error("the restore is another one")
	}
}

// Nor does one bring them back: it says so each time, and has nothing to do.
func TestADirectoryThatWasARepositoryIsNoChangeOfARestore(t *testing.T) {
	for _, git := range []bool{false, true} {
		newPlace(t, true) // skips without git
		p := newPlace(t, git)
		p.write("nested/f", "1")
		p.git("init", "-q", "nested")
		e := p.open()
		back := Op{To: p.snap(e, "1", nil).ID}
		p.must(os.RemoveAll(filepath.Join(p.dir, "nested/.git")))
		p.write("nested/f", "2")
		for want := 1; want >= 0; want-- { // the second one has nothing to do
			r, err := e.Do(context.Background(), back)
			if err != nil || r.Written != want || r.Deleted != 0 || len(r.Conflicts) != 1 || r.Conflicts[0].Path != "nested/.git" {
				t.Errorf("git %v: %+v, %v; want %d written", git, r, err, want)
			}
			if st, err := e.Status(context.Background()); err != nil || st.Undo != 1 || p.read("nested/f") != "1" {
				t.Errorf("git %v: %d to undo, %v", git, st.Undo, err)
			}
		}
	}
}
