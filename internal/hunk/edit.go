package hunk

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrUnfit is the reason why an edited hunk cannot be taken over.
var ErrUnfit = errors.New("the hunk does not fit the file any more")

// Edited returns a hunk as somebody has changed its text, as it is written by
// [Hunk.Append]. Lines that begin with '#' or '@' do not count. An empty line is an
// unchanged empty one: editors take the blank away. Without any line that counts the
// hunk is empty. Lines that go or stay have to be what the old text has there, else
// it is [ErrUnfit].
func (h Hunk) Edited(text []byte) (Hunk, error) {
	out := Hunk{Old: h.Old, New: h.New}
	for line := range bytes.Lines(text) {
		switch line[0] {
		case '#', '@':
		case '\n', '\r':
			out.Lines = append(out.Lines, Line{' ', line})
		case '\\':
			if n := len(out.Lines); n > 0 {
				last := &out.Lines[n-1]
				last.Text = bytes.TrimSuffix(last.Text, []byte("\n"))
			}
		case ' ', '-', '+':
			body := line[1:]
			if !bytes.HasSuffix(body, []byte("\n")) { // of the edited text, not of the file
				body = append(bytes.Clone(body), '\n')
			}
			out.Lines = append(out.Lines, Line{line[0], body})
		default:
			return Hunk{}, fmt.Errorf("%w: a line begins with %q: neither blank, + nor -", ErrUnfit, line[0])
		}
	}
	if len(out.Lines) == 0 {
		return out, nil
	}
	return out, h.fits(out)
}

// fits reports whether what goes and stays of an edited hunk is what h has of the
// old text.
func (h Hunk) fits(edited Hunk) error {
	var have [][]byte
	for _, l := range h.Lines {
		if l.Op != '+' {
			have = append(have, l.Text)
		}
	}
	for _, l := range edited.Lines {
		if l.Op == '+' {
			continue
		}
		if len(have) == 0 {
			return fmt.Errorf("%w: it has more lines of the present than before", ErrUnfit)
		}
		if !bytes.Equal(bytes.TrimRight(have[0], "\n"), bytes.TrimRight(l.Text, "\n")) {
			return fmt.Errorf("%w: %q is not what the file has there", ErrUnfit, bytes.TrimRight(l.Text, "\n"))
		}
		have = have[1:]
	}
	if len(have) > 0 {
		return fmt.Errorf("%w: the line %q is missing", ErrUnfit, bytes.TrimRight(have[0], "\n"))
	}
	return nil
}
