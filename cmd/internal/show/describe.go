package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// LineOf shows a snapshot on one line.
func LineOf(s *engine.Snapshot) string {
	return strings.TrimSpace(fmt.Sprintf("%s  %s  %s", s.ID.Short(), s.Time.Local().Format(time.DateTime), OneLine(describe(s))))
}

// LeftOutWord says in a word why a snapshot does not have a path.
func LeftOutWord(n engine.Note) string {
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

// LabelsOf returns the labels of a snapshot, the newest first.
func LabelsOf(s *engine.Snapshot) (labels []string) {
	for _, p := range slices.Backward(s.Points) {
		if p.Label != "" && !slices.Contains(labels, p.Label) {
			labels = append(labels, p.Label)
		}
	}
	return labels
}

// describe says in a few words what a snapshot was taken for.
func describe(s *engine.Snapshot) string {
	if s.Lost != "" {
		return "NOT WHOLE: " + s.Lost
	}
	if labels := LabelsOf(s); len(labels) > 0 {
		return strings.Join(labels, ", ")
	}
	if s.OfRestore() {
		return "what a restore replaced"
	}
	if text := describePrompts(s.Points); text != "" {
		return text
	}
	for _, p := range s.Points {
		if p.Trigger != "" && !byRestore(p) {
			return "(" + p.Trigger + ")"
		}
	}
	return ""
}

// describePrompts says which prompt an agent was about to work on, or had worked
// on. Of a state at which several prompts ended and began it is the newest that
// began: to that one the user wants to go back.
func describePrompts(points []engine.Point) string {
	after := ""
	for _, p := range slices.Backward(points) {
		switch {
		case p.Prompt == "":
		case p.Trigger == "prompt":
			return "before “" + p.Prompt + "”"
		case after == "":
			after = "(" + p.Trigger + ") “" + p.Prompt + "”"
		}
	}
	return after
}

// OneLine keeps labels, which come from prompts, from breaking a table, and shows
// them as plain does.
func OneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == ' ' }), " ")
	return visible.Line(Shorten(s, 72))
}

// Shorten is a text of at most so many characters.
func Shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// The words that may stand before a path.
const (
	Literal = ":(literal)"
	Glob    = ":(glob)"
)

// RecoveredText says what was done to finish an interrupted restore.
func RecoveredText(r *engine.Restored) string {
	back := "undo"
	if r.Undid {
		back = "redo"
	}
	return fmt.Sprintf("finished what had been interrupted: restored %s: %d written, %d deleted, %s; \"rewind %s\" returns to %s",
		r.ID.Short(), r.Written, r.Deleted, Count(len(r.Conflicts), "conflict"), back, r.Undo.Short())
}

// PrintRecord prints all that a record says.
func PrintRecord(w io.Writer, s *engine.Snapshot) {
	line := func(name, value string) {
		if value != "" {
			Say(w, "%-9s %s\n", name, value)
		}
	}
	line("snapshot", s.ID.String())
	line("tree", s.Tree.String())
	if !s.Overlay.IsZero() {
		line("overlay", s.Overlay.String()+" (what a git tree cannot hold, and ignored files: in rewind's own store alone)")
	}
	line("time", s.Time.Local().Format(time.RFC3339Nano))
	line("branch", s.Branch)
	line("head", s.Head.String())
	if s.Where != "." {
		line("worktree", s.Where)
	}
	if s.Source != nil {
		line("source", s.Source.Kind+" "+s.Source.Ref)
		line("commit", s.Source.Commit.String())
	}
	for _, p := range s.Points {
		line("label", OneLine(p.Label))
		line("session", OneLine(p.Session))
		line("entry", OneLine(p.Entry))
		if byRestore(p) {
			line("taken", "by a restore, before it changed files")
		} else {
			line("trigger", OneLine(p.Trigger))
		}
		line("agent", OneLine(p.Agent))
		line("prompt", OneLine(p.Prompt))
	}
	for _, n := range s.Skipped {
		line(LeftOutWord(n), Quote(n.Path)+": "+n.Reason)
	}
	for _, limit := range wire.Limits(s) {
		line("limit", limit)
	}
}
