package locate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Target is the store of a repository, which takes a history over.
type Target struct {
	View      func(context.Context, func(*records.View) error) error
	Store     func(context.Context) (*cas.Store, error) // opens it, or makes it
	Owner     *records.Owner                            // the worktree in it
	Algorithm oid.Algorithm                             // the repository's
	Identity  string                                    // who the new commits are by
	Progress  func(done, total int)                     // is told of each snapshot; may be nil
}

// A Takeover is of a store whose history a repository takes over. It is for one goroutine.
type Takeover struct {
	store *cas.Store
	owner *records.Owner // of the worktree in it
	to    *Target

	snaps   []*records.Snapshot // oldest first
	aliases map[oid.ID]oid.ID
	pins    map[string]oid.ID
	undo    []*records.Operation // what undo takes back, the last first
	at      oid.ID               // where the files stand
}

// TakeOver opens the store in a folder, which is of the worktree root.
func TakeOver(ctx context.Context, folder, root string, now func() time.Time) (*Takeover, error) {
	birth, err := dirfd.Birth(root)
	if err != nil {
		return nil, err
	}
	store, err := cas.Open(ctx, filepath.Join(folder, StoreFile), &cas.Options{Algorithm: oid.BLAKE3})
	if err != nil {
		return nil, objects.StoreError(err)
	}
	return &Takeover{store: store, owner: &records.Owner{Key: ".", Birth: birth, Root: records.Path(root), Now: now}}, nil
}

// Close closes the store.
func (h *Takeover) Close() error { return h.store.Close() }

// read reads the records.
func (h *Takeover) read(ctx context.Context) error {
	return objects.StoreError(h.store.View(ctx, func(cv *cas.View) (err error) {
		v := records.In(cv, h.owner)
		if h.snaps, err = v.Snapshots(); err != nil {
			return err
		}
		slices.Reverse(h.snaps)
		history, err := v.History()
		if err != nil {
			return err
		}
		if history.Open != nil {
			return fmt.Errorf("%w: a %s: \"rewind --no-git sync\" finishes it", objects.ErrUnfinished, history.Open.Kind)
		}
		if history.Bisect != nil {
			return fmt.Errorf("%w: a bisect: \"rewind --no-git bisect reset\" ends it", objects.ErrUnfinished)
		}
		for op := history.Undo; op != nil; {
			h.undo = append(h.undo, op)
			if op, err = v.Operation(op.Below); err != nil {
				return err
			}
		}
		w, _, err := v.Worktree()
		if err != nil {
			return err
		}
		h.at, h.pins = w.At, v.Pins()
		h.aliases, err = v.Aliases()
		return err
	}))
}

// Pass writes anew what the target lacks of the history, in one transaction at the end:
// until then nothing is recorded, and the next command begins again. It returns how many
// snapshots it passed on.
func (h *Takeover) Pass(ctx context.Context, to *Target) (int, error) {
	h.to = to
	if err := h.read(ctx); err != nil {
		return 0, err
	}
	if err := to.View(ctx, h.forgetKnown); err != nil || len(h.snaps) == 0 {
		return 0, err
	}
	return h.write(ctx)
}

// forgetKnown leaves out the snapshots that the repository's store has.
func (h *Takeover) forgetKnown(v *records.View) (err error) {
	h.snaps = slices.DeleteFunc(h.snaps, func(s *records.Snapshot) bool {
		known, bad := v.Find(s.ID)
		err = errors.Join(err, bad)
		return known != nil
	})
	return err
}

