package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/inherit"
	"github.com/seed-82afce7a/rewind/engine/journal"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/engine/shelf"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A directory with history may become a repository (git init). Its snapshots are
// under another hash, in a store on the shelf; the repository's own store, while it
// is new, takes them over (docs/decisions/0015-stores.md).

// inherit takes over the history that the directory had before it was a repository.
// What hinders it is told, and hinders nothing else. Used says that the repository's
// own store is known not to be new.
func (e *Engine) inherit(ctx context.Context, used bool) error {
	if e.repo == nil || e.key != "." {
		return nil
	}
	fresh := false
	if !used {
		var err error
		if fresh, err = e.lookup.Empty(ctx); err != nil {
			return nil // what is wrong with the store is told by whoever needs it
		}
	}
	s, err := e.shelf()
	if err != nil {
		return nil // it is somebody else's, and not needed
	}
	folder := s.Heirloom(e.root, e.heir(), fresh)
	if folder == "" || fresh && e.refKeeps(ctx) { // what the ref has is of a store that was lost, and comes back first
		return nil
	}
	h, err := e.openHeirloom(ctx, folder)
	if err != nil && !fresh {
		return nil // "rewind stores" says so; here it was said before
	}
	if err != nil {
		e.conf.Warn(fmt.Sprintf("the history from before this was a git repository cannot be read: %v (%s)", err, folder))
		return nil
	}
	defer h.store.Close()
	n, err := h.pass(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		e.conf.Warn(fmt.Sprintf("the history from before this was a git repository is not here yet: %v (\"rewind --no-git list\" has it)", err))
	case n > 0:
		e.conf.Warn(fmt.Sprintf("what was recorded before this was a git repository, or by a program that began before, is here now (snapshots: %d), in rewind's own store alone, and found by its old ids too. The old store is not needed any more: rewind stores --remove %s", n, filepath.Base(folder)))
	}
	return nil
}

// heir names the repository's store; zero if there is none.
func (e *Engine) heir() (h shelf.Heir) {
	if s := e.atHand(); s != nil {
		h = shelf.Heir{Folder: Path(e.dir), ID: shelf.NameOf(s)}
	}
	return h
}

// An heirloom is a store on the shelf whose history a repository takes over.
type heirloom struct {
	e      *Engine
	folder string
	store  *cas.Store
	owner  *records.Owner // of the worktree in it

	snaps   []*Snapshot // oldest first
	aliases map[oid.ID]oid.ID
	pins    map[string]oid.ID
	undo    []*Operation // what undo takes back, the last first
	at      oid.ID       // where the files stand
}

func (e *Engine) openHeirloom(ctx context.Context, folder string) (*heirloom, error) {
	birth, err := dirfd.Birth(e.root)
	if err != nil {
		return nil, err
	}
	store, err := cas.Open(ctx, filepath.Join(folder, storeFile), &cas.Options{Algorithm: oid.BLAKE3})
	if err != nil {
		return nil, objects.StoreError(err)
	}
	owner := &records.Owner{Key: ".", Birth: birth, Root: Path(e.root), Now: e.now}
	return &heirloom{e: e, folder: folder, store: store, owner: owner}, nil
}

