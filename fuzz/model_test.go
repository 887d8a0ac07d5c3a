//go:build linux

package fuzz

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A model is what a directory without git should hold, and what the engine
// should be able to bring back: pictures in memory, and nothing of rewind's.
type model struct {
	*world
	snaps map[oid.ID]*state // by the id that each had first: purges give others, and the old ones go on being found
	first map[oid.ID]oid.ID // an id of today → the first
	order []oid.ID
	undo  []step // what undo takes back, newest last
	redo  []step
	when  moments
	talk  conversations
}

// A state is what a snapshot should hold.
type state struct {
	picture
	gone map[string]bool // purged: what a worktree has there stays
}

// purged reports whether a path, or what it lies in, was purged.
func (s *state) purged(p string) bool {
	return atOrAbove(p, func(at string) bool { return s.gone[at] })
}

// atOrAbove reports whether something holds of a path or of one that it lies in.
func atOrAbove(p string, holds func(string) bool) bool {
	for ; p != "."; p = path.Dir(p) {
		if holds(p) {
			return true
		}
	}
	return false
}

// A step is an operation that can be taken back.
type step struct {
	undo    oid.ID               // the state before it; zero: not known, for it had conflicts
	scope   scope                // what it was limited to, with the places of parents where something else stood
	made    []string             // directories that were not there, on the way to what it was limited to
	brought picture              // what it made where nothing was
	rights  map[string][2]string // directories whose permissions it changed: before, after
	stood   oid.ID               // where the files stood before it
	part    bool                 // it was limited to some paths
}

