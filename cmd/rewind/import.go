package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
)

func importCommand(a *app) *cobra.Command {
	var opt engine.ImportOptions
	c := verb("import", "Take over the checkpoints of other systems, so that they stay when those drop them", cobra.NoArgs, func(c *cobra.Command, _ []string) error {
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
			a.printJSON(importedJSON{DryRun: opt.DryRun, Imported: recordsJSON(r.Snapshots), Skipped: notesJSON(r.Skipped), Bridged: r.Bridge == nil, Recovered: recoveredJSON(r.Recovered)})
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

type importedJSON struct {
	DryRun   bool         `json:"dry_run,omitempty"`
	Imported []recordJSON `json:"imported"`
	Skipped  []noteJSON   `json:"skipped"`
	Bridged  bool         `json:"bridged"`

	Recovered *restoredJSON `json:"recovered,omitempty"`
}

func (a *app) printImported(r *engine.Imported, dry bool) {
	a.printList(r.Snapshots, true)
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

// system names the other system that made a snapshot, "" for our own.
func system(s *engine.Snapshot) string {
	if s.Source == nil || s.Source.Kind == "rewind" {
		return ""
	}
	return s.Source.Kind
}

type sourceJSON struct {
	Kind   string `json:"kind"`
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit"`
}

func newSourceJSON(s *engine.Source) *sourceJSON {
	if s == nil {
		return nil
	}
	return &sourceJSON{Kind: s.Kind, Ref: s.Ref, Commit: s.Commit.String()}
}

// limits says in sentences what a snapshot could not have contained.
func limits(s *engine.Snapshot) (out []string) {
	l := s.Limits
	if l == nil {
		return nil
	}
	if l.Incomplete {
		out = append(out, "it may be the last commit instead of the files; a restore deletes nothing")
	}
	if l.GitOnly {
		out = append(out, "permissions, empty directories and nested repositories are not in it")
	}
	if !l.Overlay.IsZero() {
		out = append(out, "what git cannot hold of it was in the store, which is gone")
	}
	if l.FreshIndex {
		out = append(out, "tracked files that are ignored are not in it")
	}
	if len(l.Names) > 0 {
		out = append(out, "untracked paths with these names are not in it: "+strings.Join(l.Names, " "))
	}
	if len(l.Paths) > 0 {
		out = append(out, count(len(l.Paths), "path")+" may have been left out")
	}
	return out
}
