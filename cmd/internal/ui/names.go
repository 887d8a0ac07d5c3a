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

// askPin asks for the name of a pin.
func (m *model) askPin() tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		m.toast = span{"choose a snapshot to pin (c records the present)", careful}
		return nil
	}
	e := m.back.engine
	m.dialog = &ask{title: "Pin " + short(s.ID), label: "name", then: func(text string) tea.Cmd {
		return m.start("Pin "+short(s.ID), func(ctx context.Context, _ int) tea.Msg {
			said, err := pin(ctx, e, strings.TrimSpace(text), s.ID)
			return settled{said, err}
		})
	}}
	return nil
}

// pin gives a snapshot a name, and tells which one loses it by that.
func pin(ctx context.Context, e *engine.Engine, name string, id oid.ID) (said string, err error) {
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
		m.toast = span{"no pin is here to be taken away", careful}
		return nil
	}
	e := m.back.engine
	a := &ask{title: "Take a pin away from " + short(t.snapshot.ID), label: "name", then: func(name string) tea.Cmd {
		return m.start("Take a pin away", func(ctx context.Context, _ int) tea.Msg {
			pins, err := e.Pins(ctx)
			if err == nil && pins[name].IsZero() {
				err = fmt.Errorf("no pin is called %q", name)
			}
			if err == nil {
				err = e.Pin(ctx, name, oid.ID{})
			}
			return settled{short(pins[name]) + " is not pinned by “" + line(name) + "” any more", err}
		})
	}}
	a.field.put(t.pins[0])
	m.dialog = a
	return nil
}

// askLabel asks for a label.
func (m *model) askLabel() tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		m.toast = span{"choose a snapshot to label (c records the present)", careful}
		return nil
	}
	e := m.back.engine
	m.dialog = &ask{title: "Label " + short(s.ID), label: "label", then: func(text string) tea.Cmd {
		text = strings.TrimSpace(text)
		return m.start("Label "+short(s.ID), func(ctx context.Context, _ int) tea.Msg {
			err := e.Label(ctx, s.ID, text, false)
			return settled{short(s.ID) + " has the label “" + line(text) + "”", err}
		})
	}}
	return nil
}

// askUnlabel asks which label of the snapshot to take away.
func (m *model) askUnlabel() tea.Cmd {
	s := m.timeline.shown()
	if s == nil || s.Label() == "" {
		m.toast = span{"no label is here to be taken away", careful}
		return nil
	}
	e := m.back.engine
	a := &ask{title: "Take a label away from " + short(s.ID), label: "label", then: func(text string) tea.Cmd {
		return m.start("Take a label away", func(ctx context.Context, _ int) tea.Msg {
			err := e.Label(ctx, s.ID, text, true)
			return settled{short(s.ID) + " has the label “" + line(text) + "” no more", err}
		})
	}}
	a.field.put(s.Label())
	m.dialog = a
	return nil
}

// askFork asks for the directory of a fork.
func (m *model) askFork() tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		m.toast = span{"choose a snapshot to fork (c records the present)", careful}
		return nil
	}
	e := m.back.engine
	a := &ask{title: "Fork " + short(s.ID) + ": a second directory of it", label: "new directory", then: func(dir string) tea.Cmd {
		return m.start("Fork "+short(s.ID), func(ctx context.Context, _ int) tea.Msg {
			return m.back.forkTo(ctx, s, dir)
		})
	}}
	if id := short(s.ID); strings.ToValidUTF8(e.Root(), "") == e.Root() {
		a.field.put(e.Root() + "-" + id[:min(8, len(id))])
	}
	m.dialog = a
	return nil
}

// A Forker makes a second directory of a snapshot, and returns its real path.
type Forker func(ctx context.Context, e *engine.Engine, s *engine.Snapshot, dir string) (real string, made *engine.Restored, err error)

// A forked tells of a fork that was made, or not.
type forked struct {
	dir  string
	made *engine.Restored
	err  error
}

// forkTo makes a fork. A relative name is taken from the worktree, "~/" for the home
// directory.
func (b *backstage) forkTo(ctx context.Context, s *engine.Snapshot, dir string) (out forked) {
	dir = strings.TrimSpace(dir)
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return forked{err: err}
		}
		dir = filepath.Join(home, rest)
	}
	if dir == "" {
		return forked{err: fmt.Errorf("a fork needs a directory")}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(b.engine.Root(), dir)
	}
	out.dir, out.made, out.err = b.fork(ctx, b.engine, s, dir)
	return out
}

// takeForked tells what became of a fork.
func (m *model) takeForked(msg forked) tea.Cmd {
	if msg.err != nil {
		m.dialog = failure("The fork was not made", msg.err)
		return m.list(0)
	}
	t := &told{title: "Forked"}
	t.say(good, count(msg.made.Written, "file")+" of "+short(msg.made.ID)+" written to")
	t.say(usual, name(msg.dir))
	t.stays(msg.made)
	t.say(usual, "")
	t.say(faint, "“rewind adopt DIR” brings back what is done there, “rewind forks --remove DIR” removes it.")
	m.dialog = t
	return m.list(0)
}
