package cas

import (
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// basesBytes is how much of the bases of deltas [Versions] keeps.
const basesBytes = 4 << 20

// Versions reads contents one after the other that have much in common, as the
// versions of a file have. A chunk that the content before had too is neither read
// nor decoded again. It keeps no more than that content and a few bases of deltas.
// The zero value is ready; it is for one goroutine.
type Versions struct {
	last  map[digest][]byte // the chunks of the content that was read last
	bases map[digest][]byte
	held  int // the bytes of bases
}

// Read returns a content, or another object, in its pieces. Nobody may change their
// bytes: what two contents share is the same slice. Errors are those of
// [View.Object].
func (s *Versions) Read(v *View, id oid.ID) (kind oid.Kind, pieces [][]byte, err error) {
	o, err := v.object(id)
	if err != nil {
		return 0, nil, err
	}
	digests, err := v.digests(o)
	if err != nil {
		return 0, nil, fmt.Errorf("object %v: %w", id, err)
	}
	now := make(map[digest][]byte, len(digests))
	var size uint64
	for _, d := range digests {
		raw, err := s.chunk(v, d, now)
		if err != nil {
			return 0, nil, fmt.Errorf("object %v: %w", id, err)
		}
		if size += uint64(len(raw)); size > o.size {
			break
		}
		pieces = append(pieces, raw)
	}
	if size != o.size {
		return 0, nil, fmt.Errorf("object %v: %w: its chunks do not have %d bytes", id, ErrCorrupt, o.size)
	}
	s.last = now
	return o.kind, pieces, nil
}

func (s *Versions) chunk(v *View, d digest, now map[digest][]byte) (raw []byte, err error) {
	raw, ok := now[d]
	if !ok {
		raw, ok = s.last[d]
	}
	if !ok {
		raw, err = v.chunkOn(d, func(base digest) ([]byte, error) { return s.base(v, base) })
	}
	if err == nil {
		now[d] = raw
	}
	return raw, err
}

func (s *Versions) base(v *View, d digest) ([]byte, error) {
	if raw, ok := s.bases[d]; ok {
		return raw, nil
	}
	raw, err := v.base(d)
	if err != nil {
		return nil, err
	}
	if s.held += len(raw); s.held > basesBytes || s.bases == nil {
		s.bases, s.held = map[digest][]byte{}, len(raw)
	}
	s.bases[d] = raw
	return raw, nil
}
