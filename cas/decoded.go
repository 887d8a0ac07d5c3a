package cas

import (
	"bytes"
	"sync"

	"github.com/zeebo/blake3"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// decodedBytes is how much is kept decoded at most. What comes first is kept: who
// reads the same many contents several times reads them in the same order each
// time, and to make room for the last of them would leave none of them in time.
const decodedBytes = 16 << 20

// decodedChunks are the bytes of chunks that were decoded, and the digests of the frames
// that they were decoded from.
type decodedChunks struct {
	mu    sync.Mutex
	users int
	bytes int
	kept  map[oid.ID]decodedChunk

	row    []byte   // which was digested last, by its place: many chunks may share it. It is not read again
	digest [32]byte // of row
}

type decodedChunk struct {
	frame [32]byte // digest of the row of the bucket data
	at    uint32   // where they lie in what it decodes to
	raw   []byte
}

// KeepDecoded keeps decoded what is read until forget is called, up to a few megabytes: for
// an operation that reads the same contents more than once. Each reading looks at
// the frame in the file all the same, and decodes it again unless it is byte for
// byte the one that was decoded. Deltas are not kept, their bases are. It is for all
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
			r.kept, r.bytes, r.row = nil, 0, nil
		}
	})
}

// find returns the bytes of a chunk whose frame was decoded before, in buf if there is
// room, or nil.
func (r *decodedChunks) find(id oid.ID, o object, row, buf []byte) []byte {
	r.mu.Lock()
	k, ok := r.kept[id]
	r.mu.Unlock()
	if !ok || o.at != k.at || o.size != uint64(len(k.raw)) || blake3.Sum256(row) != k.frame {
		return nil
	}
	return append(room(buf, len(k.raw)), k.raw...)
}

// keep keeps the verified bytes of a chunk, if somebody wants that and there is room.
func (r *decodedChunks) keep(id oid.ID, o object, row, raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users == 0 || len(raw) == 0 || r.bytes+len(raw) > decodedBytes {
		return
	}
	if _, has := r.kept[id]; has {
		return
	}
	if len(row) == 0 || len(r.row) != len(row) || &r.row[0] != &row[0] {
		r.row, r.digest = row, blake3.Sum256(row)
	}
	if r.kept == nil {
		r.kept = map[oid.ID]decodedChunk{}
	}
	r.kept[id] = decodedChunk{frame: r.digest, at: o.at, raw: bytes.Clone(raw)}
	r.bytes += len(raw)
}
