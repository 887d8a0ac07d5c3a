//go:build linux

package fuzz

import (
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
)

// travel restores an earlier snapshot, compares, undoes, compares, and at
// times redoes.
func (w *world) travel() {
	w.t.Helper()
	if len(w.taken) == 0 {
		return
	}
	s := pick(w, w.taken)
	e := w.long
	if w.one(2) {
		e = w.open()
		defer func() { w.must(e.Close()) }()
	}
	before, mine := w.picture(w.root), w.mine()
	w.note("restore %v", s.snap.ID)
	ignored := w.ignored(before)
	r, err := e.Do(w.t.Context(), engine.Op{To: s.snap.ID})
	if err != nil {
		w.fail("restore: %v", err)
	}
	w.allowed(r, before)
	restored := w.picture(w.root)
	w.travelBack(e, s, r, states{before: before, now: restored, ignored: ignored})
	w.travelPart(e, s)
	w.travelClosed(e, s)
	if now := w.mine(); !maps.Equal(mine, now) {
		w.fail("restore touched the user's git: %q, before %q", now, mine)
	}
	w.unblock()
	w.check()
}

// travelBack holds what a restore did, and that undo brings back what was there.
func (w *world) travelBack(e *engine.Engine, s taken, r *engine.Restored, was states) {
	w.t.Helper()
	before, restored := was.before, was.now
	if r.Undo.IsZero() { // nothing had to change: that is no step
		if d := before.Differs(restored); d != "" {
			w.fail("the restore says that nothing had to change, and changed:\n  %s\n%+v", d, r)
		}
		w.compareRestored(s, r, was)
		return
	}
	undo, err := e.Find(w.t.Context(), r.Undo.String())
	w.must(err)
	was.undo, was.tree = w.export(e, undo), undo.Tree.String()
	w.compareRestored(s, r, was)
	w.note("undo")
	u, err := e.Do(w.t.Context(), engine.Op{Verb: engine.Undo})
	if err != nil {
		w.fail("undo: %v", err)
	}
	w.allowed(u, nil)
	after := w.picture(w.root)
	if d := before.Differs(after); d != "" {
		w.fail("undo did not bring back:\n  %s\nrestore %+v\nundo %+v", d, r, u)
	}
	if w.one(2) {
		w.note("redo")
		again, err := e.Do(w.t.Context(), engine.Op{Verb: engine.Redo})
		if err != nil {
			w.fail("redo: %v", err)
		}
		w.allowed(again, before)
		if d := restored.Differs(w.picture(w.root)); d != "" {
			w.fail("redo did not bring back:\n  %s\nredo %+v", d, again)
		}
	}
}

// travelPart restores a part of a snapshot at times, undoes and redoes that: what
// undo brings back is what was there, whatever a restore was limited to. What is
// drawn here leaves the rest of the world as its seed has it.
func (w *world) travelPart(e *engine.Engine, s taken) {
	w.t.Helper()
	side := *w
	side.rng = rand.New(rand.NewPCG(w.seed, uint64(len(w.log))))
	if !side.one(2) {
		return
	}
	before := w.picture(w.root)
	limits := side.scope(before, s.recorded)
	if limits.all() {
		return
	}
	w.note("restore %v %q, undo, redo, undo", s.snap.ID, limits.texts)
	r, err := e.Do(w.t.Context(), engine.Op{To: s.snap.ID, Paths: limits.texts})
	if w.refused(err, limits, s.recorded, before) {
		return
	}
	w.must(err)
	w.allowed(r, before)
	restored := w.picture(w.root)
	for p, what := range before {
		if restored[p] == what || limits.match(p) || isDirectory(restored[p]) && !isDirectory(what) {
			continue // what is no directory may give way to one
		}
		w.fail("a restore of %q changed %q", limits.texts, p)
	}
	if r.Undo.IsZero() { // nothing had to change: that is no step
		if d := before.Differs(restored); d != "" {
			w.fail("the restore of %q says that nothing had to change, and changed:\n  %s\n%+v", limits.texts, d, r)
		}
		return
	}
	for i, want := range []picture{before, restored, before} {
		verb := engine.Undo
		if i == 1 {
			verb = engine.Redo
		}
		again, err := e.Do(w.t.Context(), engine.Op{Verb: verb})
		w.must(err)
		w.allowed(again, before)
		if d := want.Differs(w.picture(w.root)); d != "" {
			w.fail("step %d after a restore of %q did not bring back:\n  %s\nrestore %+v\nthen %+v", i, limits.texts, d, r, again)
		}
	}
}

// allowed holds the conflicts of a restore to those that there have to be: a
// pipe, socket or device in the way, an ignored file in a directory that should be a file, a name
// that some file system takes for ".git", and the .git of a repository that is
// gone.
func (w *world) allowed(r *engine.Restored, before picture) {
	w.t.Helper()
	for _, c := range r.Conflicts {
		pipe := false
		for at := string(c.Path); at != "."; at = path.Dir(at) {
			pipe = pipe || special(before, at)
		}
		if path.Base(string(c.Path)) == ".git" {
			continue
		}
		if !pipe && !strings.Contains(c.Reason, "holds files that are not part of the plan") && !strings.Contains(c.Reason, "can lead into a .git") && !strings.HasPrefix(c.Reason, "an ignored directory") {
			w.fail("conflicts %v", r.Conflicts)
		}
	}
}

