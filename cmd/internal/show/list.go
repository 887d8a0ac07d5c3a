package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/when"
)

// A Listing is how snapshots are listed.
type Listing struct {
	Opt          engine.ListOptions
	Since, Until string
	Oneline      bool
	Graph        bool
}

// Check reads what the flags say.
func (l *Listing) Check(paths []string) error {
	if l.Opt.Limit < 0 {
		return exit.Usagef("--limit %d is negative", l.Opt.Limit)
	}
	if l.Graph && (l.Filtered() || len(paths) > 0 || l.Opt.All || l.Oneline) {
		return exit.Usagef("--graph draws the whole history of this worktree: of the other flags it takes --limit alone")
	}
	now := time.Now()
	for _, t := range []struct {
		flag, text string
		set        func(when.Range)
	}{
		{"--since", l.Since, func(s when.Range) { l.Opt.Since = s.From }},
		{"--until", l.Until, func(s when.Range) { l.Opt.Until = s.To }},
	} {
		if t.text == "" {
			continue
		}
		span, err := when.Parse(t.text, now)
		if err != nil {
			return exit.Usagef("%s: %w", t.flag, err)
		}
		t.set(span)
	}
	if o := l.Opt; !o.Since.IsZero() && !o.Until.IsZero() && o.Since.After(o.Until) {
		return exit.Usagef("--since %q is later than --until %q", l.Since, l.Until)
	}
	return nil
}

// Filtered reports whether only some snapshots are asked for, by what they say or did.
func (l *Listing) Filtered() bool {
	o := l.Opt
	return o.Session != "" || o.Trigger != "" || o.Grep != "" || l.Since != "" || l.Until != "" || len(o.Paths) > 0
}

// Nowhere is the error of a list of paths that is empty: nothing ever had them.
func (l *Listing) Nowhere() error {
	alone := *l
	alone.Opt.Paths = nil
	if len(l.Opt.Paths) == 0 || alone.Filtered() {
		return nil
	}
	return fmt.Errorf("%w: none of this worktree ever had %s", engine.ErrNoSnapshot, strings.Join(shownPaths(l.Opt.Paths), " or "))
}

// shownPaths are paths as a person would write them.
func shownPaths(paths []string) (out []string) {
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, ":("); ok {
			_, p, _ = strings.Cut(rest, ")")
		}
		out = append(out, Quote(engine.Path(p)))
	}
	return out
}
