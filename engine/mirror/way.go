package mirror

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/git/gitbridge"
	"github.com/seed-82afce7a/rewind/git/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Way is a snapshot's way into git. It begins before the snapshot is recorded
// and goes on beside that: what git lacks is written while the store waits for
// the disk, and the ref follows the record. Only a snapshot that borrows from git
// goes there first. Whatever was written for a snapshot that is not recorded in
// the end is named by nothing, and goes with git's next collection.
//
// [Way.Recorded] is told what became of the snapshot, then [Way.Finish] ends the
// way. A Way needs the stage no longer.
type Way struct {
	m       *Mirror
	at      Known
	memory  Memory
	id      oid.ID
	commit  []byte
	settled []records.Pending // snapshots that git keeps meanwhile
	older   []records.Pending // those that come before this one

	gitFirst bool   // git keeps it before it is recorded
	notFirst error  // why git could not come first
	savedAs  oid.ID // as which snapshot the state was recorded; zero: it was not

	under *under // nil: nothing is on its way
}

// under way is what goes on beside the caller.
type under struct {
	recorded chan struct{} // closed when the snapshot is recorded
	cancel   context.CancelFunc
	done     chan struct{} // closed when it has ended, well or not
	err      error         // of its end
}

// NoWay returns the way of a state that is recorded already. It only brings
// into git what else is pending.
func (m *Mirror) NoWay() *Way { return &Way{m: m} }

// Begin begins the way into git of a snapshot with the given commit object, which
// is in the stage. If it borrows from HEAD, git keeps it when Begin returns; if git
// cannot keep it now, all that was to be borrowed is copied into the store instead,
// and the snapshot goes into git afterwards.
func (h *Held) Begin(ctx context.Context, id oid.ID, commit []byte) (*Way, error) {
	w := &Way{m: h.m, at: h.at, memory: h.Memory, id: id, commit: commit}
	if h.m.Objects.Git == nil {
		return w, nil
	}
	w.settled, w.older = h.m.bridged(ctx, h.at.debt.Pending)
	if !h.borrows || h.Same(h.at.Last) {
		w.start(ctx, h.borrows)
		return w, nil
	}
	if err := h.Stage.Flush(ctx); err != nil { // what git gets is read from the store
		return nil, objects.StoreError(err)
	}
	w.start(ctx, true)
	err := w.wait()
	if err == nil {
		head, headErr := h.m.git().Head()
		if headErr == nil && head.Commit == h.at.Head.Commit {
			w.gitFirst = true
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
	w.notFirst, w.under = err, nil
	return w, nil
}

// start goes on beside the caller; first says that the snapshot is to be in git,
// durably, before it is recorded.
func (w *Way) start(ctx context.Context, first bool) {
	u := &under{recorded: make(chan struct{}), done: make(chan struct{})}
	ctx, u.cancel = context.WithCancel(ctx)
	w.under = u
	go func() {
		defer close(u.done)
		u.err = w.run(ctx, u, first)
	}()
}

func (w *Way) run(ctx context.Context, u *under, first bool) error {
	for _, row := range w.older {
		if err := w.m.bridgeOne(ctx, row.ID, w.at.debt.Witness); err != nil {
			return err
		}
	}
	recorded := func(ctx context.Context) error {
		select {
		case <-u.recorded:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if first {
		recorded = nil // what git gets is in the store already
	}
	job := gitbridge.Job{
		Snapshot: w.id,
		Commit:   w.commit,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return w.object(ctx, id) },
		Source:   func(ids []oid.ID) gitodb.Source { return w.source(ctx, ids, recorded) },
		Durable:  first,
		Recorded: recorded,
		After:    w.at.debt.Witness,
	}
	if last := w.at.Last; last != nil && (last.ID == job.After || w.m.git().Keeps(ctx, last.ID)) {
		job.Since = last.Tree // the bridge checks that the ref keeps what After names
	}
	_, err := w.m.git().Bridge(ctx, job)
	return err
}

// object returns an object from memory, of the store, or of git.
func (w *Way) object(ctx context.Context, id oid.ID) (oid.Kind, []byte, error) {
	if kind, p, ok := w.memory.Object(id); ok {
		return kind, p, nil
	}
	return w.m.Objects.Read(ctx, id)
}

// source gives objects from memory, else from the store when they are there.
func (w *Way) source(ctx context.Context, ids []oid.ID, recorded func(context.Context) error) gitodb.Source {
	var rest []oid.ID
	for _, id := range ids {
		if _, _, ok := w.memory.Object(id); !ok {
			rest = append(rest, id)
		}
	}
	prefetch := w.m.Objects.Prefetch(rest)
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
func (w *Way) GitFirst() bool { return w.gitFirst }

// Settled are older snapshots that git keeps meanwhile: they are pending no more
// when this one is recorded.
func (w *Way) Settled() []records.Pending { return w.settled }

// Recorded says under which id the state was recorded, zero if it was not. Where
// that is not this snapshot, for another process was faster, there is nothing to
// bring into git, and what is there already is let go of.
func (w *Way) Recorded(ctx context.Context, id oid.ID) error {
	w.savedAs = id
	switch {
	case w.under == nil:
	case id == w.id:
		close(w.under.recorded)
	default:
		w.under.cancel()
		<-w.under.done
	}
	if w.gitFirst && id != w.id { // the ref has what nobody recorded
		return w.m.LetGo(context.WithoutCancel(ctx), w.id)
	}
	return nil
}

// wait waits for the end, and says how it was.
func (w *Way) wait() error {
	<-w.under.done
	w.under.cancel()
	return w.under.err
}

// Finish waits until the snapshot is in git, and brings there what else is
// pending.
func (w *Way) Finish(ctx context.Context) error {
	if w.m.Objects.Git == nil {
		return nil
	}
	err := w.notFirst
	if w.under != nil {
		err = errors.Join(err, w.wait())
	}
	switch {
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, gitbridge.ErrBroken):
		return notYet(w.savedAs, err)
	case w.under == nil || err != nil || w.at.Adrift:
		return w.m.Bridge(ctx)
	}
	return w.m.settleDebt(ctx)
}

// notYet says that a snapshot is recorded, but that git does not keep it yet.
func notYet(id oid.ID, err error) error {
	return fmt.Errorf("snapshot %v is in the store, but not in git yet: %w", id, err)
}
