package history

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
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
		lines, unread := e.Blame(ctx, s, path, first, last)
		if unread != nil && len(lines) == 0 {
			return unread
		}
		if len(lines) == 0 && within != "" {
			return exit.Usagef("%s: -L %q begins behind the last line of the file", a.Verb, within)
		}
		if a.JSON {
			a.PrintJSON(wire.NewBlame(path, s, lines, unread))
		} else if err := a.Paged(func(w io.Writer, l show.Look) error { return show.PrintBlame(w, path, lines, l) }); err != nil {
			return err
		}
		if unread != nil {
			a.Warn(fmt.Errorf("what is older cannot be read: %w", unread))
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
