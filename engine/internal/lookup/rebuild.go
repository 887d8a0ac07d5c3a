package lookup

import (
	"context"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/foreign"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// snapshot makes a record of a checkpoint.
func (r *Outside) snapshot(c foreign.Checkpoint) *records.Snapshot {
	g := &records.Limits{GitOnly: true, FreshIndex: c.Limits.FreshIndex, Incomplete: c.Limits.Incomplete, Names: c.Limits.Names}
	for _, p := range c.Limits.Paths {
		g.Paths = append(g.Paths, records.Path(p))
	}
	return &records.Snapshot{
		ID: c.Commit, Tree: c.Tree, Umask: r.Umask, Time: c.Time, Branch: c.Branch, Head: c.Head, Rules: r.Rules,
		Points: []records.Point{{Label: c.Label, Session: c.Session, Entry: c.Entry, Trigger: c.Trigger, Time: c.Time}},
		Source: &records.Source{Kind: string(c.Kind), Ref: c.Ref, Commit: c.Commit}, Limits: g,
	}
}

// mergeRefs adds to s what another ref says of the same commit. What either could
// not have contained, both could not.
func mergeRefs(s, t *records.Snapshot) {
	s.Points = append(s.Points, t.Points...)
	if t.Time.After(s.Time) {
		s.Time = t.Time
	}
	g, h := s.Limits, t.Limits
	g.FreshIndex, g.Incomplete = g.FreshIndex || h.FreshIndex, g.Incomplete || h.Incomplete
	if len(g.Names) == 0 {
		g.Names = h.Names
	}
	g.Paths = append(g.Paths, h.Paths...)
}

// Kept makes a record of a snapshot that the store ref keeps.
func (r *Outside) Kept(ctx context.Context, s gitbridge.StoreSnapshot) *records.Snapshot {
	if s.Native {
		return r.rebuild(ctx, s.ID, gitbridge.Commit{Tree: s.Tree, Overlay: s.Overlay, Time: s.Time, From: s.From})
	}
	return &records.Snapshot{
		ID: s.ID, Tree: s.Tree, Umask: r.Umask, Time: s.Time, Rules: r.Rules,
		Points: []records.Point{{Time: s.Time}},
		Source: &records.Source{Kind: string(foreign.Hook), Ref: gitbridge.StoreRef, Commit: s.ID},
		Limits: &records.Limits{GitOnly: true, FreshIndex: true},
	}
}

// rebuild makes a record from the commit alone. The overlay may be gone.
func (r *Outside) rebuild(ctx context.Context, id oid.ID, c gitbridge.Commit) *records.Snapshot {
	s := &records.Snapshot{
		ID: id, Tree: c.Tree, Overlay: c.Overlay, Umask: r.Umask, Time: c.Time, Rules: r.Rules,
		Source: &records.Source{Kind: records.OwnKind, Ref: gitbridge.StoreRef, Commit: id},
	}
	if kind, commit, ok := strings.Cut(c.From, " "); ok {
		// What it could not have contained was in the record.
		s.Source.Kind, s.Limits = "other", &records.Limits{GitOnly: true, Incomplete: true}
		if k, err := foreign.ParseKind(kind); err == nil {
			s.Source.Kind = string(k)
		}
		if was, err := oid.Parse(commit); err == nil {
			s.Source.Commit = was
		}
		return s
	}
	if !s.Overlay.IsZero() && !r.Whole(ctx, s.Overlay) {
		s.Limits = &records.Limits{GitOnly: true, Overlay: s.Overlay}
		s.Overlay = oid.ID{}
	}
	return s
}

// Origin is what the commit of a snapshot says of where it was imported from, ""
// if it was not: what [Outside.Kept] reads.
func Origin(s *records.Snapshot) string {
	if !s.Foreign() {
		return ""
	}
	return s.Source.Kind + " " + s.Source.Commit.String()
}
