package history

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func storesCommand(a *app) *cobra.Command {
	var remove string
	var yes bool
	c := cli.Command("stores", "List the stores of directories without git, and remove those that nobody needs", cli.Nothing, func(c *cobra.Command, _ []string) error {
		if e, err := engine.Open(c.Context(), a.Dir, &engine.Options{Force: a.Force, NoGit: a.NoGit}); err == nil { // it needs none; the store of one that was renamed follows it
			a.PrintBisect(c.Context(), e)
			_ = e.Close()
		}
		list, err := engine.Stores(c.Context(), os.Getenv)
		if err != nil {
			return err
		}
		if c.Flags().Changed("remove") {
			return a.removeStore(c.Context(), list, remove, yes)
		}
		if a.JSON {
			a.PrintJSON(wire.NewStores(list))
			return nil
		}
		a.printStores(list)
		return nil
	})
	c.Flags().StringVar(&remove, "remove", "", "remove the store with this `id`, or of this directory, and all its history; --force if something is at the directory's path")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return a.JSONFlag(c)
}

func (a *app) printStores(list []engine.Store) {
	for _, st := range list {
		show.Say(a.Out, "%s\n", st.ID)
		if st.Directory != "" {
			show.Say(a.Out, "  directory  %s (%s)\n", show.Quote(engine.Path(st.Directory)), stateOf[st.State])
		} else {
			fmt.Fprintln(a.Out, "  directory  not known")
		}
		show.Say(a.Out, "  size       %s\n", show.Size(st.Bytes))
		switch {
		case st.Err != nil:
			show.Say(a.Out, "  damaged    %v\n", st.Err)
		case st.Snapshots == 0:
			fmt.Fprintln(a.Out, "  snapshots  none")
		default:
			show.Say(a.Out, "  snapshots  %d, the last %s\n", st.Snapshots, show.Age(time.Since(st.Last)))
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Out, "no stores: they are made where a directory without git is recorded")
	}
}

// stateOf says what became of a store's directory.
var stateOf = map[string]string{
	"stands":  "it is there",
	"gone":    "it is not there any more",
	"another": "another directory is there now",
	"passed":  "it is a git repository now, and has this history too",
	"unknown": "it cannot be looked at",
}

// chooseStore returns the store that a name or a directory means.
func chooseStore(list []engine.Store, name string) (engine.Store, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return engine.Store{}, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	var found []engine.Store
	for _, st := range list {
		if st.ID == name {
			return st, nil
		}
		if st.Directory != "" && (st.Directory == dir || st.Directory == real) {
			found = append(found, st)
		}
	}
	switch len(found) {
	case 0:
		return engine.Store{}, fmt.Errorf("%w: %q is neither an id nor the directory of one", exit.ErrNoStore, name)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, st := range found {
		ids = append(ids, st.ID)
	}
	return engine.Store{}, fmt.Errorf("%w: %s has more than one: %s", exit.ErrNoStore, name, strings.Join(ids, ", "))
}

// removeStore removes a store, after asking where a person is there to ask.
func (a *app) removeStore(ctx context.Context, list []engine.Store, name string, yes bool) error {
	st, err := chooseStore(list, name)
	if err != nil {
		return err
	}
	if err := st.Removable(a.Force); err != nil {
		return err
	}
	if !yes {
		if !a.Interactive() || a.JSON {
			return exit.Usagef("this removes the history of %s for good: say --yes", show.Quote(engine.Path(st.Directory)))
		}
		a.printStores([]engine.Store{st})
		fmt.Fprint(a.Err, "Remove this history for good? [y/N] ")
		if err := a.SaysYes(ctx); err != nil {
			return err
		}
	}
	if err := st.Remove(a.Force); err != nil {
		return err
	}
	if a.JSON {
		a.PrintJSON(wire.Stores{Removed: &wire.NewStores([]engine.Store{st}).Stores[0]})
	} else {
		show.Say(a.Out, "removed %s, gave back %s\n", st.ID, show.Size(st.Bytes))
	}
	return nil
}
