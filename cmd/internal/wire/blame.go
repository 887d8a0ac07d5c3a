package wire

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/engine"
)

// A Blame is the answer of blame: lines, and the snapshots that they name.
type Blame struct {
	Path
	At        string      `json:"at,omitempty"` // the snapshot whose file it is; not there: the file as it is now
	Lines     []blameLine `json:"lines"`
	Snapshots []Record    `json:"snapshots"`        // newest first
	Unread    string      `json:"unread,omitempty"` // why nothing older is known (exit 5)
}

// A blameLine is a line and where it comes from.
type blameLine struct {
	Line     int    `json:"line"`
	Text     string `json:"text"`               // without its end
	TextB64  []byte `json:"text_b64,omitempty"` // its bytes, where it is not UTF-8
	Snapshot string `json:"snapshot,omitempty"` // not there: not recorded yet
	Was      string `json:"was,omitempty"`      // what the file was called there, if that was something else
	Older    bool   `json:"older,omitempty"`    // it may be older than that
}

// NewBlame tells where the lines of a file come from; at is nil for the file as it
// is now, unread why nothing older is known.
func NewBlame(path string, at *engine.Snapshot, lines []engine.Line, unread error) Blame {
	out := Blame{Path: NewPath(engine.Path(path)), Lines: []blameLine{}, Snapshots: newRecords(broughtBy(lines)), Unread: text(unread)}
	if at != nil {
		out.At = at.ID.String()
	}
	for _, l := range lines {
		text := strings.TrimSuffix(string(l.Text), "\n")
		line := blameLine{Line: l.Number, Text: text, Older: l.Older}
		if !utf8.ValidString(text) {
			line.Text, line.TextB64 = strings.ToValidUTF8(text, "\uFFFD"), []byte(text)
		}
		if l.From != nil {
			line.Snapshot = l.From.ID.String()
		}
		if l.Path != path && l.From != nil {
			line.Was = NewPath(engine.Path(l.Path)).Path
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// broughtBy returns the snapshots that brought a line, newest first.
func broughtBy(lines []engine.Line) (list []*engine.Snapshot) {
	seen := map[engine.ID]bool{}
	for _, l := range lines {
		if l.From != nil && !seen[l.From.ID] {
			seen[l.From.ID] = true
			list = append(list, l.From)
		}
	}
	slices.SortStableFunc(list, func(a, b *engine.Snapshot) int { return b.Time.Compare(a.Time) })
	return list
}
