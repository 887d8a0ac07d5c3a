package show

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// How much of a text fits into a column of blame.
const (
	blamedWhat    = 40
	blamedSession = 8
)

// PrintBlame prints each line behind what brought it.
func PrintBlame(w io.Writer, path string, lines []engine.Line, l Look) error {
	var rows [][]string
	widths := make([]int, 4)
	for _, line := range lines {
		row := origin(line, path)
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
		rows = append(rows, row)
	}
	numbers := 0
	if n := len(lines); n > 0 {
		numbers = len(fmt.Sprint(lines[n-1].Number + 1))
	}
	for i, row := range rows {
		var b strings.Builder
		for k, text := range row {
			if widths[k] > 0 {
				fmt.Fprintf(&b, "%s%s ", text, strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text)))
			}
		}
		text := bytes.TrimRight(lines[i].Text, "\n")
		if l.Bare {
			text = plainLine(text)
		}
		Paint(w, fmt.Appendf(nil, "%s%*d) ", b.String(), numbers, lines[i].Number), cyan, l.Color)
		if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
			return err
		}
	}
	return nil
}

// origin says in columns what brought a line: the snapshot, its time, the session,
// and what it was for.
func origin(line engine.Line, path string) []string {
	s := line.From
	if s == nil {
		return []string{"not recorded", "", "", ""}
	}
	id, what, session := s.ID.Short(), describeOrigin(s), ""
	if line.Older {
		id = "^" + id
	}
	if len(s.Points) > 0 {
		session = s.Points[0].Session
	}
	if line.Path != path {
		what = strings.TrimSpace(what + " [" + Quote(engine.Path(line.Path)) + "]")
	}
	return []string{id, s.Time.Local().Format("2006-01-02 15:04"), Shorten(visible.Line(session), blamedSession), Shorten(visible.Line(what), blamedWhat)}
}

// describeOrigin says what a state came to be by: the oldest of its points, which is
// of the moment when it was recorded first. What came later found it as it was.
func describeOrigin(s *engine.Snapshot) string {
	first := *s
	if len(s.Points) > 1 && s.Label() == "" {
		first.Points = s.Points[:1]
	}
	return describe(&first)
}
