package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// A moment is a snapshot as the timeline shows it.
type moment struct {
	snapshot *engine.Snapshot
	title    []span // what it was taken for
	session  string // of the conversation; "": none
	agent    string
	pins     []string
	undo     int    // the N of undo:N; 0: none
	replaced string // what that replaced
	here     bool
	hay      string // what the filter looks through, in small letters
}

// A past is all that the timeline shows, newest first.
type past struct {
	moments []*moment
	branch  string // that HEAD is on
	part    bool   // older ones are still being read
	damage  error  // of some snapshots the records are damaged
}

// maxText is how much of a text from outside is looked at.
const maxText = 4096

// readPast reads the timeline: at most so many snapshots, 0 for all.
func readPast(ctx context.Context, e *engine.Engine, opt engine.ListOptions) (p past, err error) {
	list, err := e.List(ctx, &opt)
	if err != nil && (len(list) == 0 || !errors.Is(err, engine.ErrDamaged)) {
		return p, err
	}
	p.damage, p.part, p.branch = err, opt.Limit > 0 && len(list) == opt.Limit, e.Branch()
	all, err := show.MomentsOf(ctx, e)
	p.damage = errors.Join(p.damage, err)
	undo := map[oid.ID]int{}
	for i, op := range slices.Backward(all.Ops) {
		undo[op.From] = i + 1
	}
	for _, s := range list {
		m := &moment{snapshot: s, here: all.Here != nil && all.Here.ID == s.ID, pins: all.Pins[s.ID], undo: undo[s.ID]}
		if m.undo > 0 {
			m.replaced = all.Replaced(m.undo - 1)
		}
		m.describe()
		p.moments = append(p.moments, m)
	}
	return p, ctx.Err()
}

// describe fills in what is said of a snapshot.
func (m *moment) describe() {
	s := m.snapshot
	made := false // by a turn of the session, rather than before one
	for _, p := range slices.Backward(s.Points) {
		if p.Session != "" && (m.session == "" || !made && p.Trigger != beforePrompt) {
			m.session, m.agent, made = p.Session, line(p.Agent), p.Trigger != beforePrompt
		}
	}
	m.title = m.titleOf()
	hay := []string{s.ID.String(), s.Branch, m.session, m.agent, textOf(m.title)}
	if s.Where != "." {
		hay = append(hay, s.Where)
	}
	for _, p := range s.Points {
		hay = append(hay, p.Label, p.Prompt, p.Trigger)
	}
	hay = append(hay, m.pins...)
	if m.undo > 0 {
		hay = append(hay, m.undoName())
	}
	if c := s.Changed; c != nil {
		for _, n := range c.Names {
			hay = append(hay, n.Path)
		}
	}
	for i := range hay {
		hay[i] = hay[i][:min(len(hay[i]), maxText)]
	}
	m.hay = strings.ToLower(strings.Join(hay, "\n"))
}

// undoName is what a person types for what a restore replaced.
func (m *moment) undoName() string { return fmt.Sprintf("undo:%d", m.undo) }

// titleOf says in a few words what a snapshot was taken for: what it lost, its
// label, what a restore replaced, the prompt of the turn that made it, the one that
// came next, or what triggered it.
func (m *moment) titleOf() []span {
	s := m.snapshot
	if s.Lost != "" {
		return []span{{"not whole: ", danger}, {line(s.Lost), bad}}
	}
	if label := s.Label(); label != "" {
		return []span{{line(label), usual}}
	}
	if s.OfRestore() {
		return []span{{cmp.Or(m.replaced, "what a restore replaced"), faint}}
	}
	if prompt := m.prompt(false); prompt != nil {
		return prompt
	}
	if prompt := m.prompt(true); prompt != nil {
		return prompt
	}
	for _, p := range s.Points {
		if p.Trigger != "" && p.Trigger != "undo" {
			return append([]span{{"(" + line(p.Trigger) + ")", faint}}, m.names()...)
		}
	}
	if s.Source != nil {
		return []span{{line(s.Source.Kind + " " + s.Source.Ref), faint}}
	}
	if names := m.names(); names != nil {
		return names
	}
	return []span{{"snapshot", faint}}
}

// beforePrompt is the trigger of a state before an agent worked on a prompt.
const beforePrompt = "prompt"

// prompt says on which prompt an agent had worked when the snapshot was taken, or
// before which it was. Of several it is the newest; nil: there is none.
func (m *moment) prompt(before bool) []span {
	for _, p := range slices.Backward(m.snapshot.Points) {
		if p.Prompt == "" || before != (p.Trigger == beforePrompt) {
			continue
		}
		spans := []span{{"“" + line(p.Prompt) + "”", usual}}
		if before {
			spans = append([]span{{"before ", faint}}, spans...)
		}
		return spans
	}
	return nil
}

// names are the most telling of the names that a snapshot changed, where they are
// recorded.
func (m *moment) names() []span {
	c := m.snapshot.Changed
	if c == nil || !c.Known {
		return nil
	}
	var list []string
	for _, n := range c.Told().Telling(3) {
		text := name(path.Base(n.Path))
		if n.From != "" {
			text = name(renamed(n.From, n.Path))
		}
		list = append(list, text)
	}
	if list == nil {
		return nil
	}
	return []span{{" " + strings.Join(list, ", "), usual}}
}

// renamed says in as few words what was renamed: without the directory where that is
// the same, or without the last name.
func renamed(from, to string) string {
	if path.Dir(from) == path.Dir(to) {
		from, to = path.Base(from), path.Base(to)
	}
	return from + " → " + to
}

// matches reports whether a moment has every word of a filter.
func (m *moment) matches(words []string) bool {
	for _, w := range words {
		if !strings.Contains(m.hay, w) {
			return false
		}
	}
	return true
}

// when says the time of a snapshot in twelve cells, or in six.
func when(at, now time.Time, wide bool) string {
	at, now = at.Local(), now.Local()
	today := at.YearDay() == now.YearDay() && at.Year() == now.Year()
	switch {
	case today && wide:
		return fmt.Sprintf("%12s", at.Format("15:04"))
	case today:
		return " " + at.Format("15:04")
	case wide && at.Year() != now.Year():
		return fmt.Sprintf("%12s", at.Format("2 Jan 2006"))
	case wide:
		return fmt.Sprintf("%12s", at.Format("2 Jan 15:04"))
	case at.Year() != now.Year():
		return " " + at.Format("Jan06")
	}
	return fmt.Sprintf("%6s", at.Format("2 Jan"))
}

// line shows text from outside in one line: blanks for what breaks one, escapes
// for what a terminal obeys.
func line(s string) string {
	s = s[:min(len(s), maxText)]
	return visible.Line(strings.Join(strings.Fields(s), " "))
}

// name shows a path, of which every character counts.
func name(p string) string { return visible.Line(p[:min(len(p), maxText)]) }

func textOf(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// short is the part of an id that a person reads and types.
func short(id oid.ID) string { return id.Short() }

// count puts a number before a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// number writes a number with a comma before each three digits.
func number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
