package capture

import (
	"context"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// Again looks once more, at ignored files that are to be captured too, and takes all else
// from what was seen, which it closes.
func (s *Seen) Again(ctx context.Context, force []string) (*Seen, error) {
	return s.again(ctx, force, nil)
}

// Again is [Seen.Again], and puts what it reads into the same stage. If it fails, that is
// discarded.
func (s *Staged) Again(ctx context.Context, force []string) (*Staged, error) {
	seen, err := s.again(ctx, force, s.Stage)
	if err != nil {
		s.Stage.Discard()
		return nil, err
	}
	return &Staged{Seen: seen, Stage: s.Stage}, nil
}

func (s *Seen) again(ctx context.Context, force []string, stage *cas.Stage) (*Seen, error) {
	place, how := s.place, s.how
	how.Force = force
	table, only := s.Result.Again()
	if !s.Result.Partial() { // else it is the same table
		s.Close()
	}
	place.Table, place.Only = table, func() *worktree.Changes { return only }
	c := &capture{Place: place, how: how, stage: stage, broken: map[string]error{}, again: true}
	c.seen = &Seen{Memory: s.Memory, Forced: force, Rechecked: s.Rechecked, statTable: table, place: place, how: how}
	if err := c.run(ctx, nil); err != nil {
		return nil, err
	}
	return c.seen, nil
}
