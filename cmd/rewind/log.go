package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

func logCommand(a *app) *cobra.Command {
	var limit int
	var patch bool
	c := verb("log PATH", "List the snapshots that changed a file or directory, also under the name it had before", takes(1, 1, "rewind log README.md"), func(c *cobra.Command, args []string) error {
		if limit < 0 {
			return usagef("--limit %d is negative", limit)
		}
		if patch && a.json {
			return usagef("%s: --patch and --json exclude one another", c.Name())
		}
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		name, err := a.named(args[0])
		if err != nil {
			return err
		}
		log, err := e.Log(ctx, name, limit)
		if err != nil {
			return err
		}
		if a.json {
			a.printJSON(wire.NewLog(name, log))
			return nil
		}
		m, err := momentsOf(ctx, e)
		if err != nil {
			return err
		}
		a.progress.clear()
		return a.paged(func(w io.Writer, how look) error {
			p := &printer{w: w, m: m, l: &listing{}, width: a.width(), how: how}
			return p.log(ctx, e, log, patch)
		})
	})
	c.Flags().IntVarP(&limit, "limit", "n", 0, "at most `N` snapshots; 0: all")
	c.Flags().BoolVarP(&patch, "patch", "p", false, "with what each one changed, as diff shows it")
	return a.jsonFlag(c)
}

// log prints the snapshots that changed a path, each with what it did there.
func (p *printer) log(ctx context.Context, e *engine.Engine, log []engine.Touch, patch bool) error {
	for i, t := range log {
		if patch && i > 0 {
			fmt.Fprintln(p.w)
		}
		s := t.Snapshot
		c := line{id: short(s.ID), at: s.Time, what: p.m.what(s), marks: p.m.marks(s), quiet: s.OfRestore(), changes: touchText(&t)}
		if t.From != "" {
			c.names = "was " + visible.Line(t.From)
		} else if t.Sum != nil && (len(t.Sum.Names) > 1 || len(t.Sum.Names) == 1 && t.Sum.Names[0].Path != t.Path) {
			c.names = p.names(t.Sum)
		}
		if err := p.row("", c); err != nil {
			return err
		}
		if !patch || t.From != "" {
			continue
		}
		d, err := e.Diff(ctx, t.Base, s, []string{wordLiteral + t.Path})
		if err != nil {
			return err
		}
		if err := printPatch(ctx, p.w, d, p.how); err != nil {
			return err
		}
	}
	return nil
}

// touchText says what a snapshot did to a path.
func touchText(t *engine.Touch) string {
	word := map[byte]string{'A': "added", 'D': "deleted", 'T': "another kind", 'R': "renamed"}[t.Status]
	if t.Sum == nil || t.Status == 'R' {
		if word == "" {
			word = "changed"
		}
		return word
	}
	if len(t.Sum.Names) == 1 && t.Sum.Names[0].Path == t.Path && t.Sum.Files == 1 {
		lines := ""
		if t.Sum.Added+t.Sum.Removed > 0 {
			lines = fmt.Sprintf("+%s -%s", few(t.Sum.Added), few(t.Sum.Removed))
		} else if word == "" {
			word = "changed"
		}
		return strings.TrimSpace(word + " " + lines)
	}
	return strings.TrimSpace(word + " " + changesText(t.Sum))
}
