package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func pinCommand(a *app) *cobra.Command {
	var remove bool
	c := a.InWorktree("pin [ID NAME]", "Give a snapshot a name, so that no prune drops it; without arguments, list the names", pinArgs(&remove), func(ctx context.Context, e *engine.Engine, args []string) error {
		var err error
		switch {
		case remove:
			err = a.unpin(ctx, e, args[0])
		case len(args) == 2:
			err = a.pin(ctx, e, args[0], args[1])
		}
		if err != nil || len(args) > 0 && !a.JSON {
			return err
		}
		pins, err := e.Pins(ctx)
		if err != nil {
			return err
		}
		if a.JSON {
			a.PrintJSON(wire.Pins{Pins: pins})
			return nil
		}
		if len(pins) == 0 {
			fmt.Fprintln(a.Err, "no snapshot is pinned; \"rewind pin ID NAME\" pins one")
		}
		for _, name := range slices.Sorted(maps.Keys(pins)) {
			show.Say(a.Out, "%s  %s\n", pins[name].Short(), show.OneLine(name))
		}
		return nil
	})
	c.Flags().BoolVar(&remove, "remove", false, "take a name away: pin --remove NAME")
	return a.JSONFlag(c)
}

// pin names a snapshot, and tells which one loses the name by that.
func (a *app) pin(ctx context.Context, e *engine.Engine, id, name string) error {
	s, err := e.Find(ctx, id)
	if err != nil {
		return err
	}
	pins, err := e.Pins(ctx)
	if err != nil {
		return err
	}
	other, err := e.Find(ctx, name)
	if digits := strings.Trim(name, "0123456789abcdef") == ""; digits && pins[name].IsZero() && (errors.Is(err, engine.ErrAmbiguous) || err == nil && other.ID != s.ID) {
		return exit.Usage(fmt.Errorf("%w: a pin cannot be called %q: the id of another snapshot begins with it", engine.ErrRefused, name))
	}
	if err := e.Pin(ctx, name, s.ID); err != nil {
		if errors.Is(err, engine.ErrRefused) && s.Source == nil { // it is ours, so that the name is at fault
			return exit.Usage(err)
		}
		return err
	}
	if !a.JSON {
		show.Say(a.Out, "%s is pinned as %q: no prune drops it\n", s.ID.Short(), name)
	}
	if before := pins[name]; !before.IsZero() && before != s.ID {
		show.Say(a.Err, "rewind: note: the pin %q was at %s and is at %s now; \"rewind pin %s NAME\" pins the old one again\n", name, before.Short(), s.ID.Short(), before.Short())
	}
	return nil
}

// unpin takes a name away that a snapshot has.
func (a *app) unpin(ctx context.Context, e *engine.Engine, name string) error {
	pins, err := e.Pins(ctx)
	if err != nil {
		return err
	}
	if pins[name].IsZero() {
		return fmt.Errorf("%w: no pin is called %q; \"rewind pin\" lists them", engine.ErrNoSnapshot, name)
	}
	if err := e.Pin(ctx, name, oid.ID{}); err != nil || a.JSON {
		return err
	}
	show.Say(a.Out, "%s is not pinned by %q any more\n", pins[name].Short(), name)
	return nil
}

// pinArgs checks the arguments, which depend on --remove.
func pinArgs(remove *bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if *remove && len(args) != 1 {
			return fmt.Errorf("--remove takes the NAME alone, as in: rewind pin --remove NAME")
		}
		if !*remove && len(args) != 0 && len(args) != 2 {
			return fmt.Errorf("it takes an ID and a NAME, as in: rewind pin @ before-the-merge; or nothing, which lists them")
		}
		return nil
	}
}
