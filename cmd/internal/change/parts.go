package change

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// A picker asks for each part of a plan whether it is to be restored.
type picker struct {
	*app
	diff    *engine.Diff
	answers *bufio.Reader
	how     show.Look
	quit    bool                 // nothing more is wanted
	taken   map[engine.Path]bool // what is to be restored, whole or in part
	opt     *engine.Op           // says the same
}

// restoreParts restores those parts of a snapshot that somebody chooses. The answers
// may come from a pipe.
func (a *app) restoreParts(ctx context.Context, e *engine.Engine, r *restoring) error {
	p, err := e.Plan(ctx, r.op)
	if err != nil {
		return cli.WithHint(err, r.hint)
	}
	if len(p.Changes) > 0 {
		chosen, err := a.pick(ctx, p, &r.op)
		switch {
		case err != nil:
			return err
		case chosen == 0 && a.JSON:
			a.PrintJSON(wire.NewRestored(&engine.Restored{ID: r.op.To}, 0))
			return nil
		case chosen == 0:
			show.Say(a.Out, "nothing was chosen, and nothing was changed\n")
			return nil
		}
	}
	r.yes = true // the answers are the consent
	return a.restore(ctx, e, r)
}

// pick asks about the changes of a plan, and lets opt say what is to be restored of
// them. It returns how many paths that are.
func (a *app) pick(ctx context.Context, p *engine.Diff, opt *engine.Op) (int, error) {
	a.Progress.Clear()
	a.Warn(p.Unfinished)
	a.NoteLeft(p.Kept, p.Conflicts, nil)
	k := &picker{
		app: a, diff: p, answers: bufio.NewReader(a.In), opt: opt,
		how: show.Look{Color: show.Colored(a.Err), Bare: show.IsTerminal(a.Err)}, taken: map[engine.Path]bool{},
	}
	opt.Paths = nil
	for i := 0; i < len(p.Changes) && !k.quit; i++ {
		c, below := p.Changes[i], belowOf(p.Changes[i:])
		switch {
		case isDirectory(c) && len(below) > 0: // what is in it is asked for
			continue
		case !isDirectory(c) && !hasDirectory(c) && !c.From.Link() && !c.To.Link():
			if err := k.file(ctx, c); err != nil {
				return 0, err
			}
		default:
			if err := k.whole(ctx, c); err != nil {
				return 0, err
			}
			i += len(below)
		}
	}
	k.directories(p.Changes)
	return len(k.taken), nil
}

// belowOf returns what lies below the first of some changes.
func belowOf(list []engine.Change) []engine.Change {
	n, dir := 1, string(list[0].Path)+"/"
	for n < len(list) && strings.HasPrefix(string(list[n].Path), dir) {
		n++
	}
	return list[1:n]
}

// hasDirectory reports whether a side of a change is a directory, isDirectory
// whether it is of nothing else.
func hasDirectory(c engine.Change) bool { return c.From.Dir() || c.To.Dir() }

func isDirectory(c engine.Change) bool {
	return hasDirectory(c) && (c.From.Dir() || c.From.Mode == 0) && (c.To.Dir() || c.To.Mode == 0)
}

// take notes that a path is to be restored.
func (k *picker) take(path engine.Path) {
	if !k.taken[path] {
		k.taken[path] = true
		k.opt.Paths = append(k.opt.Paths, show.Literal+string(path))
	}
}

// directories takes directories that go, or get other permissions, if all that
// changes below them is taken. One that comes is made on the way to what is in it.
func (k *picker) directories(list []engine.Change) {
	for i := len(list) - 1; i >= 0; i-- {
		below := belowOf(list[i:])
		if !isDirectory(list[i]) || len(below) == 0 || list[i].From.Mode == 0 {
			continue
		}
		all := true
		for _, c := range below {
			all = all && (k.taken[c.Path] || isDirectory(c) && c.From.Mode == 0)
		}
		if all {
			k.take(list[i].Path)
		}
	}
}

// whole asks about a path that is restored as a whole or not at all.
func (k *picker) whole(ctx context.Context, c engine.Change) error {
	d := *k.diff
	d.Changes = []engine.Change{c}
	if err := show.PrintPatch(ctx, k.Err, &d, k.how); err != nil {
		return err
	}
	answer, err := k.ask(ctx, wholeQuestion(c), "ynqad?")
	if err == nil && (answer == 'y' || answer == 'a') {
		k.take(c.Path)
	}
	return err
}

