// Package lookup finds snapshots: by an id that comes from outside, by what a
// person types, by where the files of a worktree stand; and it lists them, and
// says what each one changed.
//
// It knows those of the store, under each of the ids that they ever had, and what git
// has beside the store ([Outside]). It scans nothing, and changes nothing
// but that it records what a snapshot changed, where it had to find that out. What it gives out is complete: skipped paths that have a content of
// their own are filled in ([Reader.Fill]).
package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What a caller may want to tell apart.
var (
	ErrNoSnapshot = errors.New("no such snapshot")
	ErrAmbiguous  = errors.New("ambiguous snapshot id")
)

// A Reader looks up snapshots for one worktree. It may be used by many goroutines.
type Reader struct {
	View    func(context.Context, func(*records.View) error) error
	Update  func(context.Context, func(*records.Update) error) error // without a store it calls nothing
	Objects *objects.Objects                                         // where skipped paths are read, and whether git has an id

	// Outside opens what git has beside the store, for one request.
	Outside func(ctx context.Context) (*Outside, error)

	Differ Differ // compares snapshots
	// Select reads paths as a person types them.
	Select func(ctx context.Context, paths []string) (Selection, error)
}

// Find returns the snapshot with exactly this id, also with one that it had before
// a purge or as a checkpoint before its import: of any worktree of the store, or
// else a checkpoint that git has.
func (r *Reader) Find(ctx context.Context, id oid.ID) (*records.Snapshot, error) {
	s, err := r.Finder().find(ctx, id)
	if err == nil {
		err = r.Fill(ctx, s)
	}
	return s, err
}

// Record returns the snapshot of which the store has the record, as that has it.
func (r *Reader) Record(ctx context.Context, id oid.ID) (found *records.Snapshot, err error) {
	found, err = records.Read(ctx, r.View, func(v *records.View) (*records.Snapshot, error) { return v.Find(id) })
	if err == nil && found == nil {
		err = fmt.Errorf("%w: %v", ErrNoSnapshot, id)
	}
	return found, err
}

// Fill completes records by the skipped paths that have a content of their own.
func (r *Reader) Fill(ctx context.Context, list ...*records.Snapshot) error {
	known := map[oid.ID][]records.Note{}
	for _, s := range list {
		if s == nil || s.SkippedIn.IsZero() || len(s.Skipped) > 0 {
			continue
		}
		notes, ok := known[s.SkippedIn]
		if !ok {
			payload, err := r.Objects.Payload(ctx, oid.Blob, s.SkippedIn)
			if err != nil {
				return fmt.Errorf("what snapshot %v left out: %w", s.ID, err)
			}
			if err := json.Unmarshal(payload, &notes); err != nil {
				return fmt.Errorf("%w: what snapshot %v left out: %w", records.ErrDamaged, s.ID, err)
			}
			known[s.SkippedIn] = notes
		}
		s.Skipped = notes
	}
	return nil
}

// A Finder finds snapshots by ids that come from outside: what was typed, what
// a client asks for, what a ledger names. What it reads for that it reads once.
// It is made for one request.
type Finder struct {
	r       *Reader
	aliases map[oid.ID]oid.ID // nil until one is needed
	outside *Outside          // nil until something of git's is asked for
}

// Finder begins a request.
func (r *Reader) Finder() *Finder { return &Finder{r: r} }

// Exists reports whether an id means a snapshot that can be restored.
func (f *Finder) Exists(ctx context.Context, id oid.ID) bool {
	if id.IsZero() {
		return false
	}
	_, err := f.find(ctx, id)
	return err == nil
}

// find returns the snapshot that an id means.
func (f *Finder) find(ctx context.Context, id oid.ID) (*records.Snapshot, error) {
	if f.aliases == nil {
		s, err := f.r.Record(ctx, id)
		if !errors.Is(err, ErrNoSnapshot) {
			return s, err
		}
		if err := f.readAliases(ctx); err != nil {
			return nil, err
		}
	}
	if now := f.aliases[id]; !now.IsZero() {
		return f.r.Record(ctx, now)
	}
	s, err := f.inGit(ctx, id)
	if s == nil && err == nil {
		err = fmt.Errorf("%w: %v", ErrNoSnapshot, id)
	}
	return s, err
}

func (f *Finder) readAliases(ctx context.Context) (err error) {
	if f.aliases, err = records.Read(ctx, f.r.View, (*records.View).Aliases); f.aliases == nil {
		f.aliases = map[oid.ID]oid.ID{}
	}
	return err
}

// purged returns the id that a snapshot has since the last purge, and its own if there was
// none, or no store. Git keeps what had the old id for two weeks, with what was to go.
func (f *Finder) purged(ctx context.Context, id oid.ID) (oid.ID, error) {
	err := f.r.View(ctx, func(v *records.View) error {
		seen := map[oid.ID]bool{}
		for next := v.Renamed(id); !next.IsZero() && !seen[next]; next = v.Renamed(id) {
			seen[next], id = true, next
		}
		return nil
	})
	return id, err
}

// inGit returns the snapshot that git has under an id, nil if it has none.
func (f *Finder) inGit(ctx context.Context, id oid.ID) (s *records.Snapshot, err error) {
	git := f.r.Objects.Git
	if git == nil || !git.Has(id) {
		return nil, nil
	}
	if id, err = f.purged(ctx, id); err != nil || !git.Has(id) {
		return nil, err
	}
	if f.outside == nil {
		if f.outside, err = f.r.Outside(ctx); err != nil {
			return nil, err
		}
	}
	return f.outside.find(ctx, id)
}
