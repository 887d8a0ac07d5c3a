package show

import (
	"context"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// Lines is a change of a file, compared line by line.
type Lines struct {
	Old, New       []byte
	Part           bool // of one of them these are the first bytes: it is too large to be compared
	Binary         bool // or Part
	Added, Removed int
	Hunks          []hunk.Hunk
}

// Compare reads both sides of a change and compares them.
func Compare(ctx context.Context, d *engine.Diff, c engine.Change) (l Lines, err error) {
	var wholeOld, wholeNew bool
	if l.Old, wholeOld, err = d.Read(ctx, c, false); err != nil {
		return l, err
	}
	if l.New, wholeNew, err = d.Read(ctx, c, true); err != nil {
		return l, err
	}
	l.Part = !wholeOld || !wholeNew
	if l.Part || hunk.Binary(l.Old) || hunk.Binary(l.New) {
		l.Binary = true
		return l, nil
	}
	l.Hunks = hunk.Of(l.Old, l.New)
	for _, h := range l.Hunks {
		added, removed := h.Changed()
		l.Added, l.Removed = l.Added+added, l.Removed+removed
	}
	return l, nil
}
