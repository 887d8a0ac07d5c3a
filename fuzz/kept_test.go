//go:build linux

package fuzz

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// prune drops old snapshots; what it says it dropped is gone, and nothing else,
// and nothing of it is what a conversation needs.
func (m *model) prune() {
	if !m.one(2) {
		return
	}
	if len(m.order) > 0 && m.one(6) {
		m.pruneBlind()
		return
	}
	opt := &engine.PruneOptions{MaxSnapshots: 1 + m.rng.IntN(6), Grace: time.Nanosecond}
	m.note("prune to %d", opt.MaxSnapshots)
	needed := m.talk.needs()
	for _, s := range slices.Concat(m.undo, m.redo) {
		if !s.undo.IsZero() {
			needed[s.undo] = "of a step that can be taken back"
		}
	}
	r, err := m.long.Prune(m.t.Context(), opt)
	m.must(err)
	for _, s := range r.Dropped {
		id := m.origin(s.ID)
		if why := needed[id]; why != "" {
			m.fail("snapshot %v was dropped, but is %s", id, why)
		}
		delete(m.snaps, id)
		for _, name := range []oid.ID{id, s.ID} {
			if _, err := m.long.Find(m.t.Context(), name.String()); !errors.Is(err, engine.ErrNoSnapshot) {
				m.fail("snapshot %v was dropped, and found: %v", name, err)
			}
		}
	}
	m.order = slices.DeleteFunc(m.order, func(id oid.ID) bool { return m.snaps[id] == nil })
	m.allThere()
}

// pruneBlind prunes while the directory of the sessions is not there.
func (m *model) pruneBlind() {
	m.note("prune without the sessions")
	away := m.talk.agent + ".away"
	m.must(os.Rename(m.talk.agent, away))
	if r, err := m.long.Prune(m.t.Context(), &engine.PruneOptions{MaxSnapshots: 1, Grace: time.Nanosecond}); !errors.Is(err, engine.ErrRefused) {
		m.fail("pruned without seeing the sessions: %v %+v", err, r)
	}
	m.must(os.Rename(away, m.talk.agent))
	m.allThere()
}

// allThere finds every snapshot, by the id it had first and by a prefix of it.
func (m *model) allThere() {
	for _, id := range m.order {
		s, err := m.long.Find(m.t.Context(), id.String())
		if err != nil {
			m.fail("snapshot %v is lost: %v", id, err)
		}
		if short, err := m.long.Find(m.t.Context(), id.String()[:20]); err != nil || short.ID != s.ID {
			m.fail("%v is found as %v, by a prefix as %v: %v", id, s.ID, short, err)
		}
	}
}

// purge takes some paths out of every snapshot, and compares each with what it
// was before.
func (m *model) purge() {
	if !m.one(3) || len(m.order) == 0 {
		return
	}
	s := m.scope(m.snaps[pick(m.world, m.order)].picture)
	if len(s.texts) == 0 {
		return
	}
	m.note("purge %q", s.texts)
	dry, err := m.long.Purge(m.t.Context(), s.texts, true)
	m.must(err)
	before := m.now()
	r, err := m.long.Purge(m.t.Context(), s.texts, false)
	m.must(err)
	m.compare(before)
	had := 0
	for _, id := range m.order {
		if m.without(id, s) {
			had++
		}
	}
	if r.Purged != had || dry.Purged != had || len(r.Left) > 0 {
		m.fail("%d snapshots had it, announced %d, purged %+v", had, dry.Purged, r)
	}
	if had > 0 {
		m.nothingElseStored()
	}
	m.allThere()
}

// nothingElseStored checks that the store has no bytes that no snapshot needs, such as
// those of a purged content from which others were differences.
func (m *model) nothingElseStored() {
	m.t.Helper()
	r, err := m.long.Prune(m.t.Context(), &engine.PruneOptions{MaxSnapshots: 1 << 30, Grace: -1, DryRun: true})
	m.must(err)
	if len(r.Dropped) == 0 && r.Objects > 0 {
		m.fail("after a purge the store has %d objects that no snapshot needs", r.Objects)
	}
}

// without takes the paths out of what a snapshot should hold, and compares. It
// reports whether there were any.
func (m *model) without(id oid.ID, s scope) bool {
	m.t.Helper()
	was := m.snaps[id]
	want, gone := maps.Clone(was.picture), maps.Clone(was.gone)
	if gone == nil {
		gone = map[string]bool{}
	}
	for p := range was.picture {
		if s.match(p) {
			delete(want, p)
			gone[p] = true
		}
	}
	now, err := m.long.Find(m.t.Context(), id.String())
	m.must(err)
	if len(want) == len(was.picture) {
		return false
	}
	m.first[now.ID] = id
	got := m.export(m.long, now)
	// A directory that has nothing left may be gone too.
	for p, what := range want {
		if got[p] == "" && isDirectory(what) && emptied(p, was.picture, gone) {
			delete(want, p)
		}
	}
	if d := want.Differs(got); d != "" {
		m.fail("snapshot %v, purged of %q: %s", id, s.texts, d)
	}
	m.snaps[id] = &state{want, gone}
	return true
}

// emptied reports whether a directory held purged paths, and directories that
// did, and nothing else.
func emptied(dir string, p picture, gone map[string]bool) bool {
	held := false
	for name, what := range p {
		if strings.HasPrefix(name, dir+"/") && !atOrAbove(name, func(at string) bool { return gone[at] }) {
			if !isDirectory(what) {
				return false
			}
		} else if strings.HasPrefix(name, dir+"/") {
			held = true
		}
	}
	return held
}

// wander moves a session's file to another folder, or deletes it.
func (m *model) wander() { m.talk.wander(m) }

// speak lets a conversation say something about snapshots.
func (m *model) speak() { m.talk.speak(m) }

// someone returns a conversation's id, or none.
func (c *conversations) someone(m *model) string {
	if len(c.all) == 0 || m.one(3) {
		return ""
	}
	return pick(m.world, c.all).id
}

// begin makes the directory of the agent.
func (c *conversations) begin(m *model) {
	c.agent = filepath.Join(m.home, ".pi", "agent")
	c.named = map[oid.ID]map[string]bool{}
	m.must(os.MkdirAll(filepath.Join(c.agent, "sessions"), 0o755))
	config := filepath.Join(m.home, ".config", "rewind")
	m.must(os.MkdirAll(config, 0o755))
	m.must(os.WriteFile(filepath.Join(config, "config"), []byte("[rewind]\n\tpinLabeledEntries = true\n"), 0o644))
}
