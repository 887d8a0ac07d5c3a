package main

import (
	"bytes"
	"context"
	"fmt"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/seed-82afce7a/rewind/engine"
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
	l.hunks = unified(textdiff.Hunks(l.old, l.new, textdiff.IndentHeuristic()))
	for line := range bytes.Lines(l.hunks) {
		switch line[0] {
		case '+':
			l.added++
		case '-':
			l.removed++
		}
	}
	return l, nil
}

func isBinary(p []byte) bool {
	return bytes.IndexByte(p[:min(len(p), binaryPrefix)], 0) >= 0
}

// unified formats hunks as git does: a count of one is left out, and a side
// without lines begins at the line before.
func unified(hunks []textdiff.Hunk[[]byte]) []byte {
	var b bytes.Buffer
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.LineNoX, h.EndLineNoX), span(h.LineNoY, h.EndLineNoY))
		for _, e := range h.Edits {
			b.WriteByte(signs[e.Op])
			b.Write(e.Line)
			if !bytes.HasSuffix(e.Line, []byte("\n")) {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return b.Bytes()
}

var signs = map[diff.Op]byte{diff.Match: ' ', diff.Delete: '-', diff.Insert: '+'}

func span(begin, end int) string {
	switch end - begin {
	case 0:
		return fmt.Sprintf("%d,0", begin)
	case 1:
		return fmt.Sprint(begin + 1)
	}
	return fmt.Sprintf("%d,%d", begin+1, end-begin)
}
