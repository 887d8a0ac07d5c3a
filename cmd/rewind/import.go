package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

func importCommand(a *app) *cobra.Command {
	var opt engine.ImportOptions
	c := verb("import", "Take over the checkpoints of other systems, so that they stay when those drop them", nothing, func(c *cobra.Command, _ []string) error {
		if err := kindOf("--from", opt.From); err != nil {
			return err
		}
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		r, err := e.Import(ctx, &opt)
		if err != nil {
			return err
		}
		a.progress.clear()
		a.printSkipped(r.Skipped)
		if r.Bridge != nil {
			say(a.err, "rewind: warning: %v\n", r.Bridge)
		}
		if a.json {
			a.printJSON(wire.NewImported(r, opt.DryRun))
		} else {
			a.printImported(r, opt.DryRun)
		}
		if len(r.Skipped) > 0 {
			return errPartial
		}
		return also(r.Recovered, nil)
	})
	f := c.Flags()
	f.StringVar(&opt.From, "from", "", "only of this `system`: "+strings.Join(engine.ImportKinds(), ", "))
	f.BoolVar(&opt.DryRun, "dry-run", false, "tell what would be imported, and write nothing")
	return a.jsonFlag(c)
}

func (a *app) printImported(r *engine.Imported, dry bool) {
	a.printSnapshots(r.Snapshots)
	if dry {
		say(a.err, "would import %s\n", count(len(r.Snapshots), "checkpoint"))
		return
	}
	say(a.err, "imported %s\n", count(len(r.Snapshots), "checkpoint"))
}

// kindOf checks the name of a system that a flag gives, "" for none.
func kindOf(flag, name string) error {
	for _, k := range append(engine.ImportKinds(), "") {
		if k == name {
			return nil
		}
	}
	return usagef("%s %q is none of %s", flag, name, strings.Join(engine.ImportKinds(), ", "))
}

// printSkipped names what was left out, and why.
func (a *app) printSkipped(notes []engine.Note) {
	for _, n := range notes {
		say(a.err, "skipped: %s: %s\n", quote(n.Path), n.Reason)
	}
}

// leftOutWord says in a word why a snapshot does not have a path.
func leftOutWord(n engine.Note) string {
	if n.Reason == "its content was purged" { // as the purge has it
		return "purged"
	}
	return "skipped"
}

// system names the other system that made a snapshot, "" for our own.
func system(s *engine.Snapshot) string {
	if s.Source == nil || s.Source.Kind == "rewind" {
		return ""
	}
	return s.Source.Kind
}
