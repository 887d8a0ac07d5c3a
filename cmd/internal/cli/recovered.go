package cli

import (
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// PrintRecovered tells a person the same, as soon as it is done.
func (a *App) PrintRecovered(r *engine.Restored) {
	a.Progress.Clear()
	a.Note("renewed", r.Renewed)
	a.NoteLeft(r.Kept, r.Conflicts, nil)
	show.Say(a.Err, "rewind: %s\n", show.RecoveredText(r))
}

// Also is how a command ends that has finished an interrupted restore first.
func Also(r *engine.Restored, err error) error {
	if err == nil && r != nil {
		return Outcome(r)
	}
	return err
}

// Outcome is how a command ends that wrote files.
func Outcome(r *engine.Restored) error {
	switch {
	case r.Damaged:
		return exit.ErrDamageFound
	case len(r.Conflicts)+len(r.Marked) > 0:
		return exit.ErrPartial
	case r.Recovered != nil:
		return Outcome(r.Recovered)
	}
	return nil
}
