// Package remote has the commands that keep a history elsewhere: in a repository that restic reads too.
package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
)

// An app has the methods of this package.
type app struct{ *cli.App }

// Commands makes the commands.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	return []*cobra.Command{remoteCommand(a), pushCommand(a), fetchCommand(a), resumeCommand(a)}
}

func remoteCommand(a *app) *cobra.Command {
	var c *cobra.Command
	c = cli.Command("remote", "List the repositories elsewhere that this history is kept in, add, check and forget them", func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var verbs []string
		for _, sub := range c.Commands() {
			verbs = append(verbs, sub.Name())
		}
		return fmt.Errorf("%q is none of %s", args[0], strings.Join(verbs, ", "))
	}, func(c *cobra.Command, _ []string) error {
		return a.list(c)
	})
	yes := false
	sub := func(use, short string, args cobra.PositionalArgs, f func(*cobra.Command, []string) error) {
		c.AddCommand(a.JSONFlag(cli.Command(use, short, args, f)))
	}
	add := a.JSONFlag(cli.Command("add NAME URL", "Add a repository of restic, made if there is none, or one of git", cli.Takes(2, 2, "rewind remote add cloud s3://my-bucket/history"), func(c *cobra.Command, args []string) error {
		return a.add(c, args, yes)
	}))
	add.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask whether others may read what goes to a git repository")
	add.Long = cli.Longer(add)
	c.AddCommand(add)
	sub("list", "List the remotes, and how far each is behind; nobody is asked", cli.Nothing, func(c *cobra.Command, _ []string) error { return a.list(c) })
	sub("remove NAME", "Forget a remote; what is there stays", cli.Takes(1, 1, "rewind remote remove disk"), a.remove)
	sub("status [NAME]", "Say how far a remote is behind", cli.Takes(0, 1, "rewind remote status disk"), a.status)
	sub("verify [NAME]", "Read everything in a remote, and say what is damaged", cli.Takes(0, 1, "rewind remote verify disk"), a.verify)
	sub("unlock [NAME]", "Remove the locks of a remote that nobody holds any more: half an hour old, or of a process of this machine that is gone", cli.Takes(0, 1, "rewind remote unlock disk"), a.unlock)
	c.AddCommand(pruneCommand(a))
	return a.JSONFlag(c)
}

func first(args []string) string { return strings.Join(args, "") }

func (a *app) add(c *cobra.Command, args []string, yes bool) error {
	ctx, e, err := a.Open(c)
	if err != nil {
		return err
	}
	r, m := e.Remotes(), away.Remote{Name: args[0]}
	if m.URL, m.Git, err = r.Resolve(args[1], a.Absolute); err != nil {
		return exit.Usage(err)
	}
	if m.Git {
		return a.addGit(ctx, r, m, yes)
	}
	if err := r.Check(ctx, m); err != nil {
		return exit.Usage(err)
	}
	there, err := r.Exists(ctx, m)
	if err != nil {
		return err
	}
	password, own, err := a.password(ctx, m.URL)
	if errors.Is(err, errNoPassword) && !there {
		password, err = newPassword(ctx, own)
	}
	if err == nil && !there {
		if own != "" { // before anything is sealed with it
			a.tellOfPassword(own)
		}
		err = r.Make(ctx, m, password, own != "")
	}
	if err == nil {
		var s *away.Session
		if s, err = r.Open(ctx, m, password); err == nil {
			err = r.Add(ctx, m, s)
		}
	}
	if err == nil {
		err = cli.Vouch(m.URL)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printAdded(ctx, r, m.Name, own)
	}
	word := "added"
	if !there {
		word = "made and added"
	}
	show.Say(a.Out, "%s %s: %s\n", word, m.Name, m.URL)
	return nil
}

func (a *app) list(c *cobra.Command) error {
	ctx, e, err := a.Open(c)
	if err != nil {
		return err
	}
	all, err := e.Remotes().List()
	if err != nil {
		return err
	}
	return a.tell(ctx, e, all)
}

// printAdded prints a remote that was added, and where its password is.
func (a *app) printAdded(ctx context.Context, r *away.Remotes, name, password string) error {
	m, err := r.Find(name)
	if err != nil {
		return err
	}
	told, err := toldOf(ctx, r, m)
	if err == nil {
		a.PrintJSON(remotesTold{Remotes: []remoteTold{told}, Password: password})
	}
	return err
}

// toldOf tells how far a remote is behind.
func toldOf(ctx context.Context, r *away.Remotes, m away.Remote) (remoteTold, error) {
	b, err := r.Behind(ctx, m)
	if err != nil {
		return remoteTold{}, err
	}
	return remoteTold{Name: m.Name, URL: m.URL, Git: m.Git, There: b.There, Waiting: b.Waiting, Forgotten: b.Forgotten}, nil
}

