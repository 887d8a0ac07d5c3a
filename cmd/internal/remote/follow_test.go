package remote

import (
	"strings"
	"testing"
	"time"
)

func TestStatusSaysFromWhenOnASnapshotBeginsAPush(t *testing.T) {
	now := time.Now()
	p := &Pushing{Remote: "disk", Waiting: 1, Error: "no disk", Failed: now, begins: now.Add(time.Minute)}
	text := p.Sentence()
	_, after, _ := strings.Cut(text, "; a snapshot after ")
	clock, means, _ := strings.Cut(after, " ")
	if means != "begins a process that pushes" || strings.Contains(text, "the next snapshot") {
		t.Fatalf("it says %q", text)
	}
	shown, err := time.ParseInLocation(time.DateTime, p.begins.Local().Format(time.DateOnly+" ")+clock, time.Local)
	if err != nil || shown.Before(p.begins) && p.begins.Sub(shown) < time.Hour || shown.Sub(p.begins) >= time.Second {
		t.Errorf("it says %s for %v: %v", clock, p.begins, err)
	}
	p.begins = now.Add(-time.Second)
	if text := p.Sentence(); !strings.HasSuffix(text, "; the next snapshot begins a process that pushes") {
		t.Errorf("after that moment it says %q", text)
	}
}
