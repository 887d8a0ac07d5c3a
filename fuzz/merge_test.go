//go:build linux

package fuzz

import (
	"errors"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// merge merges what changed between two snapshots into the present, and takes it back.
func (m *model) merge() {
	if len(m.order) < 2 {
		return
	}
	from, to := pick(m.world, m.order), pick(m.world, m.order)
	m.note("merge %v %v", from, to)
	before := m.now()
	r, err := m.long.Do(m.t.Context(), engine.Op{Verb: "revert", Ranges: []engine.Range{{From: from, To: to}}})
	m.must(err)
	m.carried(r, from, to, before, true)
}

// keepMine restores a snapshot, and keeps what changed since the last one of a turn.
func (m *model) keepMine() {
	if len(m.order) == 0 {
		return
	}
	to := pick(m.world, m.order)
	m.note("restore --keep-mine %v", to)
	before := m.now()
	list, err := m.long.List(m.t.Context(), &engine.ListOptions{OnPurpose: true})
	m.must(err)
	turn := slices.IndexFunc(list, func(s *engine.Snapshot) bool {
		return slices.ContainsFunc(s.Points, func(p engine.Point) bool { return p.Trigger == "turn" })
	})
	r, err := m.long.Do(m.t.Context(), engine.Op{To: to, KeepMine: true})
	if turn < 0 {
		if m.compare(before); !errors.Is(err, engine.ErrNoSnapshot) {
			m.fail("there was no turn, and it says %v", err)
		}
		return
	}
	m.must(err)
	m.carried(r, m.origin(list[turn].ID), to, before, false)
}

// carried holds a merge that was carried out, and perhaps takes it back. An operation on
// a part leads nowhere.
func (m *model) carried(r *engine.Restored, from, to oid.ID, before picture, part bool) {
	m.t.Helper()
	stood, after := m.when.went(r, to, part), m.now()
	base, theirs := m.snaps[from], m.snaps[to]
	if len(base.gone)+len(theirs.gone) == 0 { // nothing was purged of them
		m.merged(r, base.picture, theirs.picture, before, after)
	}
	if r.Undo.IsZero() {
		m.compare(before)
		return
	}
	done := step{stood: stood}
	m.remember(r.Undo, before)
	done.takes(m.origin(r.Undo), before, after)
	m.undo, m.redo = append(m.undo, done), nil
	if m.one(2) {
		m.takeBack()
		m.compare(before)
		if m.one(2) {
			m.doAgain()
			m.compare(after)
		}
	}
}

// merged holds what a merge may have done: nothing to a path that the range did not
// change, but what it made of a file that was moved; and what it should have done:
// where the present was as the beginning, it is as the end now, or named.
func (m *model) merged(r *engine.Restored, base, theirs, before, after picture) {
	m.t.Helper()
	named := func(path string) bool {
		for _, n := range append(r.Kept, r.Conflicts...) {
			if at := string(n.Path); at == path || strings.HasPrefix(path, at+"/") || strings.HasPrefix(at, path+"/") {
				return true
			}
		}
		return false
	}
	moved := map[string]bool{}
	for path, what := range base {
		if theirs[path] != what && before[path] == "" {
			moved[content(what)] = true
		}
	}
	// The range moved a file that the present has changed: it comes to its new path as it is.
	follows := func(path string) bool {
		for old, what := range base {
			if base[path] == "" && theirs[old] == "" && content(what) == content(theirs[path]) && before[old] != what && content(after[path]) == content(before[old]) {
				return true
			}
		}
		return false
	}
	for _, p := range []picture{base, theirs, before, after} {
		for path := range p {
			changed, dir := before[path] != after[path], isDirectory(before[path]) || isDirectory(after[path])
			switch {
			case changed && base[path] == theirs[path] && !dir && !moved[content(before[path])]:
				m.fail("%s was changed, and the range has not changed it", path)
			case changed && after[path] == "" && theirs[path] != "":
				m.fail("%s went, and the range has it", path)
			case !dir && !special(before, path) && before[path] == base[path] && base[path] != theirs[path] && after[path] != theirs[path] && !named(path) && !follows(path):
				m.fail("%s is %.60q, not %.60q, and not named", path, after[path], theirs[path])
			}
		}
	}
}

// content is what a picture says of the bytes of a file or a link.
func content(what string) string {
	_, text, _ := strings.Cut(what, " ")
	return text
}
