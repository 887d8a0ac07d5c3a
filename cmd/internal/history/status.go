package history

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/record"
	"github.com/seed-82afce7a/rewind/cmd/internal/remote"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

// changedShown is how many changes status names on the terminal.
const changedShown = 20

// printChanged says what changed since where the files stand; nil: nobody has looked.
func (a *app) printChanged(since *engine.Diff) {
	if since == nil {
		fmt.Fprintln(a.Out, "changed    not looked for here: \"rewind diff --stat\" tells what changed since")
		return
	}
	counts := map[byte]int{}
	for _, c := range since.Changes {
		counts[c.Status()]++
	}
	text := "nothing"
	for _, kind := range []struct {
		status byte
		word   string
	}{{'M', "modified"}, {'A', "added"}, {'D', "deleted"}, {'T', "of another type"}} {
		if n := counts[kind.status]; n > 0 {
			text = strings.TrimPrefix(fmt.Sprintf("%s, %d %s", text, n, kind.word), "nothing, ")
		}
	}
	show.Say(a.Out, "changed    %s\n", text)
	for _, c := range since.Changes[:min(len(since.Changes), changedShown)] {
		show.Say(a.Out, "           %c %s\n", c.Status(), show.Quote(c.Path))
	}
	if more := len(since.Changes) - changedShown; more > 0 {
		show.Say(a.Out, "           … and %s more (\"rewind diff --name-status\")\n", show.Count(more, "path"))
	}
}

func statusCommand(a *app) *cobra.Command {
	c := a.InWorktree("status", "Show the store, what was left out, and what is unfinished", cli.Nothing, func(ctx context.Context, e *engine.Engine, _ []string) error {
		asked := a.askBeside(ctx, e)
		st, err := StatusOf(ctx, a.App, e, func() *record.Watching { return asked().watcher })
		since := asked().since
		if err = cmp.Or(err, asked().err); err != nil { // not both: they say the same of a store that cannot be read
			return err
		}
		a.Progress.Clear()
		if a.JSON {
			if since != nil {
				out, err := verb.Difference(ctx, since, false)
				if err != nil {
					return err
				}
				st.Changed = out.Changes
			}
			a.PrintJSON(st)
			return nil
		}
		a.printStatus(&st.Status.Status, since)
		show.Say(a.Out, "watched    %s\n", st.Watcher.Sentence(e))
		if st.AutoPush != nil {
			show.Say(a.Out, "auto push  %s\n", st.AutoPush.Sentence())
			return nil
		}
		all, err := e.Remotes().List()
		for _, m := range all { // to compare what is there takes as long as the history is large
			show.Say(a.Out, "remote     %s: %s (\"rewind remote list\" says how far it is behind)\n", m.Name, m.URL)
		}
		return err
	})
	return a.JSONFlag(c)
}

// beside is what the process that watches tells: how it stands and, if it is used, what changed.
type beside struct {
	watcher *record.Watching
	since   *engine.Diff
	err     error
}

// askBeside asks while the caller reads the store. What it returns waits for the answer.
func (a *app) askBeside(ctx context.Context, e *engine.Engine) func() beside {
	var b beside
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		b.watcher = record.State(ctx, a.App)
		if yes, _ := b.watcher.Used(); yes {
			b.since, b.err = verb.Since(ctx, e)
		}
	}()
	return func() beside {
		<-heard
		return b
	}
}

// A Status is what --json prints of status.
type Status struct {
	wire.Status
	Watcher  *record.Watching `json:"watcher,omitempty"`   // the process that watches
	AutoPush *remote.Pushing  `json:"auto_push,omitempty"` // how the pushes stand that rewind.autoPush asks for
}

// StatusOf tells of a worktree, and of the process that watches it. It scans nothing.
func StatusOf(ctx context.Context, c *cli.App, e *engine.Engine, watcher func() *record.Watching) (*Status, error) {
	st, err := e.Status(ctx)
	if err != nil {
		return nil, err
	}
	w := watcher()
	if w != nil {
		st.Watched, st.Unwatched = w.Used()
	}
	p, err := remote.PushingOf(ctx, e)
	if err != nil {
		return nil, err
	}
	c.Warn(remote.BegunOf(e))
	return &Status{Status: wire.NewStatus(st), Watcher: w, AutoPush: p}, nil
}

