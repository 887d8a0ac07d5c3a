package history

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

func blameCommand(a *app) *cobra.Command {
	var at, within string
	c := a.InWorktree("blame [ID:]PATH", "Tell which snapshot brought each line of a file", cli.Takes(1, 1, "rewind blame README.md"), func(ctx context.Context, e *engine.Engine, args []string) error {
		first, last, err := lineRange(within)
		if err != nil {
			return exit.Usagef("%s: %w", a.Verb, err)
		}
		s, path, err := a.blamed(ctx, e, at, args[0])
		if err != nil {
			return err
		}
		r, err := e.Blame(ctx, s, path, first, last)
		if err != nil {
			return err
		}
		if len(r.Lines) == 0 && within != "" {
			return exit.Usagef("%s: -L %q begins behind the last line of the file", a.Verb, within)
		}
		if a.JSON {
			a.PrintJSON(wire.NewBlame(path, s, r))
		} else if err := a.Paged(func(w io.Writer, l show.Look) error { return printBlame(w, path, r, l) }); err != nil {
			return err
		}
		if r.Unread != nil {
			a.Warn(fmt.Errorf("what is older cannot be read: %w", r.Unread))
			return exit.ErrPartial
		}
		return nil
	})
	c.Flags().StringVar(&at, "at", "", "of the file as the snapshot with this `ID` has it, in place of ID: before PATH")
	c.Flags().StringVarP(&within, "lines", "L", "", "only these lines: `FROM,TO`, FROM, FROM, or FROM,+COUNT")
	return a.JSONFlag(c)
}

// blamed returns the file that is meant, and the snapshot, nil for the present. A
// name with a colon that is there means that file.
func (a *app) blamed(ctx context.Context, e *engine.Engine, at, text string) (s *engine.Snapshot, path string, err error) {
	path = text
	if at == "" {
		if place, err := a.Absolute(text); err == nil {
			if _, err := os.Lstat(place); err != nil {
				if id, rest, ok := cli.CutID(text); ok {
					at, path = id, rest
				}
			}
		}
	}
	if path, err = a.Named(path); err != nil || at == "" {
		return nil, path, err
	}
	s, err = a.SnapshotOf(ctx, e, at)
	return s, path, err
}

// lineRange reads the numbers of lines, from 1 on: "3,9", "3,+2", "3,", ",9" or "3".
func lineRange(text string) (first, last int, err error) {
	first, last = 1, math.MaxInt
	if text == "" {
		return first, last, nil
	}
	bad := fmt.Errorf("-L %q is no range of lines, such as 10,20 or 10,+5", text)
	from, to, two := strings.Cut(text, ",")
	if from != "" {
		if first, err = strconv.Atoi(from); err != nil || first < 1 {
			return 0, 0, bad
		}
	}
	if !two {
		last = first
	}
	if count, ok := strings.CutPrefix(to, "+"); ok {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || first > math.MaxInt-n {
			return 0, 0, bad
		}
		return first, first + n - 1, nil
	}
	if to != "" {
		if last, err = strconv.Atoi(to); err != nil || last < first {
			return 0, 0, bad
		}
	}
	return first, last, nil
}

// How much of a text fits into a column of blame.
const (
	blamedWhat    = 40
	blamedSession = 8
)

// printBlame prints each line behind what brought it.
func printBlame(w io.Writer, path string, r *engine.Lines, l show.Look) error {
	var rows [][]string
	widths := make([]int, 4)
	for _, line := range r.Lines {
		row := origin(line, path)
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
		rows = append(rows, row)
	}
	numbers := len(fmt.Sprint(r.First + len(r.Lines)))
	for i, row := range rows {
		var b strings.Builder
		for k, text := range row {
			if widths[k] > 0 {
				fmt.Fprintf(&b, "%s%s ", text, strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text)))
			}
		}
		text := bytes.TrimRight(r.Lines[i].Text, "\n")
		if l.Bare {
			text = show.PlainLine(text)
		}
		show.Paint(w, fmt.Appendf(nil, "%s%*d) ", b.String(), numbers, r.First+i), show.Cyan, l.Color)
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
		what = strings.TrimSpace(what + " [" + show.Quote(engine.Path(line.Path)) + "]")
	}
	return []string{id, s.Time.Local().Format("2006-01-02 15:04"), show.Shorten(visible.Line(session), blamedSession), show.Shorten(visible.Line(what), blamedWhat)}
}

// describeOrigin says what a state came to be by: the oldest of its points, which is
// of the moment when it was recorded first. What came later found it as it was.
func describeOrigin(s *engine.Snapshot) string {
	first := *s
	if len(s.Points) > 1 && s.Label() == "" {
		first.Points = s.Points[:1]
	}
	return show.Describe(&first)
}
