package cas

import (
	"bytes"
	"hash/maphash"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// decodedBytes is how much is kept decoded at most. What comes first is kept: who
// reads the same many contents several times reads them in the same order each
// time, and to make room for the last of them would leave none of them in time.
const decodedBytes = 16 << 20

// decodedChunks are the bytes of chunks that were decoded, and hashes of the frames that
// they were decoded from.
type decodedChunks struct {
	mu    sync.Mutex
	users int
	bytes int
	kept  map[oid.ID]decodedChunk
}

type decodedChunk struct {
	frame uint64 // hash of the row of the bucket data
	at    uint32 // where they lie in what it decodes to
	raw   []byte
}

// frameSeed makes the hash of a frame one that nobody can foresee: who alters a file
// cannot give a frame the hash of another.
var frameSeed = maphash.MakeSeed()

// frameHash returns the hash of a frame. Contents that are read one after another share it, so the last one is remembered.
func (v *View) frameHash(row []byte) uint64 {
	if len(row) > 0 && len(row) == len(v.hashed) && &row[0] == &v.hashed[0] {
		return v.hash
	}
	hash := maphash.Bytes(frameSeed, row)
	if v.tx != nil && !v.tx.Writable() { // else another row may come to lie there
		v.hashed, v.hash = row, hash
	}
	return hash
}

// KeepDecoded keeps decoded what is read until forget is called, up to a few megabytes: for
// an operation that reads the same contents more than once. Each view looks at the
// frame in the file all the same, and decodes it again unless it has the hash of the one
// that was decoded. Deltas are not kept, their bases are. It is for all
// stores of the process.
func (s *Store) KeepDecoded() (forget func()) {
	r := &s.kept
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users++
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.users--; r.users == 0 {
			r.kept, r.bytes = nil, 0
		}
	})
}

// find returns the bytes of a chunk whose frame was decoded before, in buf if there is
// room, or nil.
func (r *decodedChunks) find(v *View, id oid.ID, o object, row, buf []byte) []byte {
	r.mu.Lock()
	k, ok := r.kept[id]
	r.mu.Unlock()
	if !ok || o.at != k.at || o.size != uint64(len(k.raw)) || v.frameHash(row) != k.frame {
		return nil
	}
	return append(room(buf, len(k.raw)), k.raw...)
}

// keep keeps the bytes of a chunk, if somebody wants that and there is room. They may be
// wrong: whoever reads them compares them with an id.
func (r *decodedChunks) keep(v *View, id oid.ID, o object, row, raw []byte) {
	r.mu.Lock()
	wants := r.wants(id, len(raw))
	r.mu.Unlock()
	if !wants {
		return
	}
	k := decodedChunk{frame: v.frameHash(row), at: o.at, raw: bytes.Clone(raw)} // without the lock: it takes time
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wants(id, len(raw)) { // others have kept some meanwhile
		return
	}
	if r.kept == nil {
		r.kept = map[oid.ID]decodedChunk{}
	}
	r.kept[id] = k
	r.bytes += len(raw)
}

// wants reports whether a chunk of a size would be kept; the caller has the lock.
func (r *decodedChunks) wants(id oid.ID, size int) bool {
	_, has := r.kept[id]
	return !has && r.users > 0 && size > 0 && r.bytes+size <= decodedBytes
}
