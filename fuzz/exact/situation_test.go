//go:build !windows

package exact

import (
	"fmt"
	"slices"
	"testing"
)

// A situation is one hostile case: a worktree, what happens to it between the
// snapshot and the restore, and what a restore must then give.
type situation struct {
	number int
	title  string
	build  func(w *world) // until the snapshot
	change func(w *world) // between snapshot and restore

	// want gives what the restore must leave, from the pictures at the snapshot
	// and before the restore. Nil: exactly what was there at the snapshot.
	// Where it is not nil the situation says which rule of the design it is.
	want func(then, now picture) picture
}

// TestSituations checks that a restore is exact, undo too, and redo, in every
// situation in which the peers of this program were tried. It does so twice:
// through the engine on disk, and through the command line in memory and (if
// root runs the tests) as another user.
func TestSituations(t *testing.T) {
	var all []situation
	for _, group := range [][]situation{plainSituations, nameSituations, gitSituations, contentSituations, nestedSituations, ignoreSituations} {
		all = append(all, group...)
	}
	slices.SortFunc(all, func(a, b situation) int { return a.number - b.number })
	for i, s := range all {
		if s.number != i+1 {
			t.Fatalf("situation %d is missing or there twice", i+1)
		}
	}
	if len(all) != 52 {
		t.Fatalf("%d situations instead of 52", len(all))
	}
	for _, s := range all {
		t.Run(fmt.Sprintf("%02d %s", s.number, s.title), func(t *testing.T) { t.Parallel(); s.run(t) })
	}
}

func (s situation) run(t *testing.T) {
	t.Run("engine", func(t *testing.T) { t.Parallel(); s.prove(t, throughEngine{}) })
	t.Run("command", func(t *testing.T) { t.Parallel(); s.prove(t, throughCommand{}) })
}

// prove carries a situation out.
func (s situation) prove(t *testing.T, d driver) {
	if d == (throughEngine{}) {
		w := newWorldOnDisk(t)
		s.build(w)
		w.prove(d, func() { s.change(w) }, s.want)
		return
	}
	w := newWorld(t)
	s.build(w)
	w.byNobody()
	w.prove(d, func() { s.change(w) }, s.want)
}

// prove takes a snapshot, changes the tree, restores, takes that back, and
// does it again, and compares everything with what was there each time.
func (w *world) prove(d driver, change func(), want func(then, now picture) picture) {
	w.Helper()
	then := w.look()
	id, skipped := d.snapshot(w)
	w.same("the snapshot named as skipped", skipped, w.skipped)
	w.untouched("snapshot", then)

	change()
	w.handOver()
	now := w.look()
	expected := then.files
	if want != nil {
		expected = want(then.files, now.files)
	}
	restored := state{files: expected, git: now.git, outside: now.outside}

	got := d.restore(w, id)
	w.same("the restore named as kept", got.kept, w.kept)
	w.clean("restore", got)
	w.is("restore", restored)
	w.clean("undo", d.undo(w))
	w.is("undo", now)
	w.clean("redo", d.redo(w))
	w.is("redo", restored)
	w.clean("second undo", d.undo(w))
	w.is("second undo", now)
	w.sound()
}

// A state is everything that a test looks at.
type state struct {
	files   picture // the worktree
	git     picture // what only git may change
	outside picture // what nobody may change
}

func (w *world) look() state {
	w.Helper()
	return state{files: worktreePicture(w, w.root), git: w.gitState(), outside: pictureOf(w, w.outside, nil)}
}

// gitState also looks at repositories that the worktree's own lies in.
func (w *world) gitState() picture {
	p := gitPicture(w, w.root)
	for _, dir := range w.alsoGit {
		for path, line := range gitPicture(w, dir) {
			p[dir+"/"+path] = line
		}
	}
	return p
}

// is fails unless everything is as in a state.
func (w *world) is(after string, want state) {
	w.Helper()
	got := w.look()
	if d := differences(got.files, want.files); d != "" {
		w.Fatalf("after %s the worktree is not as it should be:\n%s", after, d)
	}
	w.sameSurroundings(after, got, want)
}

func (w *world) sameSurroundings(after string, got, want state) {
	w.Helper()
	if d := differences(got.git, want.git); d != "" {
		w.Fatalf("after %s git's own files have changed:\n%s", after, d)
	}
	if d := differences(got.outside, want.outside); d != "" {
		w.Fatalf("after %s something outside of the worktree has changed:\n%s", after, d)
	}
}

// untouched fails if anything at all has changed.
func (w *world) untouched(after string, was state) {
	w.Helper()
	w.is(after, was)
}

func (w *world) clean(verb string, o outcome) {
	w.Helper()
	if len(o.conflicts) > 0 {
		w.Fatalf("%s named conflicts: %v", verb, o.reasons)
	}
}

func (w *world) same(what string, got, want []string) {
	w.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Fatalf("%s %q, want %q", what, got, want)
	}
}

// sound lets rewind and git say whether what they keep is whole.
func (w *world) sound() {
	w.Helper()
	if f := w.rewind("verify", "--json"); f.code != 0 {
		w.Fatalf("verify exited with %d: %s%s", f.code, f.out, f.errors)
	}
	if _, there := w.gitState()[".git/HEAD"]; !there {
		return
	}
	if out, err := w.tryGit("fsck", "--strict", "--no-dangling"); err != nil {
		w.Fatalf("git fsck: %v\n%s", err, out)
	}
}
