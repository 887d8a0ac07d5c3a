package show

import (
	"bytes"
	"context"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// Lines is a change of a file, compared line by line.
type Lines struct {
	Old, New       []byte
	part           bool // of one of them these are the first bytes: it is too large to be compared
	Binary         bool
	Added, Removed int
	hunks          []byte // unified, without the file's header
}

// binaryPrefix is how far git looks for a NUL to call a file binary.
const binaryPrefix = 8000

// Compare reads both sides of a change and compares them.
func Compare(ctx context.Context, d *engine.Diff, c engine.Change) (l Lines, err error) {
	var wholeOld, wholeNew bool
	if l.Old, wholeOld, err = d.Read(ctx, c, false); err != nil {
		return l, err
	}
	if l.New, wholeNew, err = d.Read(ctx, c, true); err != nil {
		return l, err
	}
	l.part = !wholeOld || !wholeNew
	if l.part || isBinary(l.Old) || isBinary(l.New) {
		l.Binary = true
		return l, nil
	}
	for _, h := range hunk.Of(l.Old, l.New) {
		added, removed := h.Changed()
		l.Added, l.Removed = l.Added+added, l.Removed+removed
		l.hunks = h.Append(l.hunks)
	}
	return l, nil
}

func isBinary(p []byte) bool {
	return bytes.IndexByte(p[:min(len(p), binaryPrefix)], 0) >= 0
}