// TestModel makes random changes, snapshots, restores of all or a part, merges, undos,
// redos and prunes in a directory without git, and compares the directory with
// a model after each: in eight directories every act is drawn (each is one of 19, at 240
// steps).
func TestModel(t *testing.T) {
	first := seed.Of(t)
	for i := range seed.Times(8) {
		seed := first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	w := bare(t, seed)
	w.tame = true
	m := &model{world: w, snaps: map[oid.ID]*state{}, first: map[oid.ID]oid.ID{}}
	m.talk.begin(m)
	m.reopen() // the settings are read as it is opened
	edits := []func(){m.writeNew, m.writeNew, m.rewrite, m.sameSize, m.quietEdit, m.remove, m.move, m.chmod, m.touch, m.link, m.swap, m.emptyDir, m.writeOdd}
	acts := []func(){
		m.snapshot, m.snapshot, m.snapshot, m.restore, m.restore, m.restorePart, m.restorePart, m.takeBack, m.takeBack, m.doAgain, m.reopen,
		m.prune, m.purge, m.speak, m.speak, m.wander, m.merge, m.merge, m.keepMine,
	}
	for range stepsPerWorld {
		for range w.rng.IntN(4) {
			pick(w, edits)()
		}
		if w.one(4) {
			w.settleShort()
		}
		pick(w, acts)()
		m.checkNames()
	}
	w.undamaged()
}

func (w *world) settleShort() { time.Sleep(22 * time.Millisecond) }

func (m *model) now() picture { return m.picture(m.root) }

// origin returns the id that a snapshot had first.
func (m *model) origin(id oid.ID) oid.ID {
	if first, ok := m.first[id]; ok {
		return first
	}
	return id
}

// remember notes what a snapshot has to hold.
func (m *model) remember(id oid.ID, p picture) {
	id = m.origin(id)
	if known, ok := m.snaps[id]; ok {
		if d := known.Differs(p); d != "" {
			m.fail("snapshot %v was reused for another state: %s", id, d)
		}
		return
	}
	m.snaps[id] = &state{picture: p}
	m.order = append(m.order, id)
}

func (m *model) snapshot() {
	m.note("snapshot")
	now, opt := m.now(), &engine.SnapshotOptions{Session: m.talk.someone(m)}
	if m.one(2) {
		opt.Trigger = "turn"
	}
	r, err := m.long.Snapshot(m.t.Context(), opt)
	m.must(err)
	m.remember(r.ID, now)
	m.when.recorded(m.origin(r.ID))
	m.talk.recorded(m.origin(r.ID), opt.Session)
	if m.one(4) {
		if d := now.Differs(m.export(m.long, r.Snapshot)); d != "" {
			m.fail("the snapshot is not what is on disk: %s", d)
		}
	}
}

// restore brings back everything.
func (m *model) restore() {
	if len(m.order) > 0 {
		id := pick(m.world, m.order)
		m.note("restore %v", id)
		m.carryOut(func() (*engine.Restored, error) { return m.long.Do(m.t.Context(), engine.Op{To: id}) }, m.snaps[id], step{})
	}
}

// restorePart brings back some paths, with what lies below them: as they are
// called, or by a pattern that only they and those of their name match.
func (m *model) restorePart() {
	if len(m.order) == 0 {
		return
	}
	id := pick(m.world, m.order)
	s := m.scope(m.snaps[id].picture, m.now())
	if len(s.texts) == 0 {
		return
	}
	m.note("restore %v %q", id, s.texts)
	there := maps.Clone(m.snaps[id].picture)
	maps.DeleteFunc(there, func(p, _ string) bool { return m.snaps[id].purged(p) })
	if _, err := m.long.Plan(m.t.Context(), engine.Op{To: id, Paths: s.texts}); m.refused(err, s, there, m.now()) {
		return
	}
	m.carryOut(func() (*engine.Restored, error) {
		return m.long.Do(m.t.Context(), engine.Op{To: id, Paths: s.texts})
	}, m.snaps[id], step{scope: s, part: true})
}

// carryOut runs a restore and compares. Undo is its opposite.
func (m *model) carryOut(run func() (*engine.Restored, error), to *state, s step) {
	m.t.Helper()
	before := m.now()
	want, done := s.expect(before, to, step{})
	r, err := run()
	m.must(err)
	stood := m.when.went(r, m.origin(r.ID), s.part)
	if r.Undo.IsZero() { // nothing had to change: that is no step
		if m.allowed(r, before); len(r.Conflicts) == 0 {
			m.compare(want)
		}
		m.compare(before)
		return
	}
	if m.finish(r, before, want, &done); !done.undo.IsZero() {
		m.compare(want)
	}
	done.stood, done.part = stood, s.part
	m.undo, m.redo = append(m.undo, done), nil
	if m.one(3) && !done.undo.IsZero() {
		m.takeBack()
		m.compare(before)
	}
}

// finish notes what there is to know of an operation that is done.
func (m *model) finish(r *engine.Restored, before, want picture, done *step) {
	m.t.Helper()
	if m.allowed(r, before); len(r.Conflicts) > 0 {
		*done = step{}
		return
	}
	m.remember(r.Undo, before)
	done.takes(m.origin(r.Undo), before, want)
}

// takes notes what a step made of what was there, and the snapshot of that.
func (s *step) takes(undo oid.ID, before, after picture) {
	s.undo, s.brought, s.rights = undo, picture{}, map[string][2]string{}
	for p, what := range after {
		switch was := before[p]; {
		case was == "":
			s.brought[p] = what
		case was != what && isDirectory(was) && isDirectory(what):
			s.rights[p] = [2]string{was, what}
		}
	}
}

func (m *model) compare(want picture) {
	m.t.Helper()
	if d := want.Differs(m.now()); d != "" {
		m.fail("%s", d)
	}
}

func (m *model) takeBack() {
	m.note("undo")
	m.undo, m.redo = m.revert(engine.Undo, m.undo, m.redo)
}

func (m *model) doAgain() {
	m.note("redo")
	m.redo, m.undo = m.revert(engine.Redo, m.redo, m.undo)
}

// revert takes back the newest step of a list and puts its opposite on another.
func (m *model) revert(verb string, list, other []step) (left, more []step) {
	m.t.Helper()
	before := m.now()
	r, err := m.long.Do(m.t.Context(), engine.Op{Verb: verb})
	if len(list) == 0 {
		if !errors.Is(err, engine.ErrNothing) {
			m.fail("there was nothing to take back: %v", err)
		}
		return list, other
	}
	m.must(err)
	s := list[len(list)-1]
	stood := m.when.went(r, s.stood, s.part)
	if s.undo.IsZero() {
		m.allowed(r, before)
		return list[:len(list)-1], append(other, step{stood: stood, part: s.part})
	}
	want, done := step{scope: s.scope}.expect(before, m.snaps[s.undo], s)
	if m.finish(r, before, want, &done); !done.undo.IsZero() {
		m.compare(want)
	}
	done.stood, done.part = stood, s.part
	return list[:len(list)-1], append(other, done)
}
