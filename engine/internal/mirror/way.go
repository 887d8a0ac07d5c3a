package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Way brings a snapshot into git. It starts before the snapshot is recorded, in
// a goroutine of its own: while the store waits for the disk, it writes the
// objects that git lacks. It moves the ref after the record is written. Only a
// snapshot that borrows from HEAD is in git before that. If the snapshot is not
// recorded in the end, no ref names what was written, and git's next collection
// removes it. A very large snapshot waits for its record first.
//
// [Way.Recorded] tells the way what became of the snapshot. After that
// [Way.Finish] waits for its end. A Way does not need the stage.
type Way struct {
	m       *Mirror
	at      Known
	memory  Memory
	id      oid.ID
	commit  []byte
	base    oid.ID            // the tree of the last snapshot, as far as beyond is known
	beyond  []oid.ID          // what the snapshot's tree has beyond that
	settled []records.Counted // pending snapshots that git has now
	older   []records.Counted // the other pending ones, which go into git before this one
	savedAs oid.ID            // as which snapshot the state was recorded; zero: it was not

	order order
	run   *run  // nil while the order is nothing or later
	why   error // of later: why git could not have it first
}

// besideBytes of trees a snapshot may have made for git to be asked for its objects
// beside the store's transactions. What git lacks of a larger one is a list that would
// be in memory at the same time as the list of the stage, which goes when the snapshot
// is recorded; and nearly all of it waits for the record anyway.
const besideBytes = 16 << 20

// An order says when git gets the snapshot, and when the store gets its record.
type order int

const (
	nothing  order = iota // there is no snapshot to bring into git
	together              // at the same time; the ref moves after the record
	gitFirst              // git has it already
	later                 // git was to have it first and could not: the next Bridge brings it
)

// A run is the goroutine of a way.
type run struct {
	recorded chan struct{} // closed when the snapshot is recorded
	cancel   context.CancelFunc
	done     chan struct{} // closed at the end
	err      error         // why it failed; to be read after done
}

// NoWay returns the way of a state that is recorded already. [Way.Finish] then
// only brings into git what is pending.
func (m *Mirror) NoWay() *Way { return &Way{m: m} }

