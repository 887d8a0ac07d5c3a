package cas

import (
	"bytes"
	"errors"
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

func TestADamagedObjectIsStoredAnew(t *testing.T) {
	r := seeded(t)
	base := text(r, 6000)
	edited := bytes.Clone(base)
	copy(edited[100:], "edited")
	big := noise(r, 3*wholeMax)
	for name, payload := range map[string][]byte{"small": base, "delta": edited, "large": big, "empty": {}} {
		for _, row := range []bool{false, true} {
			s := newStore(t)
			if name == "large" { // it is more than one load
				s.parts.batch, s.parts.load = 1, 1<<17
			}
			ids := put(t, s, base, big, []byte{})
			putEdit(t, s, edited, ids[0])
			id := s.Algorithm().Sum(oid.Blob, payload)
			var parts []oid.ID
			if err := s.View(t.Context(), func(v *View) (err error) {
				o, err := v.object(id)
				if err == nil {
					parts, _, err = v.chunks(id)
				}
				if o.form == list {
					parts = append(parts[1:], o.ref)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				alter(t, s, part, row)
			}
			if name == "delta" {
				alter(t, s, ids[0], false)
			}
			get := func() (got []byte, err error) {
				err = s.View(t.Context(), func(v *View) (err error) {
					_, got, err = v.Object(id)
					return err
				})
				return got, err
			}
			if _, err := get(); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: damaged, it gives %v", name, err)
			}
			if _, err := s.Repair(t.Context(), oid.Blob, bytes.NewReader(payload), int64(len(payload))+1); !errors.Is(err, ErrSize) {
				t.Errorf("%s: of another size: %v", name, err)
			}
			got, err := s.Repair(t.Context(), oid.Blob, bytes.NewReader(payload), int64(len(payload)))
			if err != nil || got != id {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			if p, err := get(); err != nil || !bytes.Equal(p, payload) {
				t.Errorf("%s: stored anew it gives %d bytes, %v", name, len(p), err)
			}
		}
	}
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