func (a *app) printStatus(st *engine.Status, since *engine.Diff) {
	kind := "without git"
	switch {
	case st.Git:
		kind = "git repository"
	case cli.LeftOut(st.Warnings):
		kind = "git is left out"
	}
	show.Say(a.Out, "worktree   %s (%s)\n", st.Root, kind)
	if st.StoreBytes == 0 {
		fmt.Fprintln(a.Out, "store      none yet: \"rewind snapshot\" makes it")
		return
	}
	show.Say(a.Out, "store      %s, %s\n", st.Store, show.Size(st.StoreBytes))
	a.printCost(st)
	others := ""
	if st.Total > st.Snapshots {
		others = fmt.Sprintf(" (and %d of other worktrees)", st.Total-st.Snapshots)
	}
	show.Say(a.Out, "snapshots  %d%s\n", st.Snapshots, others)
	if !st.Recorded.IsZero() {
		show.Say(a.Out, "last       %s, recorded %s\n", st.Recorded.Short(), show.Age(time.Since(st.RecordedTime)))
	}
	if !st.Here.IsZero() && st.Here != st.Recorded {
		show.Say(a.Out, "here       %s: the files were restored to it, and nothing was recorded since\n", st.Here.Short())
	}
	if st.Snapshots > 0 {
		a.printChanged(since)
	}
	show.Say(a.Out, "history    %s to undo, %d to redo\n", show.Count(st.Undo, "restore"), st.Redo)
	show.Say(a.Out, "ignored    %s\n", ignoredFiles(st.Ignored))
	for _, n := range st.Skipped {
		show.Say(a.Out, "%-10s %s: %s\n", show.LeftOutWord(n), show.Quote(n.Path), n.Reason)
	}
	if len(st.Exposed) > 0 {
		show.Say(a.Out, "secrets    %s in git objects (rewind purge removes them; git config rewind.secrets builtin keeps such files out from then on)\n", show.Paths(st.Exposed))
	}
	for _, n := range st.Lost {
		show.Say(a.Out, "not whole  %s: %s\n", n.Path[:min(len(n.Path), 12)], show.OneLine(n.Reason))
	}
	if st.Pending > 0 {
		show.Say(a.Out, "pending    %s not in git yet (rewind sync tries again)\n", show.Count(st.Pending, "snapshot"))
	}
	if op := st.Unfinished; op != nil {
		show.Say(a.Out, "unfinished %s of %s begun %s: %s\n", op.Kind, op.To.Short(), op.Started.Local().Format(time.DateTime), nextOf(op))
	}
}

// nextOf says what becomes of an operation that was interrupted. An undo is only
// finished by another undo; redo takes it back.
func nextOf(op *engine.Operation) string {
	if op.Kind == "undo" {
		return "the next command finishes it, also rewind undo; rewind redo takes it back"
	}
	return "the next command finishes it, rewind undo takes it back"
}

// printCost says what history costs on the disk.
func (a *app) printCost(st *engine.Status) {
	text := show.Size(st.StoreBytes) + " in the store"
	if st.Git {
		text += ", about " + show.Size(st.GitBytes) + " in git (the files that rewind wrote there; what git has packed since is not counted)"
	}
	if st.FreeBytes != nil {
		text += "; " + show.Size(*st.FreeBytes) + " of the disk are free"
	}
	show.Say(a.Out, "cost       %s\n", text)
	switch {
	case st.FreeBytes != nil && *st.FreeBytes == 0:
		show.Say(a.Out, "           the disk is full, and nothing can be recorded: make room; later, %s\n", cli.LessCost)
	case st.Much:
		show.Say(a.Out, "           that is more than a tenth: %s\n", cli.LessCost)
	}
}

// ignoredFiles says which ignored files are not recorded.
func ignoredFiles(setting string) string {
	switch setting {
	case "none":
		return "not recorded, but what rewind.include names"
	case "all":
		return "all recorded"
	}
	return "recorded; but not in ignored directories, above 1 MiB, object files, or where a directory has more than 32 (rewind.ignored, rewind.include)"
}

func verifyCommand(a *app) *cobra.Command {
	c := a.InWorktree("verify", "Read back everything that snapshots need and compare it with its ids", cli.Nothing, func(ctx context.Context, e *engine.Engine, _ []string) error {
		v, err := e.Verify(ctx)
		if err != nil {
			return err
		}
		a.Progress.Clear()
		for _, d := range v.Damaged {
			show.Say(a.Err, "damaged: %s (snapshot %s, %s): %s\n", d.ID, d.Snapshot.Short(), show.Quote(d.Path), d.Reason)
		}
		for _, d := range v.Unread {
			show.Say(a.Err, "not read: %s (snapshot %s, %s): %s\n", d.ID, d.Snapshot.Short(), show.Quote(d.Path), d.Reason)
		}
		if a.JSON {
			a.PrintJSON(v)
		} else {
			show.Say(a.Out, "%s, %s, %s read: %s\n", show.Count(v.Snapshots, "snapshot"), show.Count(v.Objects, "object"), show.Size(v.Bytes), verdict(len(v.Damaged)))
			if v.Promised > 0 {
				show.Say(a.Out, "%s never fetched: the partial clone's remote has promised them\n", show.Count(v.Promised, "object"))
			}
		}
		if len(v.Damaged) > 0 {
			return exit.ErrDamageFound
		}
		if len(v.Unread) > 0 {
			return exit.ErrPartial
		}
		return nil
	})
	return a.JSONFlag(c)
}

func verdict(damaged int) string {
	if damaged == 0 {
		return "all whole"
	}
	return show.Count(damaged, "object") + " damaged"
}
