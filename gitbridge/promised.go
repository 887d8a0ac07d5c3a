package gitbridge

import (
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Promised returns a function that is asked about objects of a snapshot which
// are nowhere. It reports whether the object need not be there: in a partial
// clone a remote has promised what was never fetched, and the snapshot did not
// have it on disk either. Whatever stood on disk, at any path, is not meant:
// its bytes are held. Root and overlay are the two trees of the snapshot. Load
// reads trees, from the store or from git; they are walked at the first
// question.
func (r *Repo) Promised(root, overlay oid.ID, load tree.Loader) func(id oid.ID) bool {
	if !r.layout.PartialClone || overlay.IsZero() {
		return func(oid.ID) bool { return false }
	}
	walked := sync.OnceValue(func() *absence {
		a := &absence{r: r, load: load, absent: map[oid.ID]bool{}, present: map[oid.ID]bool{}}
		a.walk(root, overlay, false)
		return a
	})
	return func(id oid.ID) bool {
		a := walked()
		return a.absent[id] && !a.present[id]
	}
}

// An absence is what a snapshot's tree names, by whether it was on disk.
type absence struct {
	r               *Repo
	load            tree.Loader
	absent, present map[oid.ID]bool
}

// walk looks at a tree of git and the overlay over it. What lies below a tree that
// cannot be read is not known, and so not promised.
func (a *absence) walk(id, overlay oid.ID, absent bool) {
	over := map[string]tree.Entry{}
	for _, e := range a.entries(overlay) {
		over[e.Name] = e
	}
	for _, e := range a.entries(id) {
		o, named := over[e.Name]
		gone := absent || named && (o.Mode.Type() == tree.Absent || e.Mode.Type() == tree.Dir && !o.Mode.IsDir())
		switch e.Mode.Type() {
		case tree.Nested:
			continue
		case tree.Dir:
			below := oid.ID{}
			if named && o.Mode.Type() == tree.Dir {
				below = o.ID
			}
			if gone && a.absent[e.ID] || !gone && below.IsZero() && a.present[e.ID] {
				continue // the same again
			}
			a.note(e.ID, gone)
			a.walk(e.ID, below, gone)
		default:
			a.note(e.ID, gone)
		}
	}
}

func (a *absence) note(id oid.ID, absent bool) {
	if absent {
		a.absent[id] = true
	} else {
		a.present[id] = true
	}
}

func (a *absence) entries(id oid.ID) []tree.Entry {
	if id.IsZero() || id == a.r.emptyTree() {
		return nil
	}
	payload, err := a.load(id)
	if err != nil {
		return nil
	}
	entries, err := tree.Decode(payload, a.r.Algorithm())
	if err != nil {
		return nil
	}
	return entries
}

// promised reports whether an object that git lacks may be left out of what is
// written: a remote promised it, and the store has none either.
func (w *writer) promised(id oid.ID) bool {
	if !w.r.layout.PartialClone {
		return false
	}
	if w.promise == nil {
		w.promise = func(oid.ID) bool { return false }
		if c, err := DecodeSnapshot(w.job.Commit, w.r.Algorithm()); err == nil {
			w.promise = w.r.Promised(c.Tree, c.Overlay, w.payload)
		}
	}
	if !w.promise(id) {
		return false
	}
	_, _, err := w.job.Load(id)
	return err != nil
}

// payload reads a tree or an overlay of the snapshot, from the store or from git.
func (w *writer) payload(id oid.ID, _ ...oid.ID) ([]byte, error) {
	_, payload, err := w.job.Load(id)
	if err != nil {
		_, payload, err = w.r.db.Read(id)
	}
	return payload, err
}
