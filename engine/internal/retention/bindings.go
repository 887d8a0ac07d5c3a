package retention

import (
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// pointsMax bounds what is said about one checkpoint: a conversation that
// changed no file has all its entries at one.
const pointsMax = 16

// Bind adds what the session ledgers say about snapshots whose commits say nothing
// of the conversation: the entries they belong to. A ledger that cannot be read
// says nothing. It reads every session of the repository, once.
func (s *Sessions) Bind(ctx context.Context, list []*records.Snapshot) error {
	byID := map[oid.ID]*records.Snapshot{}
	for _, snap := range list {
		byID[snap.Source.Commit] = snap
		snap.Points = slices.DeleteFunc(snap.Points, func(p records.Point) bool { return p.Same(records.Point{}) })
	}
	if len(byID) == 0 {
		return nil
	}
	places, _, err := s.places(ctx)
	if err != nil {
		return err
	}
	concerns, err := s.concerns(ctx)
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
func bindSession(session *ledger.Session, byID map[oid.ID]*records.Snapshot) {
	for entry := range session.Entries() {
		id, bound := session.Binding(entry.ID)
		s := byID[id]
		if !bound || s == nil || len(s.Points) >= pointsMax {
			continue
		}
		copied := func(p records.Point) bool { return p.Entry == entry.ID }
		if slices.ContainsFunc(s.Points, copied) {
			continue
		}
		label := session.Label(entry.ID)
		if label == "" {
			label = entry.Text
		}
		s.Points = append(s.Points, records.Point{Label: label, Session: session.Header().ID, Entry: entry.ID, Trigger: "turn", Time: entry.Time})
	}
}
