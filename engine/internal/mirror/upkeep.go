package mirror

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An Upkeep is of a program that lives on. With one, a snapshot is acknowledged when
// git has it, and what only keeps git's side in order is left to the time between two
// turns: a look whether a collection took any of our newest objects, the packing of
// those when they are many, and the folding of a long chain. Whoever records next does
// all that as well, be it another process. The zero Upkeep is ready for use.
type Upkeep struct {
	mu     sync.Mutex
	of     *Mirror
	due    bool
	weight int64 // of our files among git's, as they were found last
	known  bool
}

// Due reports whether there is something to do.
func (u *Upkeep) Due() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.due
}

func (u *Upkeep) owe() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.due = true
}

// Weight returns what our files among git's take, as they were found last. Where
// nobody has looked yet they are looked at.
func (u *Upkeep) Weight(r *gitbridge.Repo) int64 {
	if u != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.known {
			return u.weight
		}
	}
	return r.Weighed()
}

// With gives a mirror the upkeep of a program, which may be nil. From then on the
// upkeep is this mirror's. What another repository weighed is forgotten.
func (m *Mirror) With(u *Upkeep) *Mirror {
	if m.upkeep = u; u != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.of != nil && u.of.dir() != m.dir() {
			u.known = false
		}
		u.of = m
	}
	return m
}

// dir is the git directory of the repository; "" if there is none.
func (m *Mirror) dir() string {
	if m.git() == nil {
		return ""
	}
	return m.git().Layout().GitDir
}

// Run does what snapshots have left to the time between two turns. The mirror that the
// upkeep was given last is open, and nobody uses it meanwhile.
func (u *Upkeep) Run(ctx context.Context) error {
	if !u.Due() {
		return nil
	}
	m := u.of
	if m.git() == nil { // the repository has gone since
		u.done(0, false)
		return nil
	}
	debt := m.settleDebt(ctx)
	weight, err := m.git().Upkeep(ctx, func(id oid.ID) (oid.Kind, []byte, error) { return m.Objects.Read(ctx, id) })
	u.done(weight, err == nil)
	return errors.Join(debt, err)
}

// done notes the end of a run. What failed is tried again after the next turn.
func (u *Upkeep) done(weight int64, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.due = false
	if known {
		u.weight, u.known = weight, true
	}
}
