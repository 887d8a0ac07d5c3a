package main

import (
	"fmt"

	"github.com/seed-82afce7a/rewind/engine"
)

// printRecovered tells a person the same, as soon as it is done.
func (a *app) printRecovered(r *engine.Restored) {
	a.progress.clear()
	a.printRenewed(r.Renewed)
	a.printKept(r.Kept, r.Conflicts)
	say(a.err, "rewind: %s\n", recoveredText(r))
}

func recoveredText(r *engine.Restored) string {
	back := "undo"
	if r.Undid {
		back = "redo"
	}
	return fmt.Sprintf("finished what had been interrupted: restored %s: %d written, %d deleted, %s; \"rewind %s\" returns to %s",
		short(r.ID), r.Written, r.Deleted, count(len(r.Conflicts), "conflict"), back, short(r.Undo))
}

// also is how a command ends that has finished an interrupted restore first.
func also(r *engine.Restored, err error) error {
	if err == nil && r != nil {
		return outcome(r)
	}
	return err
}
