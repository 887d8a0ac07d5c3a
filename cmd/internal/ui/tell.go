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
func failure(title string, err error) outcome {
	o := outcome{title: title, whole: true}
	for _, text := range strings.Split("! "+visible.Lines(err.Error()), "\n") {
		o.lines = append(o.lines, said(bad, text))
	}
	switch {
	case errors.Is(err, engine.ErrUnfinished):
		o.lines = append(o.lines, nil, said(usual, "z takes back what was begun; anything that records or restores finishes it."))
	case errors.Is(err, engine.ErrDamaged):
		o.lines = append(o.lines, nil, said(usual, "“rewind verify” names what is affected."))
	}
	return o
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
		return failure(d.title, err)
	}
	return outcome{title: d.title, lines: left([][]span{said(good, sayDone(d, r, took))}, r)}
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
	lines = stays(lines, "* renewed ", r.Renewed, careful)
	if r.Bridge != nil {
		lines = append(lines, said(careful, "! "+line(r.Bridge.Error())))
	}
	return lines
}
