package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"znkr.io/diff/textdiff"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/setup"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// A settingUp is one call of setup.
type settingUp struct {
	app                     *app
	remove, yes, dry, watch bool
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
	f.BoolVar(&u.watch, "watch", false, fmt.Sprintf("also watch worktrees of more than %d files, from the first snapshot on (Linux)", record.LargeFrom))
	return c
}

// canWatch says that a command finds a process that watches.
const canWatch = runtime.GOOS == "linux"

func (u *settingUp) run(ctx context.Context, names []string) error {
	if u.watch && !u.remove && !canWatch {
		return exit.Usagef("setup: --watch is for Linux: on this system a command does not find a process that watches")
	}
	s := theSetup()
	whole := len(names) == 0
	if whole {
		names = s.Found()
	}
	find, watch := s.Plan, s.PlanWatch
	if u.remove {
		find, watch = s.PlanRemoval, s.PlanWatchRemoval
	}
	var all []planning
	for _, name := range names {
		if name = cli.AgentName(name); !slices.Contains(setup.Names(), name) {
			return exit.Usagef("setup: %q is no agent that can be set up: %s", name, strings.Join(setup.Names(), ", "))
		}
		all = append(all, planning{name, func() (*setup.Plan, error) { return find(name) }})
	}
	if u.watch || u.remove && whole && canWatch {
		all = append(all, planning{setup.Watching, watch})
	}
	if len(all) == 0 {
		return errNoAgent()
	}
	plans, failed := u.plan(all)
	if failed != nil && len(all) == 1 {
		return failed
	}
	changes := 0
	if u.remove && !u.watch && len(names) == 0 && len(plans[0].Changes) == 0 {
		return errNoAgent()
	}
	for _, p := range plans {
		if u.watch || p.Agent != setup.Watching || len(p.Changes) > 0 { // nobody asked for it
			u.show(p)
		}
		changes += len(p.Changes)
	}
	if failed != nil { // the others are set up all the same
		failed = exit.ErrPartial
	}
	if changes == 0 || u.dry {
		return failed
	}
	if ok, err := u.ask(ctx, fmt.Sprintf("Change %s?", show.Count(changes, "file")), "nothing was changed"); err != nil || !ok {
		return err
	}
	if u.apply(plans) != nil {
		failed = exit.ErrPartial
	}
	if u.watch || u.remove {
		return failed
	}
	return cmp.Or(u.offer(ctx, s), failed)
}

func errNoAgent() error {
	return fmt.Errorf("none of these agents is here: %s", strings.Join(setup.Names(), ", "))
}

// A planning makes the plan for one agent, or for the watching.
type planning struct {
	name string
	make func() (*setup.Plan, error)
}

// plan makes the plans. Of several that fail it is told here.
func (u *settingUp) plan(all []planning) (plans []*setup.Plan, failed error) {
	for _, one := range all {
		p, err := one.make()
		if err == nil {
			plans = append(plans, p)
			continue
		}
		if failed = fmt.Errorf("%s: %w", one.name, err); len(all) > 1 {
			show.Say(u.app.Err, "rewind: %s\n", failed)
		}
	}
	return plans, failed
}

// apply carries plans out.
func (u *settingUp) apply(plans []*setup.Plan) (failed error) {
	for _, p := range plans {
		if err := p.Apply(); err != nil {
			show.Say(u.app.Err, "rewind: %s: %v\n", p.Agent, err)
			failed = exit.ErrPartial
		}
	}
	return failed
}

// offer asks whether large worktrees are to be watched, once an agent is set up.
func (u *settingUp) offer(ctx context.Context, s *setup.Setup) error {
	if !canWatch {
		return nil
	}
	p, err := s.PlanWatch()
	if err != nil || len(p.Changes) == 0 {
		return nil // what is there is the user's
	}
	if u.yes || !u.app.Interactive() {
		show.Say(u.app.Out, "rewind setup --watch has worktrees of more than %d files watched, so that a turn costs what changed\n", record.LargeFrom)
		return nil
	}
	u.show(p)
	what := fmt.Sprintf("Watch worktrees of more than %d files, so that a turn costs what changed?\nThe first snapshot in one starts a process that ends after an hour without a turn.", record.LargeFrom)
	if ok, err := u.ask(ctx, what, "nothing is watched by itself"); err != nil || !ok {
		return err
	}
	return u.apply([]*setup.Plan{p})
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

// ask asks before something is changed, and says declined after a no.
func (u *settingUp) ask(ctx context.Context, what, declined string) (bool, error) {
	if u.yes {
		return true, nil
	}
	if !u.app.Interactive() {
		return false, exit.Usagef("this changes files: say --yes, or --dry-run to see what it would do")
	}
	show.Say(u.app.Err, "%s [y/N] ", what)
	err := u.app.SaysYes(ctx)
	if errors.Is(err, cli.ErrDeclined) {
		fmt.Fprintln(u.app.Err, declined)
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