// Begin starts to bring a snapshot into git. Commit is its commit object, which is
// in the stage. If the snapshot borrows from HEAD, git keeps it when Begin returns.
// If git cannot keep it now, Begin copies into the store what was to be borrowed,
// and the snapshot goes into git later.
func (h *Held) Begin(ctx context.Context, id oid.ID, commit []byte) (*Way, error) {
	w := &Way{m: h.m, at: h.at, memory: h.Memory, id: id, commit: commit}
	if h.m.Objects.Git == nil {
		return w, nil
	}
	if h.beyond != nil {
		w.base, w.beyond = h.base.Tree, h.beyond
	}
	w.settled, w.older = h.m.bridged(ctx, h.at.debt.Pending)
	if h.origin == fromStore || h.Same(h.at.Last) {
		w.start(ctx, together, h.origin == fromHead)
		return w, nil
	}
	if err := h.Stage.Flush(ctx); err != nil { // what git gets is read from the store
		return nil, objects.StoreError(err)
	}
	w.start(ctx, gitFirst, true)
	err := w.run.wait()
	if err == nil {
		head, headErr := h.m.git().Head()
		if headErr == nil && head.Commit == h.at.Head.Commit {
			return w, nil
		}
		return nil, errors.Join(h.m.LetGo(ctx, id), fmt.Errorf("%w: HEAD moved", cas.ErrSwept))
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := h.holdAll(ctx); err != nil {
		return nil, err
	}
	w.order, w.run, w.why = later, nil, err
	return w, nil
}

// start starts the goroutine. Now says that it does not wait for the record, and
// that what it writes is durable at its end.
func (w *Way) start(ctx context.Context, o order, now bool) {
	r := &run{recorded: make(chan struct{}), done: make(chan struct{})}
	ctx, r.cancel = context.WithCancel(ctx)
	w.order, w.run = o, r
	go func() {
		defer close(r.done)
		r.err = w.bridge(ctx, r, now)
	}()
}

// bridge brings into git the older snapshots, then this one.
func (w *Way) bridge(ctx context.Context, r *run, now bool) error {
	for _, row := range w.older {
		if err := w.m.bridgeOne(ctx, row.ID, w.at.debt.InGit); err != nil {
			return err
		}
	}
	recorded := func(ctx context.Context) error {
		select {
		case <-r.recorded:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if now {
		recorded = nil // the store has already what git gets
	}
	if recorded != nil && w.memory.TreeBytes() > besideBytes {
		if err := recorded(ctx); err != nil {
			return err
		}
	}
	job := gitbridge.Job{
		Snapshot: w.id,
		Commit:   w.commit,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return w.object(ctx, id) },
		Tree:     w.tree,
		Source:   func(ids []oid.ID) gitodb.Source { return w.source(ctx, ids, recorded) },
		Durable:  now,
		Recorded: recorded,
		After:    w.at.debt.InGit,
		Later:    w.m.upkeep != nil,
	}
	if last := w.at.Last; last != nil && (last.ID == job.After || w.settles(last.ID) || w.m.git().Keeps(ctx, last.ID)) {
		job.Since = last.Tree // the bridge checks that the ref keeps what After names
		if job.Since == w.base && !w.at.RefLost {
			job.Beyond = w.beyond
		}
	}
	_, err := w.m.git().Bridge(ctx, job)
	return err
}

// settles reports whether the way has just found that the ref keeps a snapshot.
func (w *Way) settles(id oid.ID) bool {
	return slices.ContainsFunc(w.settled, func(row records.Counted) bool { return row.ID == id })
}

// tree returns a tree that is in memory. Where git lost something all of them are read.
func (w *Way) tree(id oid.ID) ([]byte, bool) {
	if w.at.RefLost {
		return nil, false
	}
	return w.memory.Met(id)
}

// object returns an object from memory, of the store, or of git.
func (w *Way) object(ctx context.Context, id oid.ID) (oid.Kind, []byte, error) {
	if kind, p, ok := w.memory.Object(id); ok {
		return kind, p, nil
	}
	return w.m.Objects.Read(ctx, id)
}

// source gives objects from memory, and the others from the store. The store has
// them when the snapshot is recorded: if recorded is not nil, it waits for that.
func (w *Way) source(ctx context.Context, ids []oid.ID, recorded func(context.Context) error) gitodb.Source {
	prefetch := w.m.Objects.Prefetch(ids).Except(func(id oid.ID) bool {
		_, _, ok := w.memory.Object(id)
		return ok
	})
	return func(id oid.ID) (gitbridge.Object, error) {
		if kind, p, ok := w.memory.Object(id); ok {
			return gitodb.Payload(kind, p), nil
		}
		if recorded != nil {
			if err := recorded(ctx); err != nil {
				return gitbridge.Object{}, err
			}
		}
		return prefetch.Stream(ctx, id)
	}
}

// GitFirst reports whether git keeps the snapshot before it is recorded.
func (w *Way) GitFirst() bool { return w.order == gitFirst }

// Settle notes, in the transaction that records the snapshot, what was found of git:
// which older snapshots it has that were pending, and up to where the ref keeps all.
func (w *Way) Settle(u *records.Update) error {
	var kept records.Kept
	if w.at.Glance != nil {
		kept = w.at.Wait().kept
	}
	return u.Settle(kept, w.settled...)
}

// Recorded is told under which id the state was recorded, zero if it was not. It
// may be another id than this snapshot's: another process was faster and recorded
// the same state. Then this snapshot does not go into git, and the ref lets go of
// it if it is there already.
func (w *Way) Recorded(ctx context.Context, id oid.ID) error {
	w.savedAs = id
	switch {
	case w.order == together && id == w.id:
		close(w.run.recorded)
	case w.order == together:
		w.run.cancel()
		<-w.run.done
	case w.order == gitFirst && id != w.id:
		return w.m.LetGo(context.WithoutCancel(ctx), w.id)
	}
	return nil
}

// wait waits for the end, and returns why the run failed, if it did.
func (r *run) wait() error {
	<-r.done
	r.cancel()
	return r.err
}

// Finish waits until the snapshot is in git, and brings there what else is
// pending.
func (w *Way) Finish(ctx context.Context) error {
	if w.m.Objects.Git == nil {
		return nil
	}
	err := w.why
	if w.order == together {
		err = w.run.wait()
	}
	switch {
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, gitbridge.ErrBroken):
		return notYet(w.savedAs, err)
	case err != nil || w.order == nothing || w.at.RefLost:
		return w.m.Bridge(ctx)
	case w.m.upkeep != nil && len(w.older) == 0 && len(w.at.debt.Dropped) == 0:
		w.m.upkeep.owe(true) // nothing was owed but this snapshot
		return nil
	}
	return w.m.settleDebt(ctx)
}

// notYet says that a snapshot is recorded, but that git does not keep it yet.
func notYet(id oid.ID, err error) error {
	return fmt.Errorf("snapshot %s is in the store, but not in git yet: %w", id.Short(), err)
}
