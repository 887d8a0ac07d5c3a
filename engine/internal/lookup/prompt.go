package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

// promptPrefix begins the name of a state by the prompt that an agent was then
// about to work on.
const promptPrefix = "prompt:"

// promptTrigger is the trigger of a point that was made before an agent worked on a
// prompt. [Engine.Resolve] finds such points by the id of the prompt.
const promptTrigger = "prompt"

// resolvePrompt returns the snapshot of the state before a prompt, by the prompt's
// id or a beginning of it. A prompt that came again, after the agent had been
// interrupted, has several: the first one counts.
func (r *Reader) resolvePrompt(ctx context.Context, id string) (*records.Snapshot, error) {
	if id == "" {
		return nil, fmt.Errorf("%w: which prompt? (\"rewind show ID\" has it as \"entry\")", ErrNoSnapshot)
	}
	list, err := r.List(ctx, &Options{})
	if err != nil {
		return nil, err
	}
	type state struct {
		snapshot *records.Snapshot
		at       time.Time
	}
	found := map[string]state{}
	for _, s := range list {
		for _, p := range s.Points {
			if p.Trigger != promptTrigger || !strings.HasPrefix(p.Entry, id) {
				continue
			}
			if known, ok := found[p.Entry]; !ok || p.Time.Before(known.at) {
				found[p.Entry] = state{s, p.Time}
			}
		}
	}
	if exact, ok := found[id]; ok {
		return exact.snapshot, nil
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: no prompt of this worktree has the id %s", ErrNoSnapshot, id)
	case 1:
		for _, one := range found {
			return one.snapshot, nil
		}
	}
	var several []*records.Snapshot
	for _, one := range found {
		several = append(several, one.snapshot)
	}
	newestFirst(several)
	return nil, ambiguous(fmt.Sprintf("the ids of %d prompts begin with %s", len(found), id), several)
}
