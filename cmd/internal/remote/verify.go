package remote

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
)

// opened opens the worktree, and the remote that is meant.
func (a *app) opened(c *cobra.Command, args []string) (ctx context.Context, e *engine.Engine, m away.Remote, s *away.Session, err error) {
	var password string
	if ctx, e, err = a.Open(c); err == nil {
		m, password, err = a.named(ctx, e, first(args))
	}
	if err == nil {
		s, err = e.Remotes().Open(ctx, m, password)
	}
	return ctx, e, m, s, err
}

func (a *app) verify(c *cobra.Command, args []string) error {
	ctx, _, m, s, err := a.opened(c, args)
	if err != nil {
		return err
	}
	r, damage := s.Verify(ctx, a.Progress.Of("verify"))
	if r == nil || ctx.Err() != nil {
		return damage
	}
	a.Progress.Clear()
	if a.JSON {
		out := checkedTold{Remote: m.Name, Snapshots: r.Snapshots, Foreign: r.Foreign}
		if damage != nil {
			out.Damage = damage.Error()
		}
		a.PrintJSON(out)
	} else if damage == nil {
		show.Say(a.Out, "%s: %s, whole\n", m.Name, show.Count(r.Snapshots, "snapshot"))
	}
	return damage
}

func (a *app) unlock(c *cobra.Command, args []string) error {
	ctx, _, m, s, err := a.opened(c, args)
	if err != nil {
		return err
	}
	removed, left, err := s.Unlock(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		a.PrintJSON(unlockedTold{Remote: m.Name, Removed: removed, Left: left})
		return nil
	}
	show.Say(a.Out, "removed %s from %s; %d may be in use\n", show.Count(removed, "lock"), m.Name, left)
	return nil
}
