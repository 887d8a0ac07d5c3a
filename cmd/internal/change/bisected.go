package change

import (
	"context"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/bisect"
)

// bisected is what --json prints of the verbs of bisect.
type bisected struct {
	First    *wire.Record   `json:"first,omitempty"`    // the first snapshot that fails
	Changes  []wire.Change  `json:"changes,omitempty"`  // of it, against the one before
	Possible []wire.Record  `json:"possible,omitempty"` // where the first is not known: it is one of these
	At       *wire.Record   `json:"at,omitempty"`       // the search goes on: the files are those of this one
	Left     *int           `json:"left,omitempty"`     // then: so many are still to be told of
	Tested   []tested       `json:"tested"`
	Home     string         `json:"home"`           // what was there before
	Back     *wire.Restored `json:"back,omitempty"` // what was done to put it back, of reset and of a failure
}

// tested is a snapshot with its verdict.
type tested struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict,omitempty"` // none: it was called off
	Exit    *int   `json:"exit,omitempty"`    // of the command
	Why     string `json:"why,omitempty"`     // it was skipped by itself: what hindered the test
	Left    string `json:"left,omitempty"`    // the snapshot of what was changed during the test
}

// newBisecting tells of a search that goes on.
func newBisecting(s *bisect.Bisect, at *engine.Snapshot) bisected {
	out := newBisected(s, bisect.Found{}, nil)
	record := wire.NewShown(at, nil).Record
	left, _ := s.Left()
	out.At, out.Left = &record, &left
	return out
}

// newBisected tells what a search came to; back is what was done to put the present
// back, nil if that is not to be told.
func newBisected(s *bisect.Bisect, f bisect.Found, back *engine.Restored) bisected {
	out := bisected{Tested: []tested{}, Home: s.Home().String()}
	if f.First != nil {
		record := wire.NewShown(f.First, nil).Record
		out.First = &record
	}
	for _, p := range f.Possible {
		out.Possible = append(out.Possible, wire.NewShown(p, nil).Record)
	}
	for _, t := range s.Tested() {
		out.Tested = append(out.Tested, tested{ID: t.ID.String(), Verdict: string(t.Verdict), Exit: t.Exit, Why: t.Why, Left: t.Left.String()})
	}
	if back != nil {
		out.Back = wire.NewRestored(back, 0)
	}
	return out
}

// printFound tells what a search came to.
func (b *bisecting) printFound(ctx context.Context, s *bisect.Bisect) error {
	f, err := s.Found(ctx)
	if err != nil {
		return err
	}
	var d *engine.Diff
	if f.First != nil && f.Before != nil {
		if d, err = b.Engine.Diff(ctx, f.Before, f.First, nil); err != nil {
			return err
		}
	}
	b.printTested(s)
	if b.JSON {
		out := newBisected(s, f, nil)
		if d != nil {
			changes, err := verb.Difference(ctx, d, true)
			if err != nil {
				return err
			}
			out.Changes = changes.Changes
		}
		b.PrintJSON(out)
		return undecided(f)
	}
	if f.First == nil {
		show.Say(b.Err, "rewind: it cannot be told which is the first, for these were skipped; it is one of:\n")
		for _, p := range f.Possible {
			show.Say(b.Out, "%s\n", show.LineOf(p))
		}
		return undecided(f)
	}
	show.Say(b.Out, "the first that fails is\n%s\n", show.LineOf(f.First))
	if d == nil {
		return nil
	}
	return show.PrintStat(ctx, b.Out, d, show.Colored(b.Out))
}

// undecided is how a search ends that has not found one snapshot.
func undecided(f bisect.Found) error {
	if f.First == nil {
		return exit.ErrPartial
	}
	return nil
}

// printTested names what tests have left, and says where none of them could be run.
func (b *bisecting) printTested(s *bisect.Bisect) {
	ran := len(s.Command()) == 0 || len(s.Tested()) == 0
	for _, t := range s.Tested() {
		ran = ran || t.Exit == nil || *t.Exit != exit.NotFound && *t.Exit != exit.NotRun
	}
	if !ran {
		show.Say(b.Err, "rewind: warning: %s could not be run at any of the snapshots, which counts as a failure\n", s.Command()[0])
	}
	b.printLeft(s, &engine.Restored{})
	show.Say(b.Err, "rewind: the files are as they were before\n")
}
