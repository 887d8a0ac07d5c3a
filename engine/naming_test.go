package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// timed is a history of which each snapshot was recorded at a time of its own.
func timed(t *testing.T) (p *place, e *Engine, ids map[string]oid.ID) {
	p = newPlace(t, false)
	e, ids = p.open(), map[string]oid.ID{}
	now := time.Now()
	for _, s := range []struct {
		name  string
		ago   time.Duration
		point SnapshotOptions
	}{
		{"old", 50 * time.Hour, SnapshotOptions{Label: "before the rewrite"}},
		{"one", 3 * time.Hour, SnapshotOptions{Label: "twice"}},
		{"two", 2 * time.Hour, SnapshotOptions{Label: "twice", Session: "s"}},
		{"new", 5 * time.Minute, SnapshotOptions{Trigger: "prompt", Entry: "e1", Prompt: "Mend the Parser of dates"}},
	} {
		e.now = func() time.Time { return now.Add(-s.ago) }
		ids[s.name] = p.snap(e, s.name, &s.point).ID
	}
	e.now = time.Now
	p.must(e.Pin(context.Background(), "kept", ids["one"]))
	return p, e, ids
}

func TestAMomentIsNamedByTimeLabelPinAndText(t *testing.T) {
	_, e, ids := timed(t)
	for text, want := range map[string]string{
		"@": "new", "@~0": "new", "@~3": "old", "@{now}": "new", "@{4 minutes ago}": "new", "@{10 minutes ago}": "two",
		"@{150m}": "one", "@{150 minutes ago}": "one", "@{2 days ago}": "old",
		"@{" + time.Now().Add(-150*time.Minute).Format("2006-01-02 15:04") + "}": "one",
		"@{" + time.Now().Format(time.DateOnly) + "}":                            "new",
		"label:before the rewrite":                                               "old", "label:Before The Rewrite": "old",
		"pin:kept": "one", "kept": "one", ":/parser": "new", ":/REWRITE": "old", ":/twice": "two", "prompt:e1": "new",
	} {
		s, err := e.Find(context.Background(), text)
		if err != nil || s.ID != ids[want] {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestANameThatMeansNothingOrSeveralSaysSo(t *testing.T) {
	p, e, ids := timed(t)
	one, two := ids["one"].String()[:12], ids["two"].String()[:12]
	for text, want := range map[string][]string{
		"@{soon}":        {"no such snapshot", `"soon" is no time`, "10 minutes ago"},
		"@{}":            {"no such snapshot", "an empty text is no time"},
		"@{now":          {"no such snapshot", "not closed"},
		"@{3 weeks ago}": {"no such snapshot", "nothing is that old", "the oldest of this worktree is of " + time.Now().Add(-50*time.Hour).Format(time.DateOnly)},
		"@{" + time.Now().AddDate(1, 0, 0).Format(time.DateOnly) + "}": {"no such snapshot", "yet to come"},
		"label:":       {"no such snapshot", "which label?"},
		"label:none":   {"no such snapshot", `the label "none"`},
		"label:twice":  {"ambiguous", one, two, `2 snapshots have the label "twice"`},
		"pin:none":     {"no such snapshot", `pinned as "none"`},
		":/":           {"no such snapshot", "which text?"},
		":/unheard of": {"no such snapshot", `has "unheard of"`},
		"@~9":          {"no such snapshot", "4 recorded on purpose"},
		"@x":           {"no such snapshot", "@{TIME}"},
	} {
		_, err := e.Find(context.Background(), text)
		if err == nil || !errors.Is(err, ErrNoSnapshot) && !errors.Is(err, ErrAmbiguous) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %q does not have %q", text, err, part)
			}
		}
	}
	for _, name := range []string{"@{now}", "label:x", "pin:x", ":/x", "undo:1"} {
		if err := e.Pin(context.Background(), name, ids["one"]); !errors.Is(err, ErrRefused) {
			t.Errorf("a pin is called %s: %v", name, err)
		}
	}
	empty := newPlace(t, false).open()
	if _, err := empty.Find(context.Background(), "@{now}"); !errors.Is(err, ErrNoSnapshot) || !strings.Contains(err.Error(), "nothing was recorded") {
		t.Error(err)
	}
	if got := p.records(e); len(got) != 4 {
		t.Errorf("%d snapshots", len(got))
	}
}
