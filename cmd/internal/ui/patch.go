package ui

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

const (
	patchFilesMax = 200     // of a directory so many files are shown
	patchLinesMax = 20_000  // and so many lines
	contentMax    = 4 << 20 // of a file larger than this no lines are shown
	lineBytesMax  = 4000    // of a longer line no more is kept
)

// The kinds of lines in a patch, beside the signs of a diff.
const (
	kindFile = 'F'
	kindHunk = '@'
	kindNote = '#'
)

// A patchLine is a row of the pane of a patch.
type patchLine struct {
	kind     byte
	text     string // as it is in the file, but for its end
	old, new int    // its number on either side; 0: it is not there
	hunk     int    // of the list of hunks; -1: none
	right    []span
}

// A piece is a hunk of a file, and where it is shown.
type piece struct {
	hunk   hunk.Hunk
	change engine.Change
	line   int // where it begins in the list of lines
}

// A patch is the lines of one or several changes.
type patch struct {
	lines   []patchLine
	hunks   []piece
	digits  int // of the largest number of a line
	added   int
	removed int
}

// readPatch compares the lines of changes.
func readPatch(ctx context.Context, d *engine.Diff, changes []engine.Change) (patch, error) {
	var p patch
	renames, old := (&engine.Diff{Changes: changes}).Renames()
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		if i == patchFilesMax || len(p.lines) > patchLinesMax {
			p.note("… " + count(len(changes)-i, "more change") + " (choose one in the list of files)")
			break
		}
		if old[c.Path] {
			continue
		}
		if from := renames[c.Path]; from != "" {
			p.headText("R " + name(string(from)) + " → " + name(string(c.Path)))
			continue
		}
		if len(changes) > 1 {
			p.head(c)
		}
		p.add(ctx, d, c)
	}
	last := 0
	for _, l := range p.lines {
		last = max(last, l.old, l.new)
	}
	p.digits = len(fmt.Sprint(last))
	return p, ctx.Err()
}

func (p *patch) note(text string) {
	p.lines = append(p.lines, patchLine{kind: kindNote, text: text, hunk: -1})
}

// head adds the row that names a file.
func (p *patch) head(c engine.Change) {
	text := string(c.Status()) + " " + name(string(c.Path))
	if isDir(c) {
		text += "/"
	}
	p.headText(text)
}

func (p *patch) headText(text string) {
	if len(p.lines) > 0 {
		p.lines = append(p.lines, patchLine{kind: ' ', hunk: -1})
	}
	p.lines = append(p.lines, patchLine{kind: kindFile, text: text, hunk: -1})
}

// add adds the lines of one change. What cannot be read is said in their place.
func (p *patch) add(ctx context.Context, d *engine.Diff, c engine.Change) {
	head := len(p.lines) - 1
	if what := modes(c); what != "" {
		p.note(what)
	}
	if c.From.Dir() && c.To.Dir() || isDir(c) && (c.From.Mode == 0 || c.To.Mode == 0) {
		return
	}
	l, err := show.Compare(ctx, d, c)
	switch {
	case err != nil:
		p.note("cannot be read: " + line(err.Error()))
	case l.Part:
		p.note("larger than 4 MiB: its lines are not compared here")
	case l.Binary:
		p.note("binary")
	default:
		if head >= 0 && p.lines[head].kind == kindFile {
			p.lines[head].right = []span{{" +" + number(l.Added), good}, {" −" + number(l.Removed) + " ", bad}}
		}
		p.added, p.removed = p.added+l.Added, p.removed+l.Removed
		p.addHunks(c, l.Hunks)
	}
}

// addHunks adds the hunks of a file.
func (p *patch) addHunks(c engine.Change, hunks []hunk.Hunk) {
	for _, h := range hunks {
		p.hunks = append(p.hunks, piece{h, c, len(p.lines)})
		p.lines = append(p.lines, linesOf(h, len(p.hunks)-1)...)
	}
}

// linesOf are the rows of a hunk.
func linesOf(h hunk.Hunk, number int) []patchLine {
	list := []patchLine{{kind: kindHunk, text: fmt.Sprintf("@@ -%d +%d @@", h.Old+1, h.New+1), hunk: number}}
	old, new := h.Old, h.New
	for _, line := range h.Lines {
		l := patchLine{kind: line.Op, hunk: number, text: body(line.Text)}
		if line.Op != '+' {
			old++
			l.old = old
		}
		if line.Op != '-' {
			new++
			l.new = new
		}
		list = append(list, l)
		if !bytes.HasSuffix(line.Text, []byte("\n")) {
			list = append(list, patchLine{kind: kindNote, text: "no newline at the end of the file", hunk: number})
		}
	}
	return list
}

