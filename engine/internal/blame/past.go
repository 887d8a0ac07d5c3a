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

	View func(context.Context, func(*records.View) error) error
	// Here returns the snapshot at which the files stand, nil if there is none.
	Here func(ctx context.Context) (*records.Snapshot, error)
	// Base returns the snapshot that came before another one, nil if none did.
	Base func(ctx context.Context, s *records.Snapshot) (*records.Snapshot, error)

	last found // the node that was looked up last: one step ends where the next begins
}

// Find returns the file of a snapshot, nil if it has none at the path. A directory,
// a link, and a file without lines are [ErrNoLines].
func (h *History) Find(ctx context.Context, s *records.Snapshot, path string) (*Version, error) {
	src := h.source(ctx)
	n, there, err := src.node(s, path)
	if err != nil || !there {
		return nil, err
	}
	if n.Mode.Type() != tree.File {
		return nil, fmt.Errorf("%q %w: it is no file in snapshot %s", path, ErrNoLines, s.ID.Short())
	}
	return src.version(&Version{Snapshot: s, Path: path}, n.ID)
}

// Earlier returns what made a version, and the version before it; see [Past].
func (h *History) Earlier(ctx context.Context, v *Version) (made *records.Snapshot, before *Version, begins bool, err error) {
	if v.Snapshot == nil {
		here, err := h.Here(ctx)
		if err != nil || here == nil {
			return nil, nil, false, err
		}
		before, err = h.Find(ctx, here, v.Path)
		return nil, before, false, noLines(err)
	}
	st, err := h.source(ctx).step(v)
	return st.made, st.before, st.begins, err
}
