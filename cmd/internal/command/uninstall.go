package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/setup"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
)

// An uninstalled is what --json prints of uninstall.
type uninstalled struct {
	Root      wire.Path   `json:"root"`
	DryRun    bool        `json:"dry_run,omitempty"`
	Folders   []wire.Path `json:"folders"`            // that go, with all that is in them
	Bytes     int64       `json:"bytes"`              // in them
	Snapshots int         `json:"snapshots"`          // that go
	Worktrees []wire.Path `json:"worktrees"`          // whose history goes
	Ref       string      `json:"ref,omitempty"`      // that goes
	Others    int         `json:"others,omitempty"`   // snapshots of another program that the ref goes on keeping
	Settings  []string    `json:"settings,omitempty"` // of the repository's configuration
	Hooks     []wire.Path `json:"hooks,omitempty"`    // files in the directory from which what setup put there goes
	Stays     []string    `json:"stays,omitempty"`    // what is left, in a sentence each
}

// An uninstalling is one call of uninstall.
type uninstalling struct {
	*app
	yes, dry bool
	hooks    []*setup.Plan // of agents whose settings are in the directory
}

func uninstallCommand(a *app) *cobra.Command {
	u := uninstalling{app: a}
	c := cli.Command("uninstall", "Take away all that is rewind's in this repository or directory, with its history", cli.Nothing, u.run)
	f := c.Flags()
	f.BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&u.dry, "dry-run", false, "show what would go, and take nothing away")
	return a.JSONFlag(c)
}

func (u *uninstalling) run(c *cobra.Command, _ []string) error {
	ctx := c.Context()
	e, err := engine.Open(ctx, u.Dir, &engine.Options{Force: true, NoGit: u.NoGit, NoStore: true})
	if err != nil {
		return err
	}
	u.Engine = e
	l, err := e.Uninstall(ctx, u.Force)
	if err != nil {
		return err
	}
	out := uninstalled{
		Root: wire.NewPath(engine.Path(l.Root)), DryRun: u.dry, Folders: paths(l.Folders), Bytes: l.Bytes, Snapshots: l.Snapshots, Worktrees: paths(l.Roots),
		Ref: l.Ref, Others: l.Others, Settings: l.Settings, Stays: l.Stays,
	}
	for _, st := range l.Before {
		out.Folders, out.Bytes, out.Snapshots = append(out.Folders, paths([]string{st.Folder})...), out.Bytes+st.Bytes, out.Snapshots+st.Snapshots
	}
	if err := u.unused(ctx, append([]string{l.Root}, l.Roots...), &out); err != nil {
		return err
	}
	u.findHooks(l.Root, &out)
	nothing := l.Nothing() && len(u.hooks) == 0
	if !u.JSON {
		u.show(&out, nothing)
	}
	if !u.dry && !nothing {
		if err := u.agree(ctx, l.Root); err != nil {
			return err
		}
		for _, p := range u.hooks { // or else the agent may record again meanwhile
			if err := p.Apply(); err != nil {
				return err
			}
		}
		if err := e.Remotes().StopFollowing(ctx); err != nil {
			return err
		}
		if err := l.Take(ctx); err != nil {
			return err
		}
	}
	if u.JSON {
		u.PrintJSON(out)
	}
	return nil
}

func paths(list []string) []wire.Path {
	out := []wire.Path{}
	for _, p := range list {
		out = append(out, wire.NewPath(engine.Path(p)))
	}
	return out
}

// unused makes sure that nobody watches, and that no fork has work of which this is the history.
func (u *uninstalling) unused(ctx context.Context, roots []string, out *uninstalled) error {
	for _, root := range roots {
		if w := record.State(ctx, &cli.App{Stdio: u.Stdio, Dir: root, NoGit: u.NoGit}); w != nil {
			return fmt.Errorf("%w: %s watches %s: end it first (kill %d)", engine.ErrRefused, w.Process(), root, w.PID)
		}
	}
	forks, err := fork.List(ctx, u.Engine, &engine.Options{Force: true, NoGit: u.NoGit})
	if err != nil && !u.Force {
		return err
	}
	for _, f := range forks {
		switch {
		case f.State != fork.Stands && f.State != fork.Unfinished:
		case u.Force || f.State == fork.Stands && f.Changed == 0 && f.Err == nil:
			out.Stays = append(out.Stays, "the fork "+f.Dir+", as a directory of its own")
		default:
			return fmt.Errorf("%w: the fork %s has work that is not here: \"rewind adopt %[2]s\" brings it, \"rewind forks --remove %[2]s\" removes it (--force leaves it, without history)", engine.ErrRefused, f.Dir)
		}
	}
	return nil
}

// findHooks finds what setup has put into the directory, and the agents that go on calling rewind.
func (u *uninstalling) findHooks(root string, out *uninstalled) {
	s := theSetup()
	for _, name := range setup.Names() {
		p, err := s.PlanRemoval(name)
		inside := err == nil && len(p.Changes) > 0
		for i := 0; inside && i < len(p.Changes); i++ {
			real, bad := filepath.EvalSymlinks(p.Changes[i].Path)
			rel, worse := filepath.Rel(root, real)
			inside = bad == nil && worse == nil && filepath.IsLocal(rel)
		}
		switch {
		case inside:
			u.hooks = append(u.hooks, p)
			for _, c := range p.Changes {
				out.Hooks = append(out.Hooks, wire.NewPath(engine.Path(c.Path)))
			}
		case s.Calls(name):
			out.Stays = append(out.Stays, name+" calls rewind in every directory, and will record here again: \"rewind setup --remove "+name+"\" ends that (of a plugin, the agent's own command)")
		}
	}
}

func (u *uninstalling) agree(ctx context.Context, root string) error {
	if u.yes {
		return nil
	}
	if u.JSON || !u.Interactive() {
		return exit.Usagef("this takes the history of %s away for good: say --yes, or --dry-run to see what would go", show.Quote(engine.Path(root)))
	}
	fmt.Fprint(u.Err, "Take all this away for good? [y/N] ")
	return u.SaysYes(ctx)
}

func (u *uninstalling) show(out *uninstalled, nothing bool) {
	word := "goes"
	line := func(format string, args ...any) {
		show.Say(u.Out, "%-6s "+format+"\n", append([]any{word}, args...)...)
		word = ""
	}
	if nothing {
		show.Say(u.Out, "nothing of rewind's is in %s\n", quoted(out.Root))
	} else {
		line("%s of %s, %s", show.Count(out.Snapshots, "snapshot"), quoted(out.Root), show.Size(out.Bytes))
	}
	for _, w := range out.Worktrees {
		if w.Path != out.Root.Path {
			line("also the history of the worktree %s", quoted(w))
		}
	}
	for _, f := range out.Folders {
		line("%s", quoted(f))
	}
	switch {
	case out.Others > 0:
		line("all in %s but %s of another program", out.Ref, show.Count(out.Others, "snapshot"))
	case out.Ref != "":
		line("%s; what it kept goes with git's next collection", out.Ref)
	}
	if len(out.Settings) > 0 {
		line("the repository's settings %s", strings.Join(out.Settings, ", "))
	}
	for _, h := range out.Hooks {
		line("what rewind setup put into %s", quoted(h))
	}
	word = "stays"
	if !nothing {
		line("every file of the directory, as it is now")
	}
	for _, s := range out.Stays {
		line("%s", s)
	}
}

func quoted(p wire.Path) string {
	if p.PathB64 != nil {
		return show.Quote(engine.Path(p.PathB64))
	}
	return show.Quote(engine.Path(p.Path))
}
