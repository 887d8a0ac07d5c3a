package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

func syncCommand(a *app) *cobra.Command {
	return a.InWorktree("sync", "Bring into git what is not there yet, and finish what a crash left", cli.Nothing, func(ctx context.Context, e *engine.Engine, _ []string) error {
		r, err := e.Sync(ctx)
		if err == nil {
			err = a.printSynced(ctx, e, r)
		}
		if r.Unfinished != nil {
			a.Warn(r.Unfinished)
			return errors.Join(err, exit.ErrPartial)
		}
		return cli.Also(r.Recovered, err)
	})
}

// printSynced says what git has now.
func (a *app) printSynced(ctx context.Context, e *engine.Engine, r *engine.Housekeeping) error {
	st, err := e.Status(ctx)
	switch {
	case err != nil:
		return err
	case !st.Git:
		fmt.Fprintln(a.Out, "this directory has no git: there is nothing to bring into it")
		return nil
	case r.Objects > 0:
		show.Say(a.Out, "%s put right in git; ", show.Count(int(r.Objects), "object"))
	}
	if have := st.Total - st.Pending - len(st.Lost); have < st.Total {
		show.Say(a.Out, "git has %d of %s (\"rewind status\" names the others)\n", have, show.Count(st.Total, "snapshot"))
		return nil
	}
	show.Say(a.Out, "git has all that it should have of %s\n", show.Count(st.Total, "snapshot"))
	return nil
}
