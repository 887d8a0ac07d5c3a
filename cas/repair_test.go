package cas

import (
	"bytes"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// alter damages the frame of an object, or its row.
func alter(t *testing.T, s *Store, id oid.ID, row bool) {
	t.Helper()
	err := s.Update(t.Context(), func(u *Update) error {
		if row {
			p := bytes.Clone(u.objects.Get(id.Bytes()))
			p[3] ^= 1
			return u.objects.Put(id.Bytes(), p)
		}
		o, p, err := u.frame(id)
		if err != nil {
			return err
		}
		p = bytes.Clone(p)
		p[len(p)-1] ^= 0x40
		return u.data.Put(seqKey(o.seq), p)
	})
	must(t, err)
}

// A content on which deltas rest is damaged, and recorded again as an edit of another.
func TestWhatDeltasRestOnIsRecordedAgainWhole(t *testing.T) {
	for _, large := range []bool{false, true} {
		s := newStore(t)
		if large {
			s = spilling(t)
		}
		r := seeded(t)
		first := text(r, 5000)
		second := append([]byte("edited "), first...)
		third := append([]byte("edited again "), first...)
		id := put(t, s, third)[0]
		base := put(t, s, first)[0]
		edit := putEdit(t, s, second, base)
		damageRow(t, s, first)
		g := s.Stage()
		_, err := g.Put(t.Context(), oid.Blob, first, id)
		must(t, err)
		if large {
			putAll(t, g, noises(t, 400))
		}
		must(t, g.Commit(t.Context(), nil))
		if !bytes.Equal(read(t, s, base), first) || !bytes.Equal(read(t, s, edit), second) {
			t.Errorf("large: %v: what was recorded again has other bytes", large)
		}
	}
}
