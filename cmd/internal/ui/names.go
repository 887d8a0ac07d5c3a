package ui

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

// A Runner carries out a command of rewind on the engine that is shown, in the directory
// of its worktree. It returns what the command prints, and its exit code.
type Runner func(ctx context.Context, args ...string) (said string, code int)

// askCommand asks for a text, with which a command is carried out. What that prints is
// the outcome.
func (m *model) askCommand(title, label, text string, args func(text string) []string) tea.Cmd {
	room := m.w
	return m.ask(title, label, text, func(ctx context.Context, text string) tea.Msg {
		said, code := m.back.run(ctx, args(strings.TrimSpace(text))...)
		o := printed(title, said, code)
		o.whole = code != exit.Done || width(said) > room
		return o
	})
}

// printed is what a command came to.
func printed(title, text string, code int) outcome {
	o, l := outcome{title: title}, good
	if code != exit.Done {
		l = bad
	}
	for text := range strings.Lines(text) {
		o.lines = append(o.lines, said(l, name(strings.TrimSuffix(text, "\n"))))
	}
	return o
}

// askRecord asks for the label of a snapshot.
func (m *model) askRecord() tea.Cmd {
	return m.askCommand("Record the files as they are", "label (may be empty)", "", func(text string) []string {
		return []string{"snapshot", "--message=" + text}
	})
}

// askOf asks for a text about the chosen snapshot.
func (m *model) askOf(what, title, label, text string, args func(id, text string) []string) tea.Cmd {
	s := m.timeline.shown()
	if s == nil {
		return m.say("choose a snapshot to " + what + " (c records the present)")
	}
	return m.askCommand(title+short(s.ID), label, text, func(text string) []string { return args(s.ID.String(), text) })
}

func (m *model) askPin() tea.Cmd {
	return m.askOf("pin", "Pin ", "name", "", func(id, text string) []string { return []string{"pin", "--", id, text} })
}

// askUnpin asks which pin of the snapshot to take away.
func (m *model) askUnpin() tea.Cmd {
	t := m.timeline.momentOf()
	if t == nil || len(t.pins) == 0 {
		return m.say("no pin is here to be taken away")
	}
	return m.askOf("unpin", "Take a pin away from ", "name", t.pins[0], func(_, text string) []string { return []string{"pin", "--remove", "--", text} })
}

func (m *model) askLabel() tea.Cmd {
	return m.askOf("label", "Label ", "label", "", func(id, text string) []string { return []string{"label", "--", id, text} })
}

// askUnlabel asks which label of the snapshot to take away.
func (m *model) askUnlabel() tea.Cmd {
	s := m.timeline.shown()
	if s == nil || s.Label() == "" {
		return m.say("no label is here to be taken away")
	}
	return m.askOf("unlabel", "Take a label away from ", "label", s.Label(), func(id, text string) []string { return []string{"label", "--remove", "--", id, text} })
}

// askFork asks for the directory of a fork. A relative name is taken from the worktree,
// "~/" for the home directory.
func (m *model) askFork() tea.Cmd {
	text := ""
	if s, root := m.timeline.shown(), m.back.engine.Root(); s != nil && strings.ToValidUTF8(root, "") == root {
		text = root + "-" + short(s.ID)[:8]
	}
	return m.askOf("fork", "A second directory of ", "new directory", text, func(id, text string) []string {
		if rest, ok := strings.CutPrefix(text, "~/"); ok {
			home, _ := os.UserHomeDir() // without one it is a relative name, as a shell has it
			text = filepath.Join(home, rest)
		}
		return []string{"fork", "--", id, text}
	})
}