// states are what was before and after a restore, and what its undo snapshot
// holds.
type states struct {
	before, now, undo picture
	ignored           map[string]bool // before
	tree              string          // git's, before
}

// compareRestored holds a restore to its promise: everything the snapshot has
// is there, and what is there besides was there before, is unchanged, was
// named, and could not have been in the snapshot.
func (w *world) compareRestored(s taken, r *engine.Restored, was states) {
	w.t.Helper()
	before, now := was.before, was.now
	for p, what := range s.recorded {
		if before[p] != "" && w.spared(s, r, p) && now[p] == before[p] {
			continue
		}
		if now[p] != what && !blocked(r, p) {
			w.fail("after the restore %q is %.80q, not %.80q; %+v", p, now[p], what, r)
		}
	}
	left := recordable(now)
	untold := func(p string) bool { // it may be ignored now: then it is left alone
		_, mayBe := was.ignored[p]
		return mayBe || (w.nested || w.unwanted) && !w.inTree(was.tree, p, isDirectory(left[p]))
	}
	var extra []string
	for p, what := range left {
		if _, ok := s.recorded[p]; ok {
			continue
		}
		if was, ok := before[p]; ok && was != what {
			w.fail("the restore changed %q to %.80q from %.80q, and the snapshot does not have it", p, what, was)
		}
		if reason, ok := named(r, p); ok {
			if strings.HasPrefix(reason, "ignored") {
				extra = append(extra, p)
			}
			continue
		}
		if st, err := os.Lstat(w.path(p)); err == nil && st.IsDir() && namedBelow(r, p) {
			continue
		}
		if _, recorded := was.undo[p]; !recorded || untold(p) {
			continue
		}
		if isDirectory(what) && slices.ContainsFunc(slices.Collect(maps.Keys(left)), func(in string) bool { return in != p && beneath(in, p) && untold(in) }) {
			continue // it holds that
		}
		w.fail("%q stayed unmentioned: %+v", p, r)
	}
	w.noneDeleted(s, was)
	if s.outside == w.outside && !w.nested && len(r.Conflicts) == 0 && !slices.ContainsFunc(extra, func(p string) bool { return path.Base(p) == ".gitignore" }) {
		w.allIgnored(extra)
	}
}

// spared reports whether an ignored file stays as it is, though the snapshot has
// it otherwise, and holds the restore to saying so. Of repositories inside, and
// where rules may be in the index alone, git does not tell what was ignored.
func (w *world) spared(s taken, r *engine.Restored, p string) bool {
	w.t.Helper()
	reason, stays := named(r, p)
	stays = stays && (strings.HasPrefix(reason, "an ignored file") || strings.Contains(reason, "has an ignored file"))
	if w.nested || w.unwanted {
		return stays
	}
	_, mayBe := s.ignored[p]
	if stays && !mayBe {
		w.fail("%q stays as an ignored file, and was none", p)
	}
	return s.ignored[p] || mayBe && stays
}

// inTree reports whether a git tree has a file at a path, or a directory where
// that is one.
func (w *world) inTree(tree, p string, dir bool) bool {
	what, err := w.tryGit("", "cat-file", "-t", tree+":"+p)
	return err == nil && (what == "tree") == dir
}

// noneDeleted holds that every ignored file is there after a restore as before,
// or something that the snapshot has in its place.
func (w *world) noneDeleted(s taken, was states) {
	w.t.Helper()
	for p, sure := range was.ignored {
		if !sure {
			continue
		}
		_, has := s.recorded[p]
		if now, before := was.now[p], was.before[p]; !isDirectory(before) && (now == "" || now != before && !has) {
			w.fail("the restore changed the ignored %q to %.80q from %.80q, and the snapshot does not have it", p, now, before)
		}
	}
}

// named returns why a path was kept, if the restore says so.
func named(r *engine.Restored, p string) (string, bool) {
	for at := p; at != "."; at = path.Dir(at) {
		for _, n := range r.Kept {
			if string(n.Path) == at {
				return n.Reason, true
			}
		}
	}
	return "", false
}

// blocked reports whether a path could not be restored because of a file that
// stays.
func blocked(r *engine.Restored, p string) bool {
	for at := p; at != "."; at = path.Dir(at) {
		if slices.ContainsFunc(r.Conflicts, func(n engine.Note) bool { return string(n.Path) == at }) {
			return true
		}
	}
	return false
}

func namedBelow(r *engine.Restored, p string) bool {
	return slices.ContainsFunc(r.Kept, func(n engine.Note) bool { return strings.HasPrefix(string(n.Path), p+"/") })
}
