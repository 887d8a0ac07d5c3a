package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestThePromptNamesTheStateBeforeIt(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	point := func(trigger, id string) *SnapshotOptions {
		return &SnapshotOptions{Session: "s", Entry: id, Trigger: trigger, Agent: "claude", Prompt: "words of " + id}
	}
	zero := p.snap(e, "zero", point("prompt", "6f96-1")).ID
	p.snap(e, "one", point("turn", "6f96-1"))
	p.snap(e, "half", point("prompt", "6f96-1")) // the agent was interrupted and began again
	two := p.snap(e, "two", point("prompt", "6f96-12")).ID
	for text, want := range map[string]any{
		"prompt:6f96-1": zero, "prompt:6f96-12": two, "prompt:6f96": ErrAmbiguous, "prompt:": ErrNoSnapshot, "prompt:7": ErrNoSnapshot,
	} {
		s, err := e.Find(context.Background(), text)
		if fails, ok := want.(error); ok {
			if !errors.Is(err, fails) {
				t.Errorf("%s: %v, want %v", text, err, fails)
			}
		} else if err != nil || s.ID != want {
			t.Errorf("%s: %v, %v, want %v", text, s, err, want)
		}
	}
	s := p.find(e, "prompt:6f96-12")
	if got := s.Points[0]; got.Agent != "claude" || got.Prompt != "words of 6f96-12" {
		t.Errorf("the point is %+v", got)
	}
}

func TestLimitsApplyToSessionsOfAgentsWithoutALedger(t *testing.T) {
	p := newPlace(t, false)
	p.must(os.MkdirAll(filepath.Join(p.home, ".pi", "agent", "sessions"), 0o755))
	e := p.open()
	old := p.snap(e, "old", &SnapshotOptions{Session: "s1", Agent: "claude"}).ID
	pi := p.snap(e, "of Pi", &SnapshotOptions{Session: "s2"}).ID
	last := p.snap(e, "last", &SnapshotOptions{Session: "s1", Agent: "claude"}).ID
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if left := p.records(e); has(left, old) || !has(left, pi) || !has(left, last) {
		t.Errorf("%v are left of %v, %v, %v", left, old, pi, last)
	}
}
