package blame

import (
	"bytes"
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
	err    error
}

// errBeside is the reason why a step cannot be made with what the store has.
var errBeside = errors.New("it is not in the store")

// A source is where steps are found: the store, while it is held, or wherever a
// snapshot may be.
type source struct {
	alg  oid.Algorithm
	load tree.Loader
	base func(s *records.Snapshot) (*records.Snapshot, error)
	text func(id oid.ID) (content []byte, whole bool, err error)
	size func(id oid.ID) int64 // as far as it is known; else 0

	// unchanged returns a snapshot before s between which and s nothing is recorded
	// to have changed at a path; nil if there is none.
	unchanged func(s *records.Snapshot, path string) *records.Snapshot

	last found // the node that was looked up last: one step ends where the next begins
}

// A found node is what a snapshot has at a path.
type found struct {
	of    *records.Snapshot
	path  string
	node  tree.Node
	there bool
}

// outside returns the source for what may be beside the store.
func (h *History) outside(ctx context.Context) *source {
	return &source{
		alg: h.Algorithm, load: h.Objects.Trees(ctx, objects.Reading{}),
		base: func(s *records.Snapshot) (*records.Snapshot, error) { return h.Base(ctx, s) },
		text: func(id oid.ID) ([]byte, bool, error) {
			var text bounded
			err := h.Objects.Write(ctx, &text, id)
			if errors.Is(err, errTooLarge) {
				return nil, false, nil
			}
			return text.Bytes(), true, err
		},
		size:      func(oid.ID) int64 { return 0 },
		unchanged: func(*records.Snapshot, string) *records.Snapshot { return nil },
	}
}

// inside returns the source for what the store has.
func (h *History) inside(ctx context.Context, in *records.View) *source {
	read := func(id oid.ID) ([]byte, error) {
		_, payload, err := h.Objects.ReadIn(in.View, id)
		return payload, err
	}
	return &source{
		alg: h.Algorithm, load: h.Objects.Trees(ctx, objects.Reading{In: in.View}),
		base: func(s *records.Snapshot) (*records.Snapshot, error) {
			if ok, err := in.Recorded(s.ID); !ok || err != nil || s.Foreign() {
				return nil, errors.Join(err, errBeside)
			}
			_, id, err := in.Changed(s)
			if err != nil || id.IsZero() {
				return nil, err
			}
			base, err := in.Find(id)
			if err == nil && base == nil {
				err = errBeside
			}
			if err == nil {
				err = records.UnpackSkipped(read, base)
			}
			return base, err
		},
		text: func(id oid.ID) ([]byte, bool, error) {
			if _, size, err := in.Stat(id); err == nil && size > textMax {
				return nil, false, nil
			}
			content, err := read(id)
			return content, true, err
		},
		size: func(id oid.ID) int64 {
			_, size, _ := in.Stat(id)
			return size
		},
		unchanged: func(s *records.Snapshot, path string) *records.Snapshot { return unchanged(in, s, path) },
	}
}

// stepsMax bounds how far a history is followed. None is so long; but what was
// written by somebody else may go in circles.
const stepsMax = 1 << 22

// unchanged follows what is recorded of what snapshots changed.
func unchanged(in *records.View, s *records.Snapshot, path string) *records.Snapshot {
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
	if at == s.ID {
		return nil
	}
	found, err := in.Find(at)
	if err != nil {
		return nil
	}
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
		base, err := src.base(s)
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
	n, there, err := tree.Lookup(s.State(), path, src.alg, src.load)
	if err != nil {
		return n, there, objects.TreeError(err)
	}
	src.last = found{s, path, n, there}
	return n, there, nil
}

// version reads the text of a version.
func (src *source) version(v *Version, id oid.ID) (*Version, error) {
	text, whole, err := src.text(id)
	if err == nil {
		v.Text = text
		err = Text(v.Path, text, whole)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

var errTooLarge = errors.New("too large")

// A bounded buffer refuses what is too large.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > textMax {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}
