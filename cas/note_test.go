package cas

import (
	"errors"
	"testing"
	"time"

	"github.com/zeebo/blake3"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A note is sealed with a checksum that anybody can make. One that names the frame of another row frees it neither when the rows of notes
// are written nor when that row is swept.
func TestANoteDoesNotFreeAFrameThatHasARowUnderAnotherDigest(t *testing.T) {
	for _, known := range []bool{true, false} {
		s := newStore(t)
		r := seeded(t)
		a, b := noise(r, 1000), noise(r, 1000)
		ids := put(t, s, a, b)
		err := s.Update(t.Context(), func(u *Update) error {
			rows := map[oid.ID]chunk{}
			digests := map[oid.ID]digest{}
			for _, id := range ids {
				o, err := decodeObject(id.Bytes(), u.objects.Get(id.Bytes()))
				if err != nil {
					return err
				}
				c, _, err := u.frame(o.digest)
				if err != nil {
					return err
				}
				rows[id], digests[id] = c, o.digest
			}
			named := digests[ids[0]]
			if !known {
				named = digest{1, 2, 3}
			}
			c := rows[ids[1]]
			n := note{first: c.seq, author: [authorBytes]byte{7}}
			return u.writeNote(n, []stagedChunk{{digest: named, raw: c.raw, row: make([]byte, c.stored+1)}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.nameOthers(t.Context()); err != nil {
			t.Logf("naming: %v", err)
		}
		if _, err := s.Sweep(t.Context(), SweepOptions{Live: keep(ids...), Grace: -1}); err != nil {
			t.Logf("sweep: %v", err)
		}
		err = s.View(t.Context(), func(v *View) error {
			for i, id := range ids {
				if err := v.verify(id.Bytes(), v.objects.Get(id.Bytes())); err != nil {
					t.Errorf("known %v, content %d: %v", known, i, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A note of no frames, and one of a frame that a note before it names, are no notes: a
// sweep counts them, and no row is written from them.
func TestANoteOfNothingOrOfAnothersFrameIsDamaged(t *testing.T) {
	s := newStore(t)
	kept := put(t, s, noise(seeded(t), 1000))[0]
	frame := append([]byte{codecRaw}, "bytes"...)
	c := stagedChunk{digest: blake3.Sum256(frame[1:]), raw: 5, row: frame}
	err := s.Update(t.Context(), func(u *Update) error {
		seq := u.data.Sequence() + 1
		if err := errors.Join(u.data.Put(seqKey(seq), frame), u.data.Put(seqKey(seq+1), frame), u.data.SetSequence(seq+1)); err != nil {
			return err
		}
		other := c
		other.digest[0] ^= 1
		return errors.Join(
			u.writeNote(note{first: 0, author: [authorBytes]byte{1}}, nil),
			u.writeNote(note{first: seq, author: [authorBytes]byte{2}}, []stagedChunk{c, c}),
			u.writeNote(note{first: seq + 1, author: [authorBytes]byte{3}}, []stagedChunk{other}))
	})
	if err != nil {
		t.Fatal(err)
	}
	later(s, 25*time.Hour)
	report, err := s.Sweep(t.Context(), SweepOptions{Live: keep(kept), DryRun: true})
	if err != nil || report.Damaged != 2 || report.Chunks != 2 {
		t.Errorf("%+v, %v; want the two frames of one note, and two damaged notes", report, err)
	}
	if err := s.nameOthers(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(v *View) error {
		if raw, err := v.chunk(c.digest); err != nil || string(raw) != "bytes" {
			t.Errorf("%q, %v", raw, err)
		}
		other := c.digest
		other[0] ^= 1
		if v.chunks.Get(other[:]) != nil {
			t.Error("a row was written from a note of another's frame")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
