package objects

import (
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// recentBytes is how many bytes of trees a program that lives on remembers, and as
// many again of those that were asked for before.
const recentBytes = 2 << 20

// A recent remembers trees from one snapshot to the next. A turn compares its trees
// with those of the turn before, three times over: for what is held, for what changed,
// and for what git lacks. Each of them lay in the store and in git, and was read
// there, decompressed and verified, by each of the three.
//
// That a tree is remembered says nothing of where it is kept.
type recent struct {
	mu         sync.Mutex
	young, old map[oid.ID][]byte
	bytes      int // of the young ones
}

func (r *recent) get(id oid.ID) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.young[id]
	if !ok {
		if p, ok = r.old[id]; ok {
			r.add(id, p)
		}
	}
	return p, ok
}

func (r *recent) put(id oid.ID, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.young[id]; !known && len(payload) <= recentBytes/4 {
		r.add(id, payload)
	}
}

func (r *recent) add(id oid.ID, payload []byte) {
	if r.bytes += len(payload); r.young == nil || r.bytes > recentBytes {
		r.young, r.old, r.bytes = map[oid.ID][]byte{}, r.young, len(payload)
	}
	r.young[id] = payload
}

// Remember begins to remember trees, with those that another one remembers, which may
// be nil.
func (o *Objects) Remember(from *Objects) {
	if o.recent = new(recent); from != nil && from.recent != nil && from.Algorithm == o.Algorithm {
		o.recent = from.recent
	}
}

// Recent returns a tree that was read or made a short while ago, verified by its id. It
// is not to be changed.
func (o *Objects) Recent(id oid.ID) ([]byte, bool) {
	if o.recent == nil {
		return nil, false
	}
	return o.recent.get(id)
}
