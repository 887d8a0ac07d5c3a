package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A mirroring is a snapshot's way into git. It begins before the snapshot is
// recorded and goes on beside that: what git lacks is written while the store
// waits for the disk, and the ref follows the record. Only a snapshot that
// borrows from git goes there first. Whatever was written for a snapshot that is
// not recorded in the end is named by nothing, and goes with git's next
// collection.
type mirroring struct {
	e      *Engine
	c      *capture
	id     oid.ID
	commit []byte
	older  []records.Pending // snapshots that come before it
	stands chan struct{}
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended, well or not
	err    error         // of its end
}

// mirror begins the way of a capture's snapshot into git; nil without git.
func (c *capture) mirror(ctx context.Context, id oid.ID, commit []byte, older []records.Pending) *mirroring {
	if c.e.repo == nil {
		return nil
	}
	m := &mirroring{e: c.e, c: c, id: id, commit: commit, older: older, stands: make(chan struct{}), done: make(chan struct{})}
	ctx, m.cancel = context.WithCancel(ctx)
	durable := c.borrows
	go func() {
		defer close(m.done)
		m.err = m.run(ctx, durable)
	}()
	return m
}

func (m *mirroring) run(ctx context.Context, first bool) error {
	for _, row := range m.older {
		if err := m.e.bridgeOne(ctx, row.ID, m.c.owed.Witness); err != nil {
			return err
		}
	}
	job := gitbridge.Job{
		Snapshot: m.id,
		Commit:   m.commit,
		Load:     func(id oid.ID) (oid.Kind, []byte, error) { return m.c.object(ctx, id) },
		Source:   func(ids []oid.ID) gitodb.Source { return m.source(ctx, ids, first) },
		Durable:  first,
		After:    m.c.owed.Witness,
	}
	if !first {
		job.Recorded = m.recorded
	}
	if last := m.c.last; last != nil && (last.ID == job.After || m.e.repo.Keeps(ctx, last.ID)) {
		job.Since = last.Tree // the bridge holds that the ref keeps what After names
	}
	_, err := m.e.repo.Bridge(ctx, job)
	return err
}

// source gives objects from memory, else from the store when they are there.
func (m *mirroring) source(ctx context.Context, ids []oid.ID, stored bool) gitodb.Source {
	var rest []oid.ID
	for _, id := range ids {
		if _, _, ok := m.c.hand.object(id); !ok {
			rest = append(rest, id)
		}
	}
	ahead := m.e.objects.Ahead(rest)
	return func(id oid.ID) (gitbridge.Object, error) {
		if kind, p, ok := m.c.hand.object(id); ok {
			return gitodb.Payload(kind, p), nil
		}
		if !stored {
			if err := m.recorded(ctx); err != nil {
				return gitbridge.Object{}, err
			}
		}
		return ahead.Stream(ctx, id)
	}
}

// recorded waits until the snapshot is recorded.
func (m *mirroring) recorded(ctx context.Context) error {
	select {
	case <-m.stands:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// goOn says under which id the state was recorded, zero if it was not. Where
// that is not this snapshot, for another process was faster, there is nothing
// to bring into git.
func (m *mirroring) goOn(recorded oid.ID) {
	switch {
	case m == nil:
	case recorded == m.id:
		close(m.stands)
	default:
		m.cancel()
		<-m.done
	}
}

// wait waits for the end, and says how it was.
func (m *mirroring) wait() error {
	<-m.done
	m.cancel()
	return m.err
}

// borrow brings a snapshot that rests on HEAD's objects into git, durably,
// before it is recorded. If git cannot keep it now, all that was to be borrowed
// is copied into the store instead, and the snapshot goes into git afterwards.
func (c *capture) borrow(ctx context.Context, id oid.ID, commit []byte, older []records.Pending) (*mirroring, error) {
	if err := c.stage.Flush(ctx); err != nil { // what git gets is read from the store
		return nil, objects.StoreError(err)
	}
	m := c.mirror(ctx, id, commit, older)
	err := m.wait()
	if err == nil {
		head, headErr := c.e.repo.Head()
		if headErr == nil && head.Commit == c.head.Commit {
			c.kept = true
			return m, nil
		}
		return nil, errors.Join(c.e.letGo(ctx, id), fmt.Errorf("%w: HEAD moved", cas.ErrSwept))
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := c.holdAll(ctx); err != nil {
		return nil, err
	}
	c.unkept = err
	return nil, nil
}

// letGo takes a snapshot out of the ref that has no record.
func (e *Engine) letGo(ctx context.Context, id oid.ID) error {
	return e.update(ctx, func(u *records.Update) error { return u.LetGo(id) })
}

// finishMirror waits until the capture's snapshot is in git, and brings there
// what else is pending.
func (c *capture) finishMirror(ctx context.Context) error {
	if c.e.repo == nil {
		return nil
	}
	err := c.unkept
	if c.way != nil {
		err = errors.Join(err, c.way.wait())
	}
	switch {
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, gitbridge.ErrBroken):
		return notYet(c.recorded, err)
	case c.way == nil || err != nil || c.adrift:
		return c.e.bridge(ctx)
	}
	return c.e.settleDebt(ctx)
}

// notYet says that a snapshot stands although git does not keep it.
func notYet(id oid.ID, err error) error {
	return fmt.Errorf("snapshot %v is in the store, but not in git yet: %w", id, err)
}