// body is a line without its end, and not longer than anybody reads.
func body(line []byte) string {
	line = bytes.TrimRight(line, "\n")
	return string(line[:min(len(line), lineBytesMax)])
}

// modes says how the permissions or the kind of something changed; "" if not.
func modes(c engine.Change) string {
	kind := func(s engine.Side) string {
		switch {
		case s.Dir():
			return "directory"
		case s.Link():
			return "link"
		}
		return "file"
	}
	switch from, to := c.From.Mode, c.To.Mode; {
	case from == 0 || to == 0:
		return ""
	case kind(c.From) != kind(c.To):
		return kind(c.From) + " → " + kind(c.To)
	case from != to:
		return fmt.Sprintf("mode %04o → %04o", from&0o7777, to&0o7777)
	}
	return ""
}

// A reading is the pane of a patch: what of it is seen.
type reading struct {
	patch   patch
	cursor  cursor
	shift   int    // so many cells are scrolled away at the left
	path    string // of the entry that it is of
	next    string // of the entry that is being read
	err     error
	waiting bool
}

// set takes over the patch of an entry, and stays where it was if it shows that one.
func (v *reading) set(p patch, err error, path string) {
	if v.path != path {
		v.cursor, v.shift = cursor{}, 0
	}
	v.patch, v.err, v.waiting, v.path = p, err, false, path
	v.cursor.move(0, len(p.lines))
}

// hunk returns the hunk at the cursor, -1 for none.
func (v *reading) hunk() int {
	if v.cursor.at < len(v.patch.lines) {
		return v.patch.lines[v.cursor.at].hunk
	}
	return -1
}

// jump goes to the beginning of the next hunk, or of the one before.
func (v *reading) jump(by int) {
	at := -1
	for i, h := range v.patch.hunks {
		if by > 0 && h.line > v.cursor.at {
			at = i
			break
		}
		if by < 0 && h.line < v.cursor.at {
			at = i
		}
	}
	if at >= 0 {
		v.cursor.at = v.patch.hunks[at].line
		v.cursor.top = max(0, v.cursor.at-2)
	}
}

// draw draws the rows that are seen.
func (v *reading) draw(r rect, focused bool) []string {
	switch {
	case v.err != nil:
		return instead(r, span{"! " + line(v.err.Error()), bad})
	case len(v.patch.lines) == 0 && v.waiting:
		return instead(r, span{"reading…", faint})
	}
	at := v.hunk()
	return v.cursor.draw(len(v.patch.lines), r, usual, func(i int, _ look, pointer string) string {
		l, bar := v.patch.lines[i], span{" ", usual}
		switch {
		case focused && pointer != " ":
			bar = span{pointer, special}
		case focused && l.hunk >= 0 && l.hunk == at:
			bar = span{"▌", accent}
		}
		spans := []span{bar}
		if r.w >= numbersFrom && l.hunk >= 0 && (l.new > 0 || l.old > 0) {
			spans = append(spans, span{fmt.Sprintf("%*d ", v.patch.digits, cmp.Or(l.new, l.old)), faint})
		}
		return sides(r.w, usual, l.right, append(spans, l.spans(v.shift)...)...)
	})
}

// numbersFrom is from how many cells on the lines have their numbers.
const numbersFrom = 50

// spans show a line, but for so many cells at the left.
func (l patchLine) spans(shift int) []span {
	switch l.kind {
	case kindFile:
		return []span{{l.text + " ", strong}}
	case kindHunk:
		return []span{{l.text, accent}}
	case kindNote:
		return []span{{l.text, faint}}
	}
	ink := map[byte]look{'+': good, '-': bad}[l.kind]
	text := shown(l.text)
	if shift > 0 {
		text = cutLeft(text, shift)
	}
	return []span{{string(l.kind), ink}, {text, ink}}
}

// tabStop is how far apart the stops of tabs are.
const tabStop = 4

// shown shows a line of a file: tabs as blanks up to the next stop, and the carriage
// return of a line's end not at all.
func shown(text string) string {
	text = strings.TrimSuffix(text, "\r")
	if !strings.ContainsRune(text, '\t') {
		return visible.Line(text)
	}
	var b strings.Builder
	at := 0
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			n := tabStop - at%tabStop
			b.WriteString(strings.Repeat(" ", n))
			at += n
		}
		part = visible.Line(part)
		b.WriteString(part)
		at += width(part)
	}
	return b.String()
}