// tell prints remotes, and how far they are behind.
func (a *app) tell(ctx context.Context, e *engine.Engine, all []away.Remote) error {
	p, err := PushingOf(ctx, e)
	if err != nil {
		return err
	}
	out := remotesTold{Remotes: []remoteTold{}, AutoPush: p}
	for _, m := range all {
		b, err := toldOf(ctx, e.Remotes(), m)
		if err != nil {
			return err
		}
		out.Remotes = append(out.Remotes, b)
		if a.JSON {
			continue
		}
		text := show.Count(b.There, "snapshot") + " there"
		if b.Waiting > 0 {
			text += fmt.Sprintf(", %d to push", b.Waiting)
		}
		if b.Forgotten > 0 {
			text += fmt.Sprintf(", %d removed there", b.Forgotten)
		}
		if p != nil && p.Remote == m.Name {
			text += "; pushed by itself " + p.Sentence()
		}
		show.Say(a.Out, "%-12s %s: %s\n", m.Name, m.URL, text)
	}
	if a.JSON {
		a.PrintJSON(out)
	} else if len(all) == 0 {
		show.Say(a.Out, "no remotes: \"rewind remote add NAME URL\" adds one\n")
	}
	return nil
}

func (a *app) remove(c *cobra.Command, args []string) error {
	ctx, e, err := a.Open(c)
	if err != nil {
		return err
	}
	m, err := e.Remotes().Find(args[0])
	if f, _, bad := e.Remotes().Following(); err == nil && bad == nil && f != nil && f.Remote == args[0] {
		err = e.Remotes().StopFollowing(ctx) // first: it may push for hours, and Remove waits for that
	}
	var told remoteTold
	if err == nil && a.JSON {
		told, err = toldOf(ctx, e.Remotes(), m) // afterwards nothing is known of it
	}
	if err == nil {
		err = e.Remotes().Remove(ctx, args[0])
	}
	if err != nil {
		return err
	}
	if a.JSON {
		a.PrintJSON(remotesTold{Remotes: []remoteTold{told}})
		return nil
	}
	show.Say(a.Out, "forgot %s; what is in %s stays there\n", m.Name, m.URL)
	return nil
}

func (a *app) status(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return a.list(c)
	}
	ctx, e, err := a.Open(c)
	if err != nil {
		return err
	}
	m, err := e.Remotes().Find(args[0])
	if err != nil {
		return err
	}
	return a.tell(ctx, e, []away.Remote{m})
}

// named returns a remote and its password.
func (a *app) named(ctx context.Context, e *engine.Engine, name string) (away.Remote, string, error) {
	m, err := e.Remotes().Find(name)
	if err != nil {
		return m, "", err
	}
	password, err := a.passwordOf(ctx, m)
	return m, password, err
}

// passwordOf returns the password of a remote; one of git has none.
func (a *app) passwordOf(ctx context.Context, m away.Remote) (string, error) {
	if m.Git {
		return "", nil
	}
	password, _, err := a.password(ctx, m.URL)
	return password, err
}

func pushCommand(a *app) *cobra.Command {
	var follow, unasked bool
	c := a.InWorktree("push [NAME]", "Bring the snapshots to a remote that are not there yet; rewind.pushLimit bounds what is sent in a second", cli.Takes(0, 1, "rewind push disk"), func(ctx context.Context, e *engine.Engine, args []string) error {
		switch {
		case follow && a.JSON:
			return exit.Usagef("push: --follow has no end that --json could tell of")
		case follow || unasked:
			return a.follow(ctx, e, first(args), unasked)
		}
		return a.push(ctx, e, first(args))
	})
	f := c.Flags()
	f.BoolVar(&follow, "follow", false, "go on, and push what is recorded from now on, some seconds later; rewind.autoPush begins this by itself")
	f.BoolVar(&unasked, cli.Unasked, false, "as --follow, for rewind.autoPush: end when nothing was to be done for long, or that names another remote")
	_ = f.MarkHidden(cli.Unasked)
	return a.JSONFlag(c)
}

