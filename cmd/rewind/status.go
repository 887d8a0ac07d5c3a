package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func statusCommand(a *app) *cobra.Command {
	c := verb("status", "Show the store, what was left out, and what is unfinished", nothing, func(c *cobra.Command, _ []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		st, err := e.Status(ctx)
		if err != nil {
			return err
		}
		w := a.state(ctx)
		if w != nil {
			st.Watched, st.Unwatched = w.used()
		}
		if a.json {
			a.printJSON(struct {
				wire.Status
				Watcher *watching `json:"watcher,omitempty"`
			}{wire.NewStatus(st), w})
			return nil
		}
		a.printStatus(st)
		say(a.out, "watched    %s\n", w.sentence(e))
		return nil
	})
	return a.jsonFlag(c)
}

func (a *app) printStatus(st *engine.Status) {
	kind := "without git"
	switch {
	case st.Git:
		kind = "git repository"
	case leftOut(st.Warnings):
		kind = "git is left out"
	}
	say(a.out, "worktree   %s (%s)\n", st.Root, kind)
	if st.StoreBytes == 0 {
		fmt.Fprintln(a.out, "store      none yet: \"rewind snapshot\" makes it")
		return
	}
	say(a.out, "store      %s, %s, %s\n", st.Store, size(st.StoreBytes), count(int(st.Objects), "object"))
	a.printCost(st)
	others := ""
	if st.Total > st.Snapshots {
		others = fmt.Sprintf(" (and %d of other worktrees)", st.Total-st.Snapshots)
	}
	say(a.out, "snapshots  %d%s\n", st.Snapshots, others)
	if !st.Recorded.IsZero() {
		say(a.out, "last       %s, recorded %s\n", short(st.Recorded), age(time.Since(st.RecordedTime)))
	}
	if !st.Here.IsZero() && st.Here != st.Recorded {
		say(a.out, "here       %s: the files were restored to it, and nothing was recorded since\n", short(st.Here))
	}
	if st.Snapshots > 0 {
		fmt.Fprintln(a.out, "changed    not looked for here: \"rewind diff --stat\" tells what changed since")
	}
	say(a.out, "history    %s to undo, %d to redo\n", count(st.Undo, "restore"), st.Redo)
	say(a.out, "ignored    %s\n", ignoredFiles(st.Ignored))
	for _, n := range st.Skipped {
		say(a.out, "%-10s %s: %s\n", leftOutWord(n), quote(n.Path), n.Reason)
	}
	if len(st.Exposed) > 0 {
		say(a.out, "secrets    %s in git objects (rewind purge removes them; git config rewind.secrets builtin keeps such files out from then on)\n", paths(st.Exposed))
	}
	for _, n := range st.Lost {
		say(a.out, "not whole  %s: %s\n", n.Path[:min(len(n.Path), 12)], oneLine(n.Reason))
	}
	if st.Pending > 0 {
		say(a.out, "pending    %s not in git yet (rewind sync tries again)\n", count(st.Pending, "snapshot"))
	}
	if op := st.Unfinished; op != nil {
		say(a.out, "unfinished %s of %s begun %s: %s\n", op.Kind, short(op.To), op.Started.Local().Format(time.DateTime), nextOf(op))
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
	text := size(st.StoreBytes) + " in the store"
	if st.Git {
		text += ", about " + size(st.GitBytes) + " in git (the files that rewind wrote there; what git has packed since is not counted)"
	}
	if st.FreeBytes != nil {
		text += "; " + size(*st.FreeBytes) + " of the disk are free"
	}
	say(a.out, "cost       %s\n", text)
	switch {
	case st.FreeBytes != nil && *st.FreeBytes == 0:
		say(a.out, "           the disk is full, and nothing can be recorded: make room; later, %s\n", lessCost)
	case st.Much:
		say(a.out, "           that is more than a tenth: %s\n", lessCost)
	}
}

// lessCost says how history is made to cost less.
const lessCost = "\"rewind prune --max-store-size SIZE --gc\" drops the oldest snapshots; the setting rewind.maxStoreSize limits every prune"

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
	c := verb("verify", "Read back everything that snapshots need and compare it with its ids", nothing, func(c *cobra.Command, _ []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		v, err := e.Verify(ctx)
		if err != nil {
			return err
		}
		a.progress.clear()
		for _, d := range v.Damaged {
			say(a.err, "damaged: %s (snapshot %s, %s): %s\n", d.ID, short(d.Snapshot), quote(d.Path), d.Reason)
		}
		for _, d := range v.Unread {
			say(a.err, "not read: %s (snapshot %s, %s): %s\n", d.ID, short(d.Snapshot), quote(d.Path), d.Reason)
		}
		if a.json {
			a.printJSON(v)
		} else {
			say(a.out, "%s, %s, %s read: %s\n", count(v.Snapshots, "snapshot"), count(v.Objects, "object"), size(v.Bytes), verdict(len(v.Damaged)))
			if v.Promised > 0 {
				say(a.out, "%s never fetched: the partial clone's remote has promised them\n", count(v.Promised, "object"))
			}
		}
		if len(v.Damaged) > 0 {
			return errDamageFound
		}
		if len(v.Unread) > 0 {
			return errPartial
		}
		return nil
	})
	return a.jsonFlag(c)
}

func verdict(damaged int) string {
	if damaged == 0 {
		return "all whole"
	}
	return count(damaged, "object") + " damaged"
}
