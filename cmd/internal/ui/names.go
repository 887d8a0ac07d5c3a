package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// askRecord asks for the label of a snapshot.
func (m *model) askRecord() tea.Cmd {
	return m.ask(asking{title: "Record the files as they are", label: "label (may be empty)", then: func(ctx context.Context, text string) tea.Msg {
		r, err := m.back.engine.Snapshot(ctx, &engine.SnapshotOptions{Label: strings.TrimSpace(text)})
		return tellRecorded(r, err)
	}})
}

// askOf asks for a text about the chosen snapshot, with which something small is done.
func (m *model) askOf(what string, a asking, do func(ctx context.Context, e *engine.Engine, id oid.ID, text string) (said string, err error)) tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		return m.say("choose a snapshot to " + what + " (c records the present)")
	}
	a.title += short(s.ID)
	a.then = func(ctx context.Context, text string) tea.Msg {
		said, err := do(ctx, m.back.engine, s.ID, text)
		if err != nil {
			return outcome{dialog: failure("That was not done", err)}
		}
		return outcome{toast: span{said, good}}
	}
	return m.ask(a)
}

func (m *model) askPin() tea.Cmd { return m.askOf("pin", asking{title: "Pin ", label: "name"}, pin) }

// pin gives a snapshot a name, and tells which one loses it by that.
func pin(ctx context.Context, e *engine.Engine, id oid.ID, name string) (said string, err error) {
	name = strings.TrimSpace(name)
	pins, err := e.Pins(ctx)
	if err != nil {
		return "", err
	}
	if strings.Trim(name, "0123456789abcdef") == "" && pins[name].IsZero() {
		return "", fmt.Errorf("a pin needs a name with another letter than those of an id")
	}
	if err := e.Pin(ctx, name, id); err != nil {
		return "", err
	}
	said = short(id) + " is pinned as “" + line(name) + "”"
	if before := pins[name]; !before.IsZero() && before != id {
		said += ", which was at " + short(before)
	}
	return said, nil
}

// askUnpin asks which pin of the snapshot to take away.
func (m *model) askUnpin() tea.Cmd {
	t := m.timeline.momentOf()
	if t == nil || len(t.pins) == 0 {
		return m.say("no pin is here to be taken away")
	}
	return m.askOf("unpin", asking{title: "Take a pin away from ", label: "name", text: t.pins[0]}, unpin)
}

func unpin(ctx context.Context, e *engine.Engine, _ oid.ID, name string) (string, error) {
	pins, err := e.Pins(ctx)
	if err == nil && pins[name].IsZero() {
		err = fmt.Errorf("no pin is called %q", name)
	}
	if err == nil {
		err = e.Pin(ctx, name, oid.ID{})
	}
	return short(pins[name]) + " is not pinned by “" + line(name) + "” any more", err
}

// askLabel asks for a label.
func (m *model) askLabel() tea.Cmd {
	return m.askOf("label", asking{title: "Label ", label: "label"}, func(ctx context.Context, e *engine.Engine, id oid.ID, text string) (string, error) {
		text = strings.TrimSpace(text)
		return short(id) + " has the label “" + line(text) + "”", e.Label(ctx, id, text, false)
	})
}

// askUnlabel asks which label of the snapshot to take away.
func (m *model) askUnlabel() tea.Cmd {
	s := m.timeline.shown()
	if s == nil || s.Label() == "" {
		return m.say("no label is here to be taken away")
	}
	a := asking{title: "Take a label away from ", label: "label", text: s.Label()}
	return m.askOf("unlabel", a, func(ctx context.Context, e *engine.Engine, id oid.ID, text string) (string, error) {
		return short(id) + " has the label “" + line(text) + "” no more", e.Label(ctx, id, text, true)
	})
}

// askFork asks for the directory of a fork.
func (m *model) askFork() tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		return m.say("choose a snapshot to fork (c records the present)")
	}
	id, root := short(s.ID), m.back.engine.Root()
	a := asking{title: "Fork " + id + ": a second directory of it", label: "new directory", then: func(ctx context.Context, dir string) tea.Msg {
		return m.back.forkTo(ctx, s, dir)
	}}
	if strings.ToValidUTF8(root, "") == root {
		a.text = root + "-" + id[:min(8, len(id))]
	}
	return m.ask(a)
}

// A Forker makes a second directory of a snapshot, and returns its real path.
type Forker func(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string) (real string, made *engine.Restored, err error)

// forkTo makes a fork, and tells what became of it. A relative name is taken from the
// worktree, "~/" for the home directory.
func (b *backstage) forkTo(ctx context.Context, s *engine.Snapshot, dir string) outcome {
	dir, err := b.forkDir(strings.TrimSpace(dir))
	if err != nil {
		return outcome{dialog: failure("The fork was not made", err)}
	}
	dir, made, err := b.fork(ctx, b.engine, s, dir)
	if err != nil {
		return outcome{dialog: failure("The fork was not made", err)}
	}
	lines := [][]span{said(good, count(made.Written, "file")+" of "+short(made.ID)+" written to"), said(usual, name(dir))}
	lines = append(left(lines, made), nil, said(faint, "“rewind adopt DIR” brings back what is done there, “rewind forks --remove DIR” removes it."))
	return outcome{dialog: told("Forked", lines...)}
}

// forkDir is the directory that a person means.
func (b *backstage) forkDir(dir string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("a fork needs a directory")
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(b.engine.Root(), dir)
	}
	return dir, nil
}
