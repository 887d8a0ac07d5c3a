package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/settings"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// sortSkipped finds, of the paths that a snapshot is to leave out, those of which
// somebody has to be told. It comes before the snapshot is recorded, which changes
// what the one before was taken for.
func (e *Engine) sortSkipped(ctx context.Context, r *Recorded, c *present) error {
	var open []Note
	for _, n := range c.Skipped {
		if settings.Chose(n.Reason) {
			r.Excluded++
		} else {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		return nil
	}
	told, err := e.told(ctx, c.Last)
	if err != nil {
		return err
	}
	for _, n := range open {
		switch {
		case told[n]:
		case n.Overlaid:
			r.Aside = append(r.Aside, n)
		default:
			r.Unexpected = append(r.Unexpected, n)
		}
	}
	return nil
}

// told returns what was said to be left out when somebody last took a snapshot, s
// or one before it. Those that a restore takes tell nobody.
func (e *Engine) told(ctx context.Context, s *Snapshot) (map[Note]bool, error) {
	for s != nil && len(s.Points) > 0 && !slices.ContainsFunc(s.Points, func(p Point) bool { return p.Trigger != triggerUndo }) {
		var err error
		if s, err = e.Before(ctx, s); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, nil
	}
	if err := e.fill(ctx, s); err != nil {
		return nil, err
	}
	told := make(map[Note]bool, len(s.Skipped))
	for _, n := range s.Skipped {
		told[n] = true
	}
	return told, nil
}

// triggerUndo is what the snapshot is taken for that a restore takes first.
const triggerUndo = "undo"

// A notThere error says that a snapshot has nothing at some paths. It is an
// [ErrNoSnapshot]: there is no such thing to be had.
type notThere struct {
	snapshot oid.ID
	paths    []string
	now      bool // nor is anything recorded there now
}

// Error names the paths.
func (n notThere) Error() string {
	var names []string
	for _, path := range n.paths {
		names = append(names, fmt.Sprintf("%q", path))
	}
	where := fmt.Sprintf("snapshot %v", n.snapshot)
	if n.now {
		return fmt.Sprintf("neither %s nor what would be recorded now has %s; nothing was changed", where, strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s has no path %s", where, strings.Join(names, ", "))
}

// Is makes it an ErrNoSnapshot.
func (n notThere) Is(target error) bool { return target == ErrNoSnapshot }