func (h *Takeover) write(ctx context.Context) (int, error) {
	to, err := h.to.Store(ctx)
	if err != nil {
		return 0, err
	}
	stage := to.Stage()
	defer stage.Discard()
	w := &writer{
		from:  &objects.Objects{Algorithm: h.store.Algorithm(), Store: func(context.Context) (*cas.Store, error) { return h.store, nil }},
		stage: stage, to: h.to.Algorithm, identity: h.to.Identity,
	}
	anew := map[oid.ID]*records.Snapshot{}
	for i, s := range h.snaps {
		if h.to.Progress != nil {
			h.to.Progress(i, len(h.snaps))
		}
		if anew[s.ID], err = w.snapshot(ctx, s, h.to.Owner.Key); err != nil {
			return 0, err
		}
	}
	for _, op := range h.undo {
		if op.Plan, err = h.journal(ctx, w, op); err != nil {
			return 0, err
		}
	}
	err = stage.Commit(ctx, func(u *cas.Update) error {
		up := records.Change(u, h.to.Owner)
		if err := h.forgetKnown(&up.View); err != nil || len(h.snaps) == 0 {
			return err // another process was first
		}
		return h.record(up, h.to.Owner, anew)
	})
	return len(h.snaps), objects.StoreError(err)
}

// journal writes the plan of an operation anew, with the ids that contents have now:
// an undo compares what is on disk with them.
func (h *Takeover) journal(ctx context.Context, w *writer, op *records.Operation) (oid.ID, error) {
	_, data, err := w.from.Read(ctx, op.Plan)
	if err != nil {
		return oid.ID{}, err
	}
	steps, err := objects.DecodeSteps(data)
	if err != nil {
		return w.blob(ctx, op.Plan, "") // of another version: as it is
	}
	for i := range steps {
		steps[i].Have.ID, steps[i].Want.ID = w.now(steps[i].Have.ID), w.now(steps[i].Want.ID)
	}
	if data, err = objects.EncodeSteps(steps); err != nil {
		return oid.ID{}, err
	}
	id, err := w.stage.Put(ctx, oid.Blob, data, oid.ID{})
	return id, objects.StoreError(err)
}

// record writes the records: snapshots, the ids they had, pins, and, where the
// repository has no history yet, what undo takes back. What redo would have is left
// behind, for only the whole log of operations could say it again.
func (h *Takeover) record(u *records.Update, owner *records.Owner, anew map[oid.ID]*records.Snapshot) error {
	first, ids := u.Empty(), map[oid.ID]oid.ID{}
	var all []records.Replacement
	for _, s := range h.snaps {
		ids[s.ID] = anew[s.ID].ID
		all = append(all, records.Replacement{Old: s.ID, New: anew[s.ID].ID, Snapshot: anew[s.ID], Outside: true, Elsewhere: true})
	}
	err := u.Replace(all)
	all = nil
	for old, now := range h.aliases {
		if ids[old].IsZero() && !ids[now].IsZero() {
			all = append(all, records.Replacement{Old: old, New: ids[now], Outside: true, Elsewhere: true})
		}
	}
	err = errors.Join(err, u.Replace(all))
	taken := u.Pins()
	for name, id := range h.pins {
		if !ids[id].IsZero() && taken[name].IsZero() {
			err = errors.Join(err, u.Pin(name, ids[id]))
		}
	}
	newest := anew[h.snaps[len(h.snaps)-1].ID]
	last, bad := u.Last()
	if err = errors.Join(err, bad); err != nil || last != nil && !newest.Time.After(last.Time) {
		return err
	}
	if err := u.SetLast(newest); err != nil || !first {
		return err
	}
	for _, op := range slices.Backward(h.undo) {
		if err := repeat(u, owner, op, ids); err != nil {
			return err
		}
	}
	return u.Stand(ids[h.at])
}

// repeat takes an operation that has ended into the history, with the ids of now.
func repeat(u *records.Update, owner *records.Owner, op *records.Operation, ids map[oid.ID]oid.ID) error {
	from, to := ids[op.From], ids[op.To]
	if from.IsZero() || to.IsZero() {
		return fmt.Errorf("%w: a %s names a snapshot that is not there", records.ErrDamaged, op.Kind)
	}
	again := *op
	again.From, again.To, again.Where, again.Reverts = from, to, owner.Key, 0
	if err := u.Stand(ids[op.Stood]); err != nil {
		return err
	}
	if err := u.Begin(&again); err != nil {
		return err
	}
	now := owner.Now
	owner.Now = func() time.Time { return op.Ended }
	defer func() { owner.Now = now }()
	return u.End(again.Seq, op.Partial, op.There...)
}
