//go:build linux

package fuzz

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// moments are what names mean to a model, by the ids that snapshots had at first.
type moments struct {
	purpose  []oid.ID // recorded on purpose, newest last
	replaced []oid.ID // what restores, undos and redos replaced, newest last
	here     oid.ID   // where the files stand
}

// recorded notes a snapshot that was asked for.
func (n *moments) recorded(id oid.ID) {
	n.purpose = append(slices.DeleteFunc(n.purpose, func(was oid.ID) bool { return was == id }), id)
	n.here = id
}

// went notes an operation that was carried out, and returns where the files stood
// before it. An operation on a part leads nowhere.
func (n *moments) went(r *engine.Restored, to oid.ID, part bool) (stood oid.ID) {
	stood = n.here
	if !r.Undo.IsZero() {
		n.replaced = append(n.replaced, r.Undo)
	}
	if !part {
		n.here = to
	}
	return stood
}

// checkNames compares what names mean with what they mean to the model.
func (m *model) checkNames() {
	m.t.Helper()
	m.when.purpose = slices.DeleteFunc(m.when.purpose, func(id oid.ID) bool { return m.today(id).IsZero() })
	for back := range 3 {
		var want oid.ID
		if n := len(m.when.purpose); back < n {
			want = m.when.purpose[n-1-back]
		}
		m.means(fmt.Sprintf("@~%d", back), want)
		want = oid.ID{}
		if n := len(m.when.replaced); back < n {
			want = m.when.replaced[n-1-back]
		}
		m.means(fmt.Sprintf("undo:%d", back+1), want)
	}
	want := m.today(m.when.here)
	if n := len(m.when.purpose); want.IsZero() && n > 0 { // pruned
		want = m.today(m.when.purpose[n-1])
	}
	s, err := m.long.Here(m.t.Context())
	m.must(err)
	if s == nil && !want.IsZero() || s != nil && s.ID != want {
		m.fail("the files stand at %v, not at %+v", want, s)
	}
}

// means holds that a name means a snapshot, or nothing if that was dropped.
func (m *model) means(name string, want oid.ID) {
	m.t.Helper()
	want = m.today(want)
	s, err := m.long.Find(m.t.Context(), name)
	if errors.Is(err, engine.ErrNoSnapshot) && want.IsZero() {
		return
	}
	if err != nil || s.ID != want {
		m.fail("%s means %+v, not %v: %v", name, s, want, err)
	}
}

// today returns the id that a snapshot has now; zero: it was dropped.
func (m *model) today(id oid.ID) oid.ID {
	if id.IsZero() {
		return id
	}
	s, err := m.long.Find(m.t.Context(), id.String())
	if errors.Is(err, engine.ErrNoSnapshot) {
		return oid.ID{}
	}
	m.must(err)
	return s.ID
}
