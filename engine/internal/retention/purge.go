package retention

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Purged is why a snapshot does not have a path that was purged, so that no
// restore deletes it from the worktree.
const Purged = "its content was purged"

// AtHome is why a snapshot from a remote does not have a path: whoever may read the
// remote would read its content.
const AtHome = "its content stays on the machine that recorded it"

// A Selection says which paths go.
type Selection interface {
	Match(path string) bool // the path goes, with all that is below it
	Below(dir string) bool  // something below the directory may go
}

// An Editor cuts the same paths out of many snapshots. It remembers the trees
// that it has made. It is for one goroutine.
type Editor struct {
	Algorithm oid.Algorithm
	Selection Selection
	Trees     tree.Loader
	Put       func(tree []byte) (oid.ID, error) // keeps a new tree, or merely names it
	Contents  map[oid.ID]bool                   // the contents of what went are added to it

	memo map[treeAt]edited
}

// A Cut is what is left of a snapshot, and what went.
type Cut struct {
	Tree, Overlay oid.ID
	Paths         []string // sorted; of a directory only its own path
}

// treeAt is a tree at a place: what goes depends on both.
type treeAt struct {
	id      oid.ID
	at      string
	overlay bool
}

// edited is what a tree becomes, and what went of it.
type edited struct {
	id    oid.ID
	paths []string
}

// Cut cuts the paths out of a snapshot; nil if it has none of them.
func (e *Editor) Cut(s *records.Snapshot) (*Cut, error) {
	git, err := e.tree(treeAt{id: s.Tree})
	if err != nil {
		return nil, err
	}
	overlay, err := e.tree(treeAt{id: s.Overlay, overlay: true})
	if err != nil {
		return nil, err
	}
	c := &Cut{Tree: git.id, Overlay: overlay.id, Paths: slices.Concat(git.paths, overlay.paths)}
	if len(c.Paths) == 0 {
		return nil, nil
	}
	if c.Overlay == e.empty() {
		c.Overlay = oid.ID{}
	}
	slices.Sort(c.Paths)
	c.Paths = slices.Compact(c.Paths)
	return c, nil
}

// Apply returns the record of a snapshot that was cut. It names what went, and
// why; its id is for the caller to set.
func (c *Cut) Apply(s *records.Snapshot, why string) *records.Snapshot {
	n := *s
	n.Tree, n.Overlay = c.Tree, c.Overlay
	n.Skipped = slices.Clone(s.Skipped)
	for _, path := range c.Paths {
		n.Skipped = append(n.Skipped, records.Note{Path: records.Path(path), Reason: why})
	}
	return &n
}

func (e *Editor) empty() oid.ID { return e.Algorithm.Sum(oid.Tree, nil) }

// directoriesMax is how many directories of all snapshots one purge looks
// through, each at each of its paths: a snapshot may have the same directory a
// million times. A repository with a hundred thousand directories and a thousand
// snapshots has fewer that differ.
const directoriesMax = 1 << 21

// tree makes a tree without the paths.
func (e *Editor) tree(v treeAt) (edited, error) {
	if v.id.IsZero() || v.id == e.empty() || !e.Selection.Below(v.at) {
		return edited{id: v.id}, nil
	}
	if known, ok := e.memo[v]; ok {
		return known, nil
	}
	if err := tree.CheckPath(v.at); err != nil {
		return edited{}, err
	}
	if len(e.memo) == directoriesMax {
		return edited{}, fmt.Errorf("%w: more than %d directories to look through; name less", tree.ErrLarge, directoriesMax)
	}
	payload, err := e.Trees(v.id)
	if err != nil {
		return edited{}, err
	}
	entries, err := tree.Decode(payload, e.Algorithm)
	if err != nil {
		return edited{}, fmt.Errorf("%w: tree %v: %w", records.ErrDamaged, v.id, err)
	}
	out := edited{id: v.id}
	var left []tree.Entry
	for _, entry := range entries {
		keep, paths, err := e.entry(v, &entry)
		if err != nil {
			return edited{}, err
		}
		if out.paths = append(out.paths, paths...); keep {
			left = append(left, entry)
		}
	}
	if len(out.paths) > 0 {
		out.id, err = e.Put(tree.Encode(left, e.Algorithm))
	}
	if e.memo == nil {
		e.memo = map[treeAt]edited{}
	}
	e.memo[v] = out
	return out, err
}

// entry cuts one entry: it may get another id, or not be kept.
func (e *Editor) entry(v treeAt, entry *tree.Entry) (keep bool, paths []string, err error) {
	at := entry.Name
	if v.at != "" {
		at = v.at + "/" + entry.Name
	}
	if e.Selection.Match(at) {
		return false, []string{at}, e.collect(*entry, v.overlay)
	}
	if !entry.Mode.IsDir() || entry.Mode.Type() == tree.Nested && !v.overlay {
		return true, nil, nil
	}
	below, err := e.tree(treeAt{id: entry.ID, at: at, overlay: v.overlay})
	if err != nil || len(below.paths) == 0 {
		return true, nil, err
	}
	entry.ID = below.id
	return v.overlay || below.id != e.empty(), below.paths, nil
}

// collect notes the contents of what goes.
func (e *Editor) collect(entry tree.Entry, overlay bool) error {
	var failed error
	walk := &Walk{Algorithm: e.Algorithm, Load: e.Trees}
	for o, err := range walk.below(entry, overlay) {
		if o.Kind == oid.Blob && !o.ID.IsZero() {
			e.Contents[o.ID] = true
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
