package show

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// Log prints the snapshots that changed a path, each with what it did there.
func (p *Printer) Log(ctx context.Context, e *engine.Engine, log []engine.Touch, patch bool) error {
	for i, t := range log {
		if patch && i > 0 {
			fmt.Fprintln(p.W)
		}
		s := t.Snapshot
		c := line{id: s.ID.Short(), at: s.Time, what: p.M.what(s), marks: p.M.marks(s), quiet: s.OfRestore(), changes: touchText(&t)}
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
		d, err := e.Diff(ctx, t.Base, s, []string{Literal + t.Path})
		if err != nil {
			return err
		}
		if err := PrintPatch(ctx, p.W, d, p.How); err != nil {
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
