//go:build linux

package fuzz

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A model is what a directory without git should hold, and what the engine
// should be able to bring back: pictures in memory, and nothing of rewind's.
type model struct {
	*world
	e     *engine.Engine
	snaps map[oid.ID]picture
	order []oid.ID
	undo  []step // what undo takes back, newest last
	redo  []step
}

// A step is an operation that can be taken back: the state before it, and the
// one path it was limited to, if any.
type step struct {
	before picture
	path   string
}

// TestModel makes random changes, snapshots, restores of all or a part, undos,
// redos and prunes in a directory without git, and compares the directory with
// a model after each. It ends after about eight seconds, or after
// REWIND_FUZZ_STEPS steps.
func TestModel(t *testing.T) {
	steps, seed := number("REWIND_FUZZ_STEPS", 0), uint64(number("REWIND_FUZZ_SEED", int(time.Now().Unix())*1000))
	t.Logf("seed %d", seed)
	deadline := time.Now().Add(bounded(8 * time.Second))
	for done := 0; steps > 0 && done < steps || steps == 0 && time.Now().Before(deadline); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed) })
		done += stepsPerWorld
	}
}

func runModel(t *testing.T, seed uint64) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, tame: true, rng: rand.New(rand.NewPCG(seed, 4)), seed: seed, dir: dir, root: filepath.Join(dir, "tree"), home: filepath.Join(dir, "home")}
	w.must(os.MkdirAll(w.root, 0o755))
	w.must(os.MkdirAll(w.home, 0o755))
	m := &model{world: w, snaps: map[oid.ID]picture{}}
	m.e = w.open()
	defer func() { _ = m.e.Close() }()
	edits := []func(){m.writeNew, m.writeNew, m.rewrite, m.sameSize, m.quietEdit, m.remove, m.move, m.chmod, m.touch, m.link, m.swap, m.emptyDir}
	acts := []func(){m.snapshot, m.snapshot, m.snapshot, m.restore, m.restore, m.restorePart, m.takeBack, m.takeBack, m.doAgain, m.prune, m.fresh}
	for range stepsPerWorld {
		for range w.rng.IntN(4) {
			pick(w, edits)()
		}
		if w.one(4) {
			w.settleShort()
		}
		pick(w, acts)()
	}
	if v, err := m.e.Verify(t.Context()); err != nil || len(v.Damaged) > 0 {
		w.fail("verify: %v %+v", err, v)
	}
}

func (w *world) settleShort() { time.Sleep(22 * time.Millisecond) }

func (m *model) fresh() {
	m.must(m.e.Close())
	m.e = m.open()
}

func (m *model) now() picture { return m.picture(m.root) }

// remember notes what a snapshot has to hold.
func (m *model) remember(id oid.ID, p picture) {
	if known, ok := m.snaps[id]; ok {
		if d := known.differs(p); d != "" {
			m.fail("snapshot %v was reused for another state: %s", id, d)
		}
		return
	}
	m.snaps[id] = p
	m.order = append(m.order, id)
}

func (m *model) snapshot() {
	m.note("snapshot")
	now := m.now()
	r, err := m.e.Snapshot(m.t.Context(), nil)
	m.must(err)
	m.remember(r.ID, now)
	if m.one(4) {
		if d := now.differs(m.export(m.e, r.Snapshot)); d != "" {
			m.fail("the snapshot is not what is on disk: %s", d)
		}
	}
}

// restore brings back everything.
func (m *model) restore() {
	if len(m.order) > 0 {
		id := pick(m.world, m.order)
		m.note("restore %v", id)
		m.carryOut(func() (*engine.Restored, error) { return m.e.Restore(m.t.Context(), id, nil) }, m.snaps[id], "")
	}
}

// restorePart brings back one name of the directory, with what lies below it.
func (m *model) restorePart() {
	if len(m.order) == 0 {
		return
	}
	id := pick(m.world, m.order)
	tops := map[string]bool{}
	for p := range m.snaps[id] {
		tops[strings.SplitN(p, "/", 2)[0]] = true
	}
	for p := range m.now() {
		tops[strings.SplitN(p, "/", 2)[0]] = true
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(tops)), func(p string) bool { return strings.ContainsAny(p, "*?[\\") || p == ".." })
	if len(names) == 0 {
		return
	}
	name := pick(m.world, names)
	m.note("restore %v %q", id, name)
	want := part(m.now(), m.snaps[id], name)
	m.carryOut(func() (*engine.Restored, error) {
		return m.e.Restore(m.t.Context(), id, &engine.RestoreOptions{Paths: []string{name}})
	}, want, name)
}

// part is one state with what lies at and below a name taken from another; all
// of the other if the name is empty.
func part(now, from picture, name string) picture {
	at := func(p string) bool { return name == "" || p == name || strings.HasPrefix(p, name+"/") }
	out := picture{}
	for p, what := range now {
		if !at(p) {
			out[p] = what
		}
	}
	for p, what := range from {
		if at(p) {
			out[p] = what
		}
	}
	return out
}

// carryOut runs a restore and compares.
func (m *model) carryOut(run func() (*engine.Restored, error), want picture, path string) {
	m.t.Helper()
	before := m.now()
	r, err := run()
	m.must(err)
	m.allowed(r, before)
	if len(r.Conflicts) > 0 {
		m.undo, m.redo = append(m.undo, step{}), nil
		return
	}
	m.compare(want)
	m.remember(r.Undo, before)
	m.undo, m.redo = append(m.undo, step{before, path}), nil
}

func (m *model) compare(want picture) {
	m.t.Helper()
	if d := want.differs(m.now()); d != "" {
		m.fail("%s", d)
	}
}

func (m *model) takeBack() {
	m.note("undo")
	m.undo, m.redo = m.revert(m.e.Undo, m.undo, m.redo)
}

func (m *model) doAgain() {
	m.note("redo")
	m.redo, m.undo = m.revert(m.e.Redo, m.redo, m.undo)
}

// revert takes back the newest step of a list and puts its opposite on another.
func (m *model) revert(run func(context.Context) (*engine.Restored, error), list, other []step) (left, more []step) {
	m.t.Helper()
	before := m.now()
	r, err := run(m.t.Context())
	if len(list) == 0 {
		if !errors.Is(err, engine.ErrNothing) {
			m.fail("there was nothing to take back: %v", err)
		}
		return list, other
	}
	m.must(err)
	s := list[len(list)-1]
	if m.allowed(r, before); len(r.Conflicts) == 0 && s.before != nil {
		m.compare(part(before, s.before, s.path))
		m.remember(r.Undo, before)
	}
	return list[:len(list)-1], append(other, step{before, s.path})
}

// prune drops old snapshots; what it says it dropped is gone, and nothing else.
func (m *model) prune() {
	if !m.one(2) {
		return
	}
	m.note("prune")
	r, err := m.e.Prune(m.t.Context(), &engine.PruneOptions{MaxSnapshots: 1 + m.rng.IntN(6), Grace: time.Nanosecond})
	m.must(err)
	for _, s := range r.Dropped {
		delete(m.snaps, s.ID)
		if _, err := m.e.Find(m.t.Context(), s.ID); !errors.Is(err, engine.ErrNoSnapshot) {
			m.fail("snapshot %v was dropped, and found: %v", s.ID, err)
		}
	}
	m.order = slices.DeleteFunc(m.order, func(id oid.ID) bool { return m.snaps[id] == nil })
	for _, id := range m.order {
		if _, err := m.e.Find(m.t.Context(), id); err != nil {
			m.fail("snapshot %v is lost: %v", id, err)
		}
	}
}
