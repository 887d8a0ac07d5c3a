package cas

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A frame has up to 256 KiB, and a turn may edit all that share it.
func TestAFrameThatManyBasesShareIsCopiedOnce(t *testing.T) {
	s, ids, payloads := sharing(t, 60)
	b := &batch{based: true}
	for i, id := range ids {
		edit := append(bytes.Clone(payloads[i]), "an edit"...)
		b.items = append(b.items, item{id: s.meta.algorithm.Sum(oid.Blob, edit), kind: oid.Blob, base: id, size: len(edit)})
	}
	list, err := s.Stage().lookUp(t.Context(), b)
	must(t, err)
	copies := map[*byte]bool{}
	for i, f := range list {
		if f.base != ids[i] || len(f.baseRow) == 0 {
			t.Fatalf("content %d: no base was found", i)
		}
		copies[&f.baseRow[0]] = true
	}
	if frames, _ := shares(t, s); len(copies) != frames {
		t.Errorf("%d copies were made of %d frames", len(copies), frames)
	}
}

// The bytes of a base are compared by what is made of them. Which of both is damaged is told all the same.
func TestADamagedBaseIsToldFromADamagedDelta(t *testing.T) {
	for _, inBase := range []bool{false, true} {
		s, r := newStore(t), seeded(t)
		payloads := [][]byte{text(r, 20<<10), text(r, 20<<10)} // which share a frame
		base := put(t, s, payloads...)[0]
		edit := putEdit(t, s, append(bytes.Clone(payloads[0]), "an edit\n"...), base)
		bad := edit
		if inBase {
			bad = base
		}
		alter(t, s, bad, false)
		_, err := readOne(t, s, edit)
		if !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "the base of") != inBase {
			t.Errorf("damage in the base: %v: %v", inBase, err)
		}
	}
}

// What one base was read into is used for the next.
func TestManyDeltasAreReadOneAfterAnother(t *testing.T) {
	s, ids, payloads := sharing(t, 60)
	var edits [][]byte
	var edited []oid.ID
	for i, id := range ids {
		edits = append(edits, append(bytes.Clone(payloads[i]), "an edit\n"...))
		edited = append(edited, putEdit(t, s, edits[i], id))
	}
	for _, keep := range []bool{false, true} {
		s.tools = &tools{}
		if keep {
			defer s.KeepDecoded()()
		}
		var got [][]byte
		must(t, s.View(t.Context(), func(v *View) error {
			for range 2 {
				for _, id := range edited {
					_, p, err := v.Object(id)
					if err != nil {
						return err
					}
					got = append(got, p)
				}
			}
			return nil
		}))
		for i, p := range got {
			if !bytes.Equal(p, edits[i%len(edits)]) {
				t.Errorf("kept: %v, edit %d: %d bytes", keep, i, len(p))
			}
		}
	}
}
