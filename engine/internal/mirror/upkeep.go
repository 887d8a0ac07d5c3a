package mirror

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An Upkeep is of a program that lives on. With one, a snapshot is acknowledged when
// git has it, and what only keeps git's side in order is left to the time between two
// turns: a look whether a collection took any of our newest objects, the packing of
// those when they are many, and the folding of a long chain. Whoever records next does
// all that as well, be it another process. What that has recorded since, it is about to
// bring into git itself: it is left to it, or else it would be done twice at the same
// time. The zero Upkeep is ready for use.
type Upkeep struct {
	mu  sync.Mutex
	of  *Mirror
	due bool
}

// Due reports whether there is something to do.
func (u *Upkeep) Due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.due
}

func (u *Upkeep) owe(due bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.due = due
}

// With gives a mirror the upkeep of a program, which may be nil. From then on the
// upkeep is this mirror's.
func (m *Mirror) With(u *Upkeep) *Mirror {
	if m.upkeep = u; u != nil {
		u.of = m
	}
	return m
}

// Run does what snapshots have left to the time between two turns. The mirror that the
// upkeep was given last is open, and nobody uses it meanwhile. What fails is tried again
// after the next turn.
func (u *Upkeep) Run(ctx context.Context) error {
	if !u.Due() {
		return nil
	}
	defer u.owe(false)
	m := u.of
	if m.git() == nil { // the repository has gone since
		return nil
	}
	d, err := m.debt(ctx, false)
	if err == nil {
		done, _ := m.bridged(ctx, d.Pending)
		err = m.settle(ctx, done)
	}
	load := func(id oid.ID) (oid.Kind, []byte, error) { return m.Objects.Read(ctx, id) }
	return errors.Join(err, m.git().Upkeep(ctx, load))
}
