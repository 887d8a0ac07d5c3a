package ui

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// failure tells of an error.
func failure(title string, err error) *told {
	t := &told{title: title}
	for i, text := range strings.Split(visible.Lines(err.Error()), "\n") {
		if i == 0 {
			text = "! " + text
		}
		t.say(bad, text)
	}
	switch {
	case errors.Is(err, engine.ErrUnfinished):
		t.say(usual, "")
		t.say(usual, "z takes back what was begun; anything that records or restores finishes it.")
	case errors.Is(err, engine.ErrDamaged):
		t.say(usual, "")
		t.say(usual, "“rewind verify” names what is affected.")
	}
	return t
}

// sayDone says in one line what a deed has done.
func sayDone(d done) string {
	r, did := d.restored, "restored "+short(d.restored.ID)
	if d.deed.did != "" {
		did = d.deed.did
	}
	if r.Undo.IsZero() && d.deed.did != "" {
		return "nothing to change: the files have none of it"
	}
	if r.Undo.IsZero() {
		return "nothing to change: the files are as " + short(r.ID) + " has them"
	}
	return fmt.Sprintf("%s: %s written, %s deleted in %v; %s takes it back", did, number(r.Written), number(r.Deleted), d.took.Round(time.Millisecond), d.deed.back)
}

// tell tells what a deed has done where that needs more than a line; else it is nil.
func tell(d done) dialog {
	if d.err != nil {
		return failure(d.deed.title, d.err)
	}
	r := d.restored
	if len(r.Kept)+len(r.Conflicts)+len(r.Renewed) == 0 && r.Bridge == nil && r.Recovered == nil {
		return nil
	}
	t := &told{title: d.deed.title}
	t.say(good, sayDone(d))
	if r.Recovered != nil {
		t.say(careful, "before that, an interrupted restore was finished:")
		t.restored(r.Recovered)
	}
	t.stays(r)
	return t
}

// restored adds what a restore has done.
func (d *told) restored(r *engine.Restored) {
	d.say(good, fmt.Sprintf("%s: %s written, %s deleted", short(r.ID), number(r.Written), number(r.Deleted)))
	d.stays(r)
}

// stays adds what a restore has left as it was, and what is wrong beside it.
func (d *told) stays(r *engine.Restored) {
	if len(r.Conflicts) > 0 {
		d.say(danger, "not restored, and what was there is still there:")
	}
	for _, n := range r.Conflicts {
		d.lines = append(d.lines, stays("! conflict", n, danger))
	}
	if len(r.Kept) > 0 {
		d.say(usual, "kept as they are:")
	}
	for _, n := range r.Kept {
		d.lines = append(d.lines, stays("= keep    ", n, faint))
	}
	for _, n := range r.Renewed {
		d.lines = append(d.lines, stays("* renewed ", n, careful))
	}
	if r.Bridge != nil {
		d.say(careful, "! "+line(r.Bridge.Error()))
	}
}

// sayRecorded says in one line what a snapshot came to.
func sayRecorded(r *engine.Recorded) string {
	what := count(r.Changed, "path") + " changed"
	switch {
	case r.Uncounted != nil:
		what = "recorded"
	case r.First:
		what = count(r.Changed, "file") + " recorded"
	case r.Reused && r.Changed == 0:
		what = "unchanged since the last snapshot"
	case r.Reused:
		what += "; this state was recorded already"
	}
	return short(r.ID) + "  " + what
}

// tellRecorded tells of a snapshot where that needs more than a line; else it is nil.
func tellRecorded(msg recorded) dialog {
	if msg.err != nil {
		return failure("Nothing was recorded", msg.err)
	}
	r := msg.recorded
	t := &told{title: "Recorded"}
	t.say(good, sayRecorded(r))
	if r.Unfinished != nil {
		t.say(danger, "! "+line(r.Unfinished.Error()))
	}
	if r.Recovered != nil {
		t.say(careful, "before that, an interrupted restore was finished:")
		t.restored(r.Recovered)
	}
	for _, n := range r.Unexpected {
		t.lines = append(t.lines, stays("! skipped ", n, danger))
	}
	for _, n := range r.Unstable {
		t.lines = append(t.lines, stays("! unstable", n, careful))
	}
	for _, n := range r.Aside {
		t.lines = append(t.lines, stays("= in the store alone", n, faint))
	}
	if r.Uncounted != nil {
		t.say(careful, "what changed could not be counted: "+line(r.Uncounted.Error()))
	}
	if r.Bridge != nil {
		t.say(careful, "! "+line(r.Bridge.Error()))
	}
	for _, p := range r.Exposed {
		t.say(careful, "! may hold secrets, and is in git objects now: "+name(string(p)))
	}
	if len(t.lines) == 1 {
		return nil
	}
	return t
}
