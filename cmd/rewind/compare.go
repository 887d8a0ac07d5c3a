package main

import (
	"bytes"
	"context"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// lines is a change of a file, compared line by line.
type lines struct {
	old, new       []byte
	part           bool // of one of them these are the first bytes: it is too large to be compared
	binary         bool
	added, removed int
	hunks          []byte // unified, without the file's header
}

// binaryPrefix is how far git looks for a NUL to call a file binary.
const binaryPrefix = 8000

// compare reads both sides of a change and compares them.
func compare(ctx context.Context, d *engine.Difference, c engine.Change) (l lines, err error) {
	var wholeOld, wholeNew bool
	if l.old, wholeOld, err = d.Read(ctx, c, false); err != nil {
		return l, err
	}
	if l.new, wholeNew, err = d.Read(ctx, c, true); err != nil {
		return l, err
	}
	l.part = !wholeOld || !wholeNew
	if l.part || isBinary(l.old) || isBinary(l.new) {
		l.binary = true
		return l, nil
	}
	for _, h := range hunk.Of(l.old, l.new) {
		added, removed := h.Changed()
		l.added, l.removed = l.added+added, l.removed+removed
		l.hunks = h.Append(l.hunks)
	}
	return l, nil
}

func isBinary(p []byte) bool {
	return bytes.IndexByte(p[:min(len(p), binaryPrefix)], 0) >= 0
}
