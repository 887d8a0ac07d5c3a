package retention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// references is what the sessions of a repository refer to: the union over
// all of them that can be found.
type references struct {
	live     map[oid.ID]ledger.Reference
	scanned  map[oid.ID]bool     // what the sessions at hand refer to, where they alone count
	sessions map[string]bool     // the ids of all sessions that were found
	of       map[string][]oid.ID // what each file refers to
	files    int                 // ledgers that were read
	places   bool                // there is a directory of sessions at all
}

// ErrUnseen is reported where a ledger that may refer to snapshots cannot be
// looked at: then nothing is dropped.
var ErrUnseen = fmt.Errorf("%w: sessions cannot be read", records.ErrRefused)

// look reads the ledgers. A session file that cannot be read as one keeps every
// id in it; a directory or file that cannot be read at all, or a
// directory that is missing, is [ErrUnseen]. The session of the options limits
// the scan to it and those it was forked from, if the keeper is
// told so: the others are seen, but not scanned.
func (k *Keeper) look(ctx context.Context, p *Options) (*references, error) {
	places, missing, err := k.places(ctx)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 && !p.Unseen {
		return nil, fmt.Errorf("%w, so nothing may be dropped: %s is missing (prune --unseen if it is gone for good)", ErrUnseen, missing[0])
	}
	r := &references{live: map[oid.ID]ledger.Reference{}, scanned: map[oid.ID]bool{}, sessions: map[string]bool{}, of: map[string][]oid.ID{}}
	for _, dir := range slices.Concat(places.AgentDirs, places.SessionDirs) {
		if _, err := os.Stat(dir); err == nil {
			r.places = true
		}
	}
	concerns, err := k.concerns(ctx)
	if err != nil {
		return nil, err
	}
	c, err := discover(ctx, places)
	if err != nil {
		return nil, err
	}
	sessions := c.sessions(ctx, p.Session)
	for _, f := range c.files {
		if f.Err == nil {
			r.sessions[f.Header.ID] = true
		}
		if f.Err != nil || concerns(f.Header) {
			if err := r.read(ctx, sessions, f); err != nil {
				return nil, err
			}
		}
	}
	if k.AncestorOnly {
		r.mark(sessions, c, p.Session)
	} else {
		r.scanned = nil
	}
	return r, nil
}

// read adds what one file refers to.
func (r *references) read(ctx context.Context, sessions *ledger.Sessions, f ledger.Found) error {
	if ctx.Err() != nil {
		return outOfTime(ctx)
	}
	r.files++
	s, err := sessions.Open(f.Path)
	if err == nil {
		for id, ref := range sessions.Live(s) {
			r.add(id, ref)
			r.of[s.Path()] = append(r.of[s.Path()], id)
		}
		return nil
	}
	ids, again := ledger.Mentioned(ctx, f.Path)
	if ctx.Err() != nil {
		return outOfTime(ctx)
	}
	if again != nil {
		return fmt.Errorf("%w, so nothing may be dropped: %w", ErrUnseen, errors.Join(err, again))
	}
	for _, id := range ids {
		r.add(id, ledger.Reference{Reasons: ledger.Unreadable})
	}
	return nil
}

func outOfTime(ctx context.Context) error {
	return fmt.Errorf("%w in the time that was given: %w", ErrUnseen, ctx.Err())
}

// mark notes what a session and those it was forked from refer to.
func (r *references) mark(sessions *ledger.Sessions, c *catalogue, id string) {
	for _, path := range c.byName[id] {
		s, err := sessions.Open(path)
		if err != nil || s.Header().ID != id {
			continue
		}
		for s := range sessions.Lineage(s) {
			for _, id := range r.of[s.Path()] {
				r.scanned[id] = true
			}
		}
	}
}

func (r *references) add(id oid.ID, ref ledger.Reference) {
	known := r.live[id]
	known.Reasons |= ref.Reasons
	if ref.Time.After(known.Time) {
		known.Time = ref.Time
	}
	r.live[id] = known
}

// concerns returns the function that says whether a session may refer to
// snapshots of this store: not if its directory is another repository's, or
// outside of every worktree. When in doubt it may.
func (s *Sessions) concerns(ctx context.Context) (func(ledger.Header) bool, error) {
	roots, ours := []string{s.Root}, map[string]bool{}
	err := s.View(ctx, func(v *records.View) error {
		all, err := v.Worktrees()
		for _, w := range all {
			roots = append(roots, string(w.Root))
		}
		snaps, bad := v.Snapshots()
		for _, s := range snaps {
			for _, p := range s.Points {
				ours[p.Session] = true
			}
		}
		return errors.Join(err, bad)
	})
	known := map[string]bool{}
	return func(h ledger.Header) bool {
		if ours[h.ID] && h.ID != "" {
			return true
		}
		if _, ok := known[h.Cwd]; !ok {
			known[h.Cwd] = s.MayBeOurs(h.Cwd, roots)
		}
		return known[h.Cwd]
	}, err
}

// follow counts what is said of an id for the snapshot that has the id now:
// ledgers go on naming ids from before a purge or an import.
func (r *references) follow(aliases map[oid.ID]oid.ID) {
	for id, ref := range maps.Clone(r.live) {
		if now := aliases[id]; !now.IsZero() && now != id {
			r.add(now, ref)
		}
	}
	for id := range maps.Clone(r.scanned) {
		if now := aliases[id]; !now.IsZero() {
			r.scanned[now] = true
		}
	}
}

// latest returns when anything last referred to a snapshot.
func (r *references) latest(s *records.Snapshot) time.Time {
	at := s.Time
	for _, p := range s.Points {
		if p.Time.After(at) {
			at = p.Time
		}
	}
	if ref := r.live[s.ID]; ref.Time.After(at) {
		at = ref.Time
	}
	return at
}
