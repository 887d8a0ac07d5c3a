package verb

import (
	"bytes"
	"context"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

// DiffSides resolves the ids of a diff. Without any, it is from where the files
// stand to the worktree; to is nil for the worktree.
func DiffSides(ctx context.Context, e *engine.Engine, ids []string, find func(string) (*engine.Snapshot, error)) (from, to *engine.Snapshot, err error) {
	if len(ids) == 0 {
		if from, err = e.Here(ctx); from != nil || err != nil {
			return from, nil, err
		}
		ids = []string{"@"} // which says that there is none
	}
	if from, err = find(ids[0]); err != nil || len(ids) == 1 {
		return from, nil, err
	}
	to, err = find(ids[1])
	return from, to, err
}

// Since is what changed since where the files stand; nil if they stand nowhere.
func Since(ctx context.Context, e *engine.Engine) (*engine.Diff, error) {
	here, err := e.Here(ctx)
	if here == nil || err != nil {
		return nil, err
	}
	return e.Diff(ctx, here, nil, nil)
}

// Itself is what a snapshot changed, since where the files stood before it.
func Itself(ctx context.Context, e *engine.Engine, s *engine.Snapshot) (*engine.Diff, error) {
	before, err := e.Before(ctx, s)
	if err != nil {
		return nil, err
	}
	return e.Diff(ctx, before, s, nil)
}

// Difference makes the object of a diff, with the number of lines if stat is set.
func Difference(ctx context.Context, d *engine.Diff, stat bool) (wire.Difference, error) {
	lines := func(c engine.Change) (*wire.Lines, error) {
		l, err := show.Compare(ctx, d, c)
		if err != nil || l.Binary {
			return nil, err
		}
		return &wire.Lines{Added: l.Added, Removed: l.Removed}, nil
	}
	if !stat {
		lines = nil
	}
	out, err := wire.NewDifference(d.Changes, lines)
	if d.Unfinished != nil {
		out.Unfinished = d.Unfinished.Error()
	}
	return out, err
}

// A difference is the answer of diff: changes, or a patch where that was asked for.
type difference struct {
	*wire.Difference
	*patchJSON
}

type patchJSON struct {
	Patch     string `json:"patch"`
	Truncated bool   `json:"truncated,omitempty"` // it was cut at maxBytes
}

// patchOf prints file after file until there is enough.
func patchOf(ctx context.Context, d *engine.Diff, most int) (out patchJSON, err error) {
	var text bytes.Buffer
	for _, change := range d.Changes {
		part := *d
		part.Changes = []engine.Change{change}
		if err := show.PrintPatch(ctx, &text, &part, show.Look{}); err != nil {
			return out, err
		}
		if most > 0 && text.Len() > most {
			out.Truncated = true
			text.Truncate(bytes.LastIndexByte(text.Bytes()[:most], '\n') + 1)
			break
		}
	}
	out.Patch = text.String()
	return out, nil
}
