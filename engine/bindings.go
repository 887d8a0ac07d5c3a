package engine

import (
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/gitbridge/foreign"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// pointsMax bounds what is said about one checkpoint: a conversation that
// changed no file has all its entries at one.
const pointsMax = 16

// bind adds what the session ledgers say about snapshots of pi-rewind-hook,
// whose commits say nothing: the entries they belong to. A ledger that cannot
// be read says nothing. It reads every session of the repository, once.
func (o *outsiders) bind(ctx context.Context, list []*Snapshot) error {
	byID := map[oid.ID]*Snapshot{}
	for _, s := range list {
		if s.Source.Kind == string(foreign.Hook) {
			byID[s.Source.Commit] = s
			s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Same(Point{}) })
		}
	}
	if len(byID) == 0 {
		return nil
	}
	places, _, err := o.e.places(ctx)
	if err != nil {
		return err
	}
	concerns, err := o.e.concerns(ctx)
	if err != nil {
		return err
	}
	sessions := ledger.Sessions{Context: ctx, Keep: func(string) bool { return false }}
	for f := range ledger.Discover(ctx, places) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.Err != nil || !concerns(f.Header) {
			continue
		}
		if session, err := sessions.Open(f.Path); err == nil {
			bindSession(session, byID)
		}
	}
	return nil
}

// bindSession adds the entries of one session. A fork has a copy of the
// entries it began with; the session that is found first has them.
func bindSession(session *ledger.Session, byID map[oid.ID]*Snapshot) {
	for entry := range session.Entries() {
		id, bound := session.Binding(entry.ID)
		s := byID[id]
		if !bound || s == nil || len(s.Points) >= pointsMax {
			continue
		}
		copied := func(p Point) bool { return p.Entry == entry.ID }
		if slices.ContainsFunc(s.Points, copied) {
			continue
		}
		label := session.Label(entry.ID)
		if label == "" {
			label = entry.Text
		}
		s.Points = append(s.Points, Point{Label: label, Session: session.Header().ID, Entry: entry.ID, Trigger: "turn", Time: entry.Time})
	}
}
