package ui

import (
	"context"
	"errors"
	"fmt"
	"reflect"

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
		return m.say("still comparing")
	case n < 0:
		return m.say("go to a hunk to restore it (] and [)")
	case s != nil && !m.since:
		return m.say("d compares with the present, where a hunk can be restored; r in the files restores a whole file")
	case s == nil:
		if s = m.here(); s == nil {
			return m.say("there is no snapshot yet to restore from")
		}
	}
	p := m.reading.patch.hunks[n]
	if p.change.Status() != 'M' {
		return m.say("this file comes or goes as a whole: r in the files restores it")
	}
	return m.plan(m.restoringHunk(s, p))
}

// restoringHunk is the deed of the restore of one hunk.
func (m *model) restoringHunk(s *engine.Snapshot, p piece) deed {
	e := m.back.engine
	return deed{
		title: "Restore a hunk of " + name(string(p.change.Path)), back: "z",
		of:    "as " + short(s.ID) + " has it; all else in the file stays",
		lines: linesOf(reversed(p.hunk), 0),
		op:    engine.Op{To: s.ID, Paths: []string{":(literal)" + string(p.change.Path)}},
		ready: func(ctx context.Context, op *engine.Op) error { return editHunk(ctx, e, p, op) },
	}
}

// editHunk lets a restore say what a file is to be, of which a hunk that was shown is
// restored.
func editHunk(ctx context.Context, e *engine.Engine, p piece, op *engine.Op) error {
	op.Edits = nil
	whole, err := e.Plan(ctx, *op)
	if err != nil {
		return err
	}
	for _, c := range whole.Changes {
		if c.Path != p.change.Path {
			continue
		}
		whole.Most = contentMax
		content, err := without(ctx, whole, c, p.hunk)
		if err != nil {
			return err
		}
		c.To.Mode = c.From.Mode
		op.Edits = map[engine.Change][]byte{c: content}
		return nil
	}
	return errors.New("the file is as the snapshot has it by now")
}

// without returns the present text of a file, with what one hunk changed taken back.
func without(ctx context.Context, d *engine.Diff, c engine.Change, shown hunk.Hunk) ([]byte, error) {
	present, err := wholeText(ctx, d, c, false)
	if err != nil {
		return nil, err
	}
	target, err := wholeText(ctx, d, c, true)
	if err != nil {
		return nil, err
	}
	for _, h := range hunk.Of(target, present) {
		if h.Old == shown.Old && reflect.DeepEqual(h.Lines, shown.Lines) {
			return hunk.Apply(present, []hunk.Hunk{reversed(h)}), nil
		}
	}
	return nil, fmt.Errorf("%q has changed since the hunk was shown; look at it again", c.Path)
}

// wholeText returns one side of a change. A file may have grown since its lines were shown.
func wholeText(ctx context.Context, d *engine.Diff, c engine.Change, new bool) ([]byte, error) {
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
