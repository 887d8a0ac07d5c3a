package blame

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ErrNoLines is the reason why a file has no lines to be told of.
var ErrNoLines = errors.New("has no lines")

// textMax is how large a file may be: several versions are in memory.
const textMax = 64 << 20

// linesMax is how many lines it may have: each of them takes some hundred bytes of
// memory, however short it is.
const linesMax = 1 << 20

// Text returns an error if a content has no lines: it is binary, or not whole
// because it is too large.
func Text(path string, content []byte, whole bool) error {
	switch {
	case !whole || len(content) > textMax:
		return fmt.Errorf("%q %w to be told of: it is larger than %d MiB", path, ErrNoLines, textMax>>20)
	case hunk.Binary(content):
		return fmt.Errorf("%q %w: it is a binary file", path, ErrNoLines)
	case bytes.Count(content, newline) > linesMax:
		return fmt.Errorf("%q %w to be told of: it has more than %d", path, ErrNoLines, linesMax)
	}
	return nil
}

// A History is the past of the files of a worktree, as a store has it. It is for one
// goroutine.
type History struct {
	Algorithm oid.Algorithm
	Objects   *objects.Objects

	// View reads the store; without one it calls nothing.
	View func(ctx context.Context, f func(*records.View) error) error
	// Here returns the snapshot at which the files stand, nil if there is none.
	Here func(ctx context.Context) (*records.Snapshot, error)
	// Base returns the snapshot that came before another one, nil if none did.
	Base func(ctx context.Context, s *records.Snapshot) (*records.Snapshot, error)

	ready []step // found out, and not asked for yet
}

// Find returns the file of a snapshot, nil if it has none at the path. A directory,
// a link, and a file without lines are [ErrNoLines].
func (h *History) Find(ctx context.Context, s *records.Snapshot, path string) (*Version, error) {
	src := h.outside(ctx)
	n, there, err := src.node(s, path)
	if err != nil || !there {
		return nil, err
	}
	if n.Mode.Type() != tree.File {
		return nil, fmt.Errorf("%q %w: it is no file in snapshot %s", path, ErrNoLines, s.ID.Short())
	}
	return src.version(&Version{Snapshot: s, Path: path}, n.ID)
}

// Earlier returns what made a version, and the version before it; see [Past]. It
// finds out more than one at a time: to take the lock of the store for each would
// cost more than all else.
func (h *History) Earlier(ctx context.Context, v *Version) (made *records.Snapshot, before *Version, begins bool, err error) {
	if v.Snapshot == nil {
		here, err := h.Here(ctx)
		if err != nil || here == nil {
			return nil, nil, false, err
		}
		before, err = h.Find(ctx, here, v.Path)
		return nil, before, false, noLines(err)
	}
	if len(h.ready) == 0 {
		err := h.View(ctx, func(in *records.View) error { return h.ahead(ctx, in, v) })
		if err != nil {
			return v.Snapshot, nil, false, err
		}
	}
	if len(h.ready) == 0 { // it is beside the store
		st, err := h.outside(ctx).step(v)
		return st.made, st.before, st.begins, err
	}
	st := h.ready[0]
	h.ready = h.ready[1:]
	return st.made, st.before, st.begins, st.err
}

// How much is found out at a time.
const (
	aheadMost  = 64
	aheadBytes = 16 << 20
)

// ahead finds out how a version came to be, and those before it, while the store is
// held.
func (h *History) ahead(ctx context.Context, in *records.View, v *Version) error {
	src := h.inside(ctx, in)
	for size := 0; len(h.ready) < aheadMost && size < aheadBytes && ctx.Err() == nil; {
		st, err := src.step(v)
		if errors.Is(err, errBeside) {
			return nil
		}
		st.err = err
		if h.ready = append(h.ready, st); st.before == nil {
			return nil
		}
		size += len(st.before.Text)
		v = st.before
	}
	return ctx.Err()
}