// read reads the records.
func (h *heirloom) read(ctx context.Context) error {
	return objects.StoreError(h.store.View(ctx, func(cv *cas.View) error {
		v := records.In(cv, h.owner)
		for s, err := range v.Snapshots() {
			if err != nil {
				return err
			}
			h.snaps = append([]*Snapshot{s}, h.snaps...)
		}
		history, err := v.History()
		if err != nil {
			return err
		}
		if history.Open != nil {
			return fmt.Errorf("%w: a %s: \"rewind --no-git sync\" finishes it", ErrUnfinished, history.Open.Kind)
		}
		if history.Away != nil {
			return fmt.Errorf("%w: a bisect: \"rewind --no-git bisect reset\" ends it", ErrUnfinished)
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

// pass writes anew what the repository's store lacks of the history, in one
// transaction at the end: until then nothing is recorded, and the next command begins
// again. It returns how many snapshots it passed on.
func (h *heirloom) pass(ctx context.Context) (int, error) {
	if err := h.read(ctx); err != nil {
		return 0, err
	}
	if err := h.e.view(ctx, h.forgetKnown); err != nil {
		return 0, err
	}
	n := 0
	if len(h.snaps) > 0 {
		var err error
		if n, err = h.write(ctx); err != nil {
			return 0, err
		}
	}
	_ = shelf.Inherited(h.folder, h.e.heir()) // without it the next command looks again, and finds nothing new
	return n, nil
}

// forgetKnown leaves out the snapshots that the repository's store has.
func (h *heirloom) forgetKnown(v *records.View) (err error) {
	h.snaps = slices.DeleteFunc(h.snaps, func(s *Snapshot) bool {
		known, bad := v.Find(s.ID)
		err = errors.Join(err, bad)
		return known != nil
	})
	return err
}

func (h *heirloom) write(ctx context.Context) (int, error) {
	to, err := h.e.needStore(ctx)
	if err != nil {
		return 0, err
	}
	stage := to.Stage()
	defer stage.Discard()
	w := &inherit.Writer{
		From:  &objects.Objects{Algorithm: oid.BLAKE3, Store: func(context.Context) (*cas.Store, error) { return h.store, nil }},
		Stage: stage, To: h.e.alg, Identity: h.e.identity(),
	}
	progress := h.e.progress("take over")
	anew := map[oid.ID]*Snapshot{}
	for i, s := range h.snaps {
		if progress != nil {
			progress(i, len(h.snaps))
		}
		if anew[s.ID], err = w.Snapshot(ctx, s, h.e.key); err != nil {
			return 0, err
		}
	}
	for _, op := range h.undo {
		if op.Plan, err = h.journal(ctx, w, op); err != nil {
			return 0, err
		}
	}
	err = stage.Commit(ctx, func(u *cas.Update) error {
		owner := h.e.owner()
		up := records.Change(u, owner)
		if err := h.forgetKnown(&up.View); err != nil || len(h.snaps) == 0 {
			return err // another process was first
		}
		return h.record(up, owner, anew)
	})
	return len(h.snaps), objects.StoreError(err)
}

// journal writes the plan of an operation anew, with the ids that contents have now:
// an undo compares what is on disk with them.
func (h *heirloom) journal(ctx context.Context, w *inherit.Writer, op *Operation) (oid.ID, error) {
	_, data, err := w.From.Read(ctx, op.Plan)
	if err != nil {
		return oid.ID{}, err
	}
	steps, err := journal.Decode(data)
	if err != nil {
		return w.Blob(ctx, op.Plan, "") // of another version: as it is
	}
	for i := range steps {
		steps[i].Have.ID, steps[i].Want.ID = w.Now(steps[i].Have.ID), w.Now(steps[i].Want.ID)
	}
	if data, err = journal.Encode(steps); err != nil {
		return oid.ID{}, err
	}
	id, err := w.Stage.Put(ctx, oid.Blob, data, oid.ID{})
	return id, objects.StoreError(err)
}

// record writes the records: snapshots, the ids they had, pins, and, where the
// repository has no history yet, what undo takes back. What redo would have is left
// behind, for only the whole log of operations could say it again.
func (h *heirloom) record(u *records.Update, owner *records.Owner, anew map[oid.ID]*Snapshot) error {
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

// nameLegacy says of a purge that the old store has the paths still, as far as they
// are older than the repository.
func (e *Engine) nameLegacy(out *Purged) {
	s, err := e.shelf()
	if err != nil || e.repo == nil || out.Snapshots == 0 {
		return
	}
	if id := s.Legacy(e.root); id != "" {
		out.Left = append(out.Left, Note{Path: Path("store " + id), Reason: "it is from before this was a git repository, and has what is that old: \"rewind stores --remove " + id + "\" removes it"})
	}
}

// repeat takes an operation that has ended into the history, with the ids of now.
func repeat(u *records.Update, owner *records.Owner, op *Operation, ids map[oid.ID]oid.ID) error {
	from, to := ids[op.From], ids[op.To]
	if from.IsZero() || to.IsZero() {
		return fmt.Errorf("%w: a %s names a snapshot that is not there", ErrDamaged, op.Kind)
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
	return u.End(again.Seq, op.Partial)
}
