package history

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func labelCommand(a *app) *cobra.Command {
	var remove bool
	args := func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 2 || remove && len(args) == 1:
			return nil
		case len(args) > 2:
			return fmt.Errorf("%q is too much: a TEXT of several words stands in quotes, as in: rewind label @ \"before the merge\"", args[2])
		}
		return fmt.Errorf("it takes an ID and a TEXT, as in: rewind label @ \"before the merge\"")
	}
	c := a.InWorktree("label ID TEXT", "Give a snapshot that is there a label, by which it is found; with --remove, take it away", args, func(ctx context.Context, e *engine.Engine, args []string) error {
		s, err := e.Find(ctx, args[0])
		if err != nil {
			return err
		}
		text := ""
		if len(args) == 2 {
			text = strings.TrimSpace(args[1])
		} else if text, err = onlyLabel(s); err != nil {
			return err
		}
		if text == "" {
			return exit.Usagef("label: the TEXT is empty (--remove takes a label away)")
		}
		if err := e.Label(ctx, s.ID, text, remove); err != nil {
			return err
		}
		return a.labelled(ctx, e, s, text, remove)
	})
	c.Flags().BoolVar(&remove, "remove", false, "take a label away: label --remove ID [TEXT]")
	return a.JSONFlag(c)
}

// onlyLabel returns the one label of a snapshot.
func onlyLabel(s *engine.Snapshot) (string, error) {
	list := show.LabelsOf(s)
	switch len(list) {
	case 0:
		return "", fmt.Errorf("%w: %s has no label", engine.ErrNoSnapshot, s.ID.Short())
	case 1:
		return list[0], nil
	}
	return "", fmt.Errorf("%w: %s has %d (%s), as in: rewind label --remove %[2]s TEXT", exit.ErrWhichLabel, s.ID.Short(), len(list), show.OneLine(strings.Join(list, ", ")))
}

// labelled tells what became of a label.
func (a *app) labelled(ctx context.Context, e *engine.Engine, s *engine.Snapshot, text string, removed bool) error {
	switch {
	case a.JSON:
		now, err := e.Find(ctx, s.ID.String())
		if err != nil {
			return err
		}
		a.PrintJSON(wire.Labels{ID: now.ID.String(), Labels: append([]string{}, show.LabelsOf(now)...)})
	case removed:
		show.Say(a.Out, "%s has the label %q no more\n", s.ID.Short(), show.OneLine(text))
	default:
		show.Say(a.Out, "%s has the label %q: no prune drops it\n", s.ID.Short(), show.OneLine(text))
	}
	return nil
}
