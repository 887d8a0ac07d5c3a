package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"znkr.io/diff/textdiff"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/setup"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// A settingUp is one call of setup.
type settingUp struct {
	app              *app
	remove, yes, dry bool
}

func setupCommand(a *app) *cobra.Command {
	u := settingUp{app: a}
	c := cli.Command("setup [AGENT...]", "Make the agents that are here call rewind, or take that back", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		return u.run(c.Context(), args)
	})
	f := c.Flags()
	f.BoolVar(&u.remove, "remove", false, "take back what was set up, exactly")
	f.BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&u.dry, "dry-run", false, "show what would change, and change nothing")
	return c
}

func (u *settingUp) run(ctx context.Context, names []string) error {
	s := theSetup()
	if len(names) == 0 {
		if names = s.Found(); len(names) == 0 {
			return fmt.Errorf("none of these agents is here: %s", strings.Join(setup.Names(), ", "))
		}
	}
	for i, name := range names {
		if names[i] = cli.AgentName(name); !slices.Contains(setup.Names(), names[i]) {
			return exit.Usagef("setup: %q is no agent that can be set up: %s", name, strings.Join(setup.Names(), ", "))
		}
	}
	var plans []*setup.Plan
	var failed error
	changes := 0
	for _, name := range names {
		find := s.Plan
		if u.remove {
			find = s.PlanRemoval
		}
		p, err := find(name)
		if err != nil && len(names) == 1 {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err != nil { // the others are set up all the same
			show.Say(u.app.Err, "rewind: %s: %v\n", name, err)
			failed = exit.ErrPartial
			continue
		}
		u.show(p)
		changes += len(p.Changes)
		plans = append(plans, p)
	}
	if changes == 0 || u.dry {
		return failed
	}
	if ok, err := u.ask(ctx, changes); err != nil || !ok {
		return err
	}
	for _, p := range plans {
		if err := p.Apply(); err != nil {
			show.Say(u.app.Err, "rewind: %s: %v\n", p.Agent, err)
			failed = exit.ErrPartial
		}
	}
	return failed
}

// show prints what a plan changes, line by line.
func (u *settingUp) show(p *setup.Plan) {
	if len(p.Changes) == 0 {
		show.Say(u.app.Out, "%s: nothing to do\n", p.Agent)
	}
	for _, c := range p.Changes {
		switch {
		case c.Before == nil:
			show.Say(u.app.Out, "%s: makes %s (%s)\n", p.Agent, c.Path, show.Size(int64(len(c.After))))
		case c.After == nil:
			show.Say(u.app.Out, "%s: removes %s\n", p.Agent, c.Path)
		default:
			show.Say(u.app.Out, "%s: changes %s\n", p.Agent, c.Path)
			for line := range strings.Lines(string(textdiff.Unified(c.Before, c.After))) {
				show.Say(u.app.Out, "  %s\n", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	for _, note := range p.Notes {
		show.Say(u.app.Out, "%s: note: %s\n", p.Agent, note)
	}
}

func (u *settingUp) ask(ctx context.Context, changes int) (bool, error) {
	if u.yes {
		return true, nil
	}
	if !u.app.Interactive() {
		return false, exit.Usagef("this changes files: say --yes, or --dry-run to see what it would do")
	}
	show.Say(u.app.Err, "Change %s? [y/N] ", show.Count(changes, "file"))
	err := u.app.SaysYes(ctx)
	if errors.Is(err, cli.ErrDeclined) {
		fmt.Fprintln(u.app.Err, "nothing was changed")
		return false, nil
	}
	return err == nil, err
}

// asCalled is how a shell calls this program: by its name, if that leads here.
func asCalled() string {
	self, err := os.Executable()
	if err != nil {
		return "rewind"
	}
	if found, err := exec.LookPath("rewind"); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return "rewind"
		}
	}
	return `"` + filepath.ToSlash(self) + `"`
}
