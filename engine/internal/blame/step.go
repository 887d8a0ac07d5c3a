package blame

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A step is what is known of how a version came to be.
type step struct {
	made   *records.Snapshot
	before *Version
	begins bool
}

// A source is where one step is found.
type source struct {
	*History
	ctx  context.Context
	load tree.Loader
}

// A found node is what a snapshot has at a path.
type found struct {
	of    *records.Snapshot
	path  string
	node  tree.Node
	there bool
}

func (h *History) source(ctx context.Context) *source {
	return &source{h, ctx, h.Objects.Trees(ctx, objects.Reading{GitFirst: true})}
}

// stepsMax bounds how far a history is followed. None is so long; but what was
// written by somebody else may go in circles.
const stepsMax = 1 << 22

// unchanged follows what is recorded of what snapshots changed. It returns a snapshot
// before s between which and s nothing is recorded to have changed at a path, nil if there
// is none.
func (src *source) unchanged(s *records.Snapshot, path string) (found *records.Snapshot) {
	_ = src.View(src.ctx, func(in *records.View) error { // what cannot be read is met again
		at := s.ID
		for range stepsMax {
			c, _, err := in.Changed(&records.Snapshot{ID: at}) // where nothing is recorded there is no more to follow
			if err != nil || c == nil || c.Base.IsZero() {
				break
			}
			if yes, sure := c.Touches(path); yes || !sure {
				break
			}
			at = c.Base
		}
		if at != s.ID {
			found, _ = in.Find(at)
		}
		return nil
	})
	return found
}

// step finds out how a version came to be. With an error, the snapshot is the oldest
// that is known to have it.
func (src *source) step(v *Version) (st step, err error) {
	now, _, err := src.node(v.Snapshot, v.Path)
	st.made = v.Snapshot
	if err != nil {
		return st, err
	}
	s := st.made
	for range stepsMax {
		if far := src.unchanged(s, v.Path); far != nil {
			// A snapshot that left the file out is no change either, and hides one.
			if n, there, err := src.node(far, v.Path); err == nil && there && n.Mode.Type() == tree.File && n.ID == now.ID {
				st.made, s = far, far
			}
		}
		base, err := src.Base(src.ctx, s)
		if err != nil || base == nil {
			st.begins = base == nil && err == nil
			return st, err
		}
		n, there, err := src.node(base, v.Path)
		switch {
		case err != nil:
			return st, err
		case there && n.Mode.Type() == tree.File && n.ID == now.ID:
			st.made = base
		case there && n.Mode.Type() == tree.File:
			st.before, err = src.version(&Version{Snapshot: base, Path: v.Path}, n.ID)
			return st, noLines(err)
		case there:
			return st, nil
		case !leftOut(base, v.Path):
			if st.made == s {
				st.before, err = src.movedFrom(base, &Version{Snapshot: s, Path: v.Path, Text: v.Text}, now.ID)
			}
			return st, noLines(err)
		}
		s = base // it has the same, or it left the file out and nothing is known of it
	}
	return st, fmt.Errorf("%w: the history of snapshot %v has no beginning", records.ErrDamaged, v.Snapshot.ID)
}

// noLines takes a version without lines for none: no line comes from it.
func noLines(err error) error {
	if errors.Is(err, ErrNoLines) {
		return nil
	}
	return err
}

// leftOut reports whether a snapshot left out a path, or a directory above it.
func leftOut(s *records.Snapshot, path string) bool {
	for _, n := range s.Skipped {
		out := string(n.Path)
		if !n.Kept && (out == path || len(path) > len(out) && path[len(out)] == '/' && path[:len(out)] == out) {
			return true
		}
	}
	return false
}

func (src *source) node(s *records.Snapshot, path string) (tree.Node, bool, error) {
	if last := src.last; last.of == s && last.path == path {
		return last.node, last.there, nil
	}
	n, there, err := tree.Lookup(s.State(), path, src.Algorithm, src.load)
	if err != nil {
		return n, there, objects.TreeError(err)
	}
	src.last = found{s, path, n, there}
	return n, there, nil
}

// version reads the text of a version.
func (src *source) version(v *Version, id oid.ID) (*Version, error) {
	text, whole, err := src.Objects.Beginning(src.ctx, id, textMax)
	if err == nil {
		v.Text = text
		err = Text(v.Path, text, whole)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}
