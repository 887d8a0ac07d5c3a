package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/hunk"
)

// restoreHunk plans the restore of the hunk at the cursor: the file gets back what the
// snapshot has there, and keeps all else.
func (m *model) restoreHunk() tea.Cmd {
	s, known := m.snapshotOfFiles()
	n := m.reading.hunk()
	switch {
	case !known || m.reading.waiting:
		m.toast = span{"still comparing", careful}
		return nil
	case n < 0:
		m.toast = span{"go to a hunk to restore it (] and [)", careful}
		return nil
	case s != nil && !m.since:
		m.toast = span{"d compares with the present, where a hunk can be restored; r in the files restores a whole file", careful}
		return nil
	case s == nil:
		if s = m.here(); s == nil {
			m.toast = span{"there is no snapshot yet to restore from", careful}
			return nil
		}
	}
	p := m.reading.patch.hunks[n]
	if p.change.Status() != 'M' {
		m.toast = span{"this file comes or goes as a whole: r in the files restores it", careful}
		return nil
	}
	return m.plan(m.restoringHunk(s, p))
}

// restoringHunk is the deed of the restore of one hunk.
func (m *model) restoringHunk(s *engine.Snapshot, p piece) deed {
	e, opt := m.back.engine, &engine.RestoreOptions{Paths: []string{":(literal)" + string(p.change.Path)}}
	return deed{
		title: "Restore a hunk of " + name(string(p.change.Path)), back: "z",
		of:    "as " + short(s.ID) + " has it; all else in the file stays",
		lines: linesOf(reversed(p.hunk), 0),
		plan:  func(ctx context.Context) (*engine.Plan, error) { return planHunk(ctx, e, s, p, opt) },
		carry: func(ctx context.Context) (*engine.Restored, error) { return e.Restore(ctx, s.ID, opt) },
	}
}

// planHunk plans the restore of a hunk that was shown, and lets opt say what the file
// is to be.
func planHunk(ctx context.Context, e *engine.Engine, s *engine.Snapshot, p piece, opt *engine.RestoreOptions) (*engine.Plan, error) {
	opt.Edits = nil
	whole, err := e.Plan(ctx, s.ID, opt)
	if err != nil {
		return nil, err
	}
	for _, c := range whole.Changes {
		if c.Path != p.change.Path {
			continue
		}
		d := e.DiffPlan(whole)
		d.Most = contentMax
		content, err := without(ctx, d, c, p.hunk)
		if err != nil {
			return nil, err
		}
		c.To.Mode = c.From.Mode
		opt.Edits = []engine.Edit{{Change: c, Content: content}}
		return e.Plan(ctx, s.ID, opt)
	}
	return nil, errors.New("the file is as the snapshot has it by now")
}

// without returns the present text of a file, with what one hunk changed taken back.
func without(ctx context.Context, d *engine.Difference, c engine.Change, shown hunk.Hunk) ([]byte, error) {
	present, err := wholeText(ctx, d, c, false)
	if err != nil {
		return nil, err
	}
	target, err := wholeText(ctx, d, c, true)
	if err != nil {
		return nil, err
	}
	var found []hunk.Hunk
	for _, h := range hunk.Of(target, present) {
		if h.Old == shown.Old && sameLines(h, shown) {
			found = append(found, reversed(h))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q has changed since the hunk was shown; look at it again", c.Path)
	}
	return hunk.Apply(present, found), nil
}

// wholeText returns one side of a change. A file may have grown since its lines were shown.
func wholeText(ctx context.Context, d *engine.Difference, c engine.Change, new bool) ([]byte, error) {
	text, whole, err := d.Read(ctx, c, new)
	if err == nil && !whole {
		err = fmt.Errorf("%q is larger by now than files of which single hunks are restored; r in the files restores all of it", c.Path)
	}
	return text, err
}

// reversed is the hunk that takes a hunk back.
func reversed(h hunk.Hunk) hunk.Hunk {
	out := hunk.Hunk{Old: h.New, New: h.Old}
	for _, l := range h.Lines {
		switch l.Op {
		case '+':
			l.Op = '-'
		case '-':
			l.Op = '+'
		}
		out.Lines = append(out.Lines, l)
	}
	return out
}

func sameLines(a, b hunk.Hunk) bool {
	if len(a.Lines) != len(b.Lines) {
		return false
	}
	for i := range a.Lines {
		if a.Lines[i].Op != b.Lines[i].Op || !bytes.Equal(a.Lines[i].Text, b.Lines[i].Text) {
			return false
		}
	}
	return true
}
