package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func storesCommand(a *app) *cobra.Command {
	var remove string
	var yes bool
	c := verb("stores", "List the stores of directories without git, and remove those that nobody needs", nothing, func(c *cobra.Command, _ []string) error {
		s, list, err := engine.Stores(c.Context(), os.Getenv)
		if err != nil {
			return err
		}
		if e, err := engine.Open(c.Context(), a.dir, &engine.Options{Force: a.force, NoGit: a.noGit}); err == nil { // it needs none
			a.printBisect(c.Context(), e)
			_ = e.Close()
		}
		if c.Flags().Changed("remove") {
			return a.removeStore(c.Context(), s, list, remove, yes)
		}
		if a.json {
			a.printJSON(wire.NewStores(list))
			return nil
		}
		a.printStores(list)
		return nil
	})
	c.Flags().StringVar(&remove, "remove", "", "remove the store with this `id`, or of this directory, and all its history; --force if something is at the directory's path")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return a.jsonFlag(c)
}

func (a *app) printStores(list []engine.Store) {
	for _, st := range list {
		say(a.out, "%s\n", st.ID)
		if st.Directory != "" {
			say(a.out, "  directory  %s (%s)\n", quote(engine.Path(st.Directory)), stateOf[st.State])
		} else {
			fmt.Fprintln(a.out, "  directory  not known")
		}
		say(a.out, "  size       %s\n", size(st.Bytes))
		switch {
		case st.Err != nil:
			say(a.out, "  damaged    %v\n", st.Err)
		case st.Snapshots == 0:
			fmt.Fprintln(a.out, "  snapshots  none")
		default:
			say(a.out, "  snapshots  %d, the last %s\n", st.Snapshots, age(time.Since(st.Last)))
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "no stores: they are made where a directory without git is recorded")
	}
}

// stateOf says what became of a store's directory.
var stateOf = map[string]string{
	engine.Stands:  "it is there",
	engine.Gone:    "it is not there any more",
	engine.Another: "another directory is there now",
	engine.Passed:  "it is a git repository now, and has this history too",
	engine.Unknown: "it cannot be looked at",
}

// removeStore removes a store, after asking where a person is there to ask.
func (a *app) removeStore(ctx context.Context, s *engine.Shelf, list []engine.Store, name string, yes bool) error {
	st, err := engine.ChooseStore(list, name)
	if err != nil {
		return err
	}
	if err := st.Removable(a.force); err != nil {
		return err
	}
	if !yes {
		if !a.interactive() || a.json {
			return usagef("this removes the history of %s for good: say --yes", quote(engine.Path(st.Directory)))
		}
		a.printStores([]engine.Store{st})
		fmt.Fprint(a.err, "Remove this history for good? [y/N] ")
		if err := a.saysYes(ctx); err != nil {
			return err
		}
	}
	if err := s.Remove(st, a.force); err != nil {
		return err
	}
	if a.json {
		a.printJSON(map[string]any{"removed": wire.NewStores([]engine.Store{st}).Stores[0]})
	} else {
		say(a.out, "removed %s, gave back %s\n", st.ID, size(st.Bytes))
	}
	return nil
}

// errNotAnswered ends a command that was interrupted before somebody had answered.
var errNotAnswered = errors.New("interrupted at the question; nothing was changed")

// saysYes waits for an answer on the terminal. What is not yes is [errDeclined].
func (a *app) saysYes(ctx context.Context) error {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err) // the question has no end of line
		return errNotAnswered
	case line := <-answer:
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(a.err) // nobody has ended the line
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errDeclined
	}
}