func (a *app) push(ctx context.Context, e *engine.Engine, name string) error {
	m, password, err := a.named(ctx, e, name)
	if err != nil {
		return err
	}
	if m.Git && !cli.Vouched(m.URL) {
		return errNotAgreed(m)
	}
	s, err := e.Remotes().OpenToPush(ctx, m, password)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := e.Remotes().Push(ctx, s)
	if err != nil {
		return err
	}
	if err := cli.Vouch(m.URL); err != nil {
		return err
	}
	a.Progress.Clear()
	a.Note("left", r.Left)
	if a.JSON {
		a.PrintJSON(pushedTold{Remote: m.Name, Snapshots: r.Snapshots, There: r.There, Forgotten: r.Forgotten, Contents: r.Contents, Bytes: r.Bytes, Left: wire.Notes(r.Left)})
	} else {
		was := "were there"
		if !r.Looked {
			was = "were brought before"
		}
		show.Say(a.Out, "pushed %s to %s: %s from %s; %d %s\n", show.Count(r.Snapshots, "snapshot"), m.Name, show.Size(r.Bytes), show.Count(r.Contents, "new content"), r.There, was)
	}
	if r.Forgotten > 0 && !a.JSON {
		show.Say(a.Out, "somebody has removed %s there, which stay so (\"rewind remote remove %s\", and add it again: then they are pushed)\n", show.Count(r.Forgotten, "snapshot"), m.Name)
	}
	if len(r.Left) > 0 {
		return exit.ErrPartial
	}
	return nil
}

func fetchCommand(a *app) *cobra.Command {
	c := a.InWorktree("fetch [NAME]", "Bring the snapshots of this history from a remote that are not here, as of another machine", cli.Takes(0, 1, "rewind fetch disk"), func(ctx context.Context, e *engine.Engine, args []string) error {
		m, password, err := a.named(ctx, e, first(args))
		if err != nil {
			return err
		}
		s, err := e.Remotes().Open(ctx, m, password)
		if err != nil {
			return err
		}
		r, err := e.Remotes().Fetch(ctx, s)
		if err != nil {
			return err
		}
		a.Progress.Clear()
		a.Note("left", r.Left)
		a.Warn(r.Bridge)
		if a.JSON {
			out := fetchedTold{Remote: m.Name, Snapshots: []string{}, There: r.There, AtHome: r.AtHome, Others: r.Others, Left: wire.Notes(r.Left)}
			for _, s := range r.Snapshots {
				out.Snapshots = append(out.Snapshots, s.ID.String())
			}
			a.PrintJSON(out)
		} else {
			show.Say(a.Out, "fetched %s from %s; %d were here\n", show.Count(len(r.Snapshots), "snapshot"), m.Name, r.There)
			if r.AtHome > 0 {
				show.Say(a.Out, "%s without files that stay on the machine that recorded them (\"rewind show ID\" names them)\n", show.Count(r.AtHome, "snapshot"))
			}
			if r.Others > 0 {
				show.Say(a.Out, "other histories there: %d (\"rewind list --remote %[2]s\" lists them, \"rewind resume %[2]s:ID DIR\" goes on with one)\n", r.Others, m.Name)
			}
		}
		if len(r.Left) > 0 {
			return exit.ErrPartial
		}
		return nil
	})
	return a.JSONFlag(c)
}

// List prints the snapshots of a remote.
func List(c *cobra.Command, in *cli.App, from string) error {
	a, ctx := &app{in}, c.Context()
	open := a.Engine.Remotes().Open
	m, err := a.Engine.Remotes().Find(from)
	if err != nil && strings.ContainsAny(from, `:/\`) {
		open = a.Engine.Remotes().OpenAny
		m, err = a.meant(c, from)
	}
	if err != nil {
		return err
	}
	password, err := a.passwordOf(ctx, m)
	if err != nil {
		return err
	}
	s, err := open(ctx, m, password)
	if err != nil {
		return err
	}
	var bad []error
	list, err := s.Snapshots(ctx, func(err error) { bad = append(bad, err) })
	if err != nil {
		return err
	}
	a.Progress.Clear()
	if a.JSON {
		a.PrintJSON(listTold{Remote: m.Name, Snapshots: tellDistant(list)})
		return errors.Join(bad...)
	}
	shown := slices.DeleteFunc(slices.Clone(list), func(d *away.Distant) bool { return d.Undo })
	a.printDistant(shown)
	if n := len(list) - len(shown); n > 0 {
		show.Say(a.Out, "and %s that restores took before they wrote (--json has them)\n", show.Count(n, "snapshot"))
	}
	if len(list) == 0 {
		show.Say(a.Out, "no snapshots of rewind in %s\n", m.Name)
	}
	return errors.Join(bad...)
}

func (a *app) printDistant(list []*away.Distant) {
	for _, d := range list {
		what := strings.Join(append(d.Said("label:"), d.Said("prompt:")...), " · ")
		show.Say(a.Out, "%s  %s  %s:%s  %s\n", d.Of.Short(), d.Time.Local().Format(time.DateTime), show.Shorten(d.Hostname, 64), show.Shorten(d.Paths[0], 200), show.Shorten(what, 200))
	}
}
