package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// failure tells of an error.
func failure(title string, err error) *dialog {
	var lines [][]span
	for _, text := range strings.Split("! "+visible.Lines(err.Error()), "\n") {
		lines = append(lines, said(bad, text))
	}
	switch {
	case errors.Is(err, engine.ErrUnfinished):
		lines = append(lines, nil, said(usual, "z takes back what was begun; anything that records or restores finishes it."))
	case errors.Is(err, engine.ErrDamaged):
		lines = append(lines, nil, said(usual, "“rewind verify” names what is affected."))
	}
	return told(title, lines...)
}

// sayDone says in one line what a deed has done.
func sayDone(d deed, r *engine.Restored, took time.Duration) string {
	switch {
	case r.Undo.IsZero() && d.did != "":
		return "nothing to change: the files have none of it"
	case r.Undo.IsZero():
		return "nothing to change: the files are as " + short(r.ID) + " has them"
	}
	return fmt.Sprintf("%s: %s written, %s deleted in %v; %s takes it back", cmp.Or(d.did, "restored "+short(r.ID)), number(r.Written), number(r.Deleted), took.Round(time.Millisecond), d.back)
}

// tell tells what a deed has done.
func tell(d deed, r *engine.Restored, err error, took time.Duration) outcome {
	if errors.Is(err, context.Canceled) && !errors.Is(err, engine.ErrUnfinished) {
		return calledOff
	}
	if err != nil {
		return outcome{dialog: failure(d.title, err)}
	}
	return brief(d.title, sayDone(d, r, took), left(before(nil, r.Recovered), r))
}

// brief tells something in one line, or in a dialog if there is more to say.
func brief(title, text string, more [][]span) outcome {
	if more == nil {
		return outcome{toast: span{text, good}}
	}
	return outcome{dialog: told(title, append([][]span{said(good, text)}, more...)...)}
}

// before adds what was finished before that, if anything was.
func before(lines [][]span, r *engine.Restored) [][]span {
	if r == nil {
		return lines
	}
	return restored(append(lines, said(careful, "before that, an interrupted restore was finished:")), r)
}

// restored adds what a restore has done.
func restored(lines [][]span, r *engine.Restored) [][]span {
	return left(append(lines, said(good, fmt.Sprintf("%s: %s written, %s deleted", short(r.ID), number(r.Written), number(r.Deleted)))), r)
}

// left adds what a restore has left as it was, and what is wrong beside it.
func left(lines [][]span, r *engine.Restored) [][]span {
	if len(r.Conflicts) > 0 {
		lines = append(lines, said(danger, "not restored, and what was there is still there:"))
	}
	lines = stays(lines, "! conflict", r.Conflicts, danger)
	if len(r.Kept) > 0 {
		lines = append(lines, said(usual, "kept as they are:"))
	}
	lines = stays(lines, "= keep    ", r.Kept, faint)
	return warn(stays(lines, "* renewed ", r.Renewed, careful), careful, "", r.Bridge)
}

// warn adds an error that has not stopped anything, if there is one.
func warn(lines [][]span, l look, what string, err error) [][]span {
	if err != nil {
		lines = append(lines, said(l, "! "+what+line(err.Error())))
	}
	return lines
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

// tellRecorded tells of a snapshot.
func tellRecorded(r *engine.Recorded, err error) outcome {
	if err != nil {
		return outcome{dialog: failure("Nothing was recorded", err)}
	}
	lines := before(warn(nil, danger, "", r.Unfinished), r.Recovered)
	lines = stays(lines, "! skipped ", r.Unexpected, danger)
	lines = stays(lines, "! unstable", r.Unstable, careful)
	lines = stays(lines, "= in the store alone", r.Aside, faint)
	lines = warn(lines, careful, "what changed could not be counted: ", r.Uncounted)
	lines = warn(lines, careful, "", r.Bridge)
	for _, p := range r.Exposed {
		lines = append(lines, said(careful, "! may hold secrets, and is in git objects now: "+name(string(p))))
	}
	return brief("Recorded", sayRecorded(r), lines)
}