// wholeQuestion asks whether a change is to be made as a whole.
func wholeQuestion(c engine.Change) string {
	what := "file"
	switch {
	case hasDirectory(c) && !isDirectory(c):
		what = "path with everything below it"
	case hasDirectory(c):
		what = "directory"
	case c.From.Link() || c.To.Link():
		what = "link"
	}
	switch {
	case c.From.Mode == 0:
		return "Bring this " + what + " back"
	case c.To.Mode == 0:
		return "Delete this " + what
	}
	return "Restore this " + what + " as a whole"
}

// A part of a file: a hunk, or its permissions.
type part struct {
	hunk   hunk.Hunk
	mode   bool
	taken  bool
	edited bool
}

// file asks about a file, hunk by hunk.
func (k *picker) file(ctx context.Context, c engine.Change) error {
	l, err := show.Compare(ctx, k.diff, c)
	if err != nil {
		return err
	}
	if l.Binary || bytes.Equal(l.Old, l.New) && (c.From.Mode == 0 || c.To.Mode == 0) {
		return k.whole(ctx, c)
	}
	var head bytes.Buffer
	show.Header(&head, c, l)
	show.Paint(k.Err, head.Bytes(), show.Bold, k.how.Color)
	var parts []part
	if c.From.Mode != 0 && c.To.Mode != 0 && c.From.Mode != c.To.Mode {
		parts = append(parts, part{mode: true})
	}
	for _, h := range l.Hunks {
		parts = append(parts, part{hunk: h})
	}
	if parts, err = k.parts(ctx, c, parts); err != nil {
		return err
	}
	k.takeParts(c, l, parts)
	return nil
}

// parts asks about the parts of a file, in order, and returns them: more, if some
// were split.
func (k *picker) parts(ctx context.Context, c engine.Change, parts []part) ([]part, error) {
	rest := byte(0) // the answer to all that are left
	for i := 0; i < len(parts) && !k.quit && rest == 0; {
		p := &parts[i]
		if !p.mode { // which the header of the file says
			show.PrintHunks(k.Err, p.hunk.Append(nil), k.how)
		}
		split := p.hunk.Split()
		answer, err := k.ask(ctx, fmt.Sprintf("(%d/%d) %s", i+1, len(parts), partQuestion(c, *p)), lettersOf(c, *p, len(split) > 1))
		if err != nil {
			return nil, err
		}
		switch answer {
		case 's':
			show.Say(k.Err, "Split into %d hunks.\n", len(split))
			after := append([]part{}, parts[i+1:]...)
			parts = parts[:i]
			for _, h := range split {
				parts = append(parts, part{hunk: h})
			}
			parts = append(parts, after...)
			continue
		case 'e':
			edited, err := k.edit(ctx, p.hunk)
			if err != nil {
				show.Say(k.Err, "rewind: %v\n", err)
				continue
			}
			p.hunk, p.edited, p.taken = edited, true, len(edited.Lines) > 0
		case 'y', 'a':
			p.taken = true
		}
		if answer == 'a' || answer == 'd' {
			rest = answer
		}
		i++
		for ; rest == 'a' && i < len(parts); i++ {
			parts[i].taken = true
		}
	}
	return parts, nil
}

// takeParts takes a file, whole or in part, if any of it is wanted.
func (k *picker) takeParts(c engine.Change, l show.Lines, parts []part) {
	edit, all := c, true
	if c.From.Mode != 0 && c.To.Mode != 0 {
		edit.To.Mode = c.From.Mode
	}
	var chosen []hunk.Hunk
	some := false
	for _, p := range parts {
		some, all = some || p.taken, all && p.taken && !p.edited
		switch {
		case p.taken && p.mode:
			edit.To.Mode = c.To.Mode
		case p.taken:
			chosen = append(chosen, p.hunk)
		}
	}
	if !some {
		return
	}
	k.take(c.Path)
	if !all {
		if k.opt.Edits == nil {
			k.opt.Edits = map[engine.Change][]byte{}
		}
		k.opt.Edits[edit] = hunk.Apply(l.Old, chosen)
	}
}

// partQuestion asks whether a part of a change is to be made.
func partQuestion(c engine.Change, p part) string {
	switch {
	case p.mode:
		return fmt.Sprintf("Restore the permissions %04o", show.Exact(c.To))
	case c.From.Mode == 0 || c.To.Mode == 0:
		return wholeQuestion(c)
	}
	return "Restore this hunk"
}

// lettersOf are the answers that there are to the question about a part.
func lettersOf(c engine.Change, p part, split bool) string {
	letters := "ynqad"
	if split {
		letters += "s"
	}
	if !p.mode && c.To.Mode != 0 {
		letters += "e"
	}
	return letters + "?"
}
