package cas

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// readVersion reads a content with what was read before, and compares it.
func readVersion(t *testing.T, s *Store, with *Versions, id oid.ID, want []byte) (pieces [][]byte) {
	t.Helper()
	err := s.View(t.Context(), func(v *View) (err error) {
		_, pieces, err = with.Read(v, id)
		return err
	})
	if err != nil || !bytes.Equal(bytes.Join(pieces, nil), want) {
		t.Fatalf("%v: another content, %v", id, err)
	}
	return pieces
}

func TestWhatVersionsShareIsDecodedOnce(t *testing.T) {
	s, r := newStore(t), seeded(t)
	text := noise(r, 2<<20)
	versions := [][]byte{text}
	for range 30 {
		text = bytes.Clone(text)
		text[r.IntN(len(text))] ^= 1
		versions = append(versions, text)
	}
	ids := put(t, s, versions...)
	var with Versions
	decoded := map[*byte]bool{}
	first := readVersion(t, s, &with, ids[0], versions[0])
	if len(first) < 10 {
		t.Fatalf("%d chunks", len(first))
	}
	for i, id := range ids {
		for _, p := range readVersion(t, s, &with, id, versions[i]) {
			decoded[&p[0]] = true // what is decoded again lies elsewhere, while the other is held
		}
	}
	// A byte is in one chunk. It may move the cuts behind it, until they meet again.
	if most := len(first) + 4*len(ids); len(decoded) > most {
		t.Errorf("%d chunks decoded for %d versions of %d chunks, want at most %d", len(decoded), len(ids), len(first), most)
	}
}

func TestTheBaseOfManyDeltasIsDecodedOnce(t *testing.T) {
	s, r := newStore(t), seeded(t)
	text := noise(r, 100<<10)
	versions := [][]byte{text}
	for range 20 {
		text = bytes.Clone(text)
		text[r.IntN(len(text))] ^= 1
		versions = append(versions, text)
	}
	ids := []oid.ID{put(t, s, versions[0])[0]}
	for _, text := range versions[1:] {
		g := s.Stage()
		id, err := g.Put(t.Context(), oid.Blob, text, ids[0])
		if err == nil {
			err = g.Commit(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	var with Versions
	bases := map[*byte]bool{}
	for i, id := range ids {
		readVersion(t, s, &with, id, versions[i])
		for _, base := range with.bases {
			bases[&base[0]] = true
		}
	}
	if len(bases) != 1 || with.held != len(versions[0]) {
		t.Errorf("%d bases decoded, %d bytes of them held", len(bases), with.held)
	}
}

func TestADamagedChunkIsFoundWhicheverVersionHasIt(t *testing.T) {
	s, r := newStore(t), seeded(t)
	text := noise(r, 1<<20)
	other := append(bytes.Clone(text), noise(r, 1<<20)...)
	ids := put(t, s, text, other)
	var with Versions
	pieces := readVersion(t, s, &with, ids[0], text)
	var last digest
	err := s.View(t.Context(), func(v *View) error {
		o, err := v.object(ids[1])
		if err != nil {
			return err
		}
		digests, err := v.digests(o)
		if last = digests[len(digests)-1]; len(digests) <= len(pieces) {
			t.Errorf("%d chunks", len(digests))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	alter(t, s, last, false)
	err = s.View(t.Context(), func(v *View) error { _, _, err := with.Read(v, ids[1]); return err })
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("a damaged chunk: %v", err)
	}
	readVersion(t, s, &with, ids[0], text) // what was read last is still there
	if err := s.View(t.Context(), func(v *View) error { _, _, err := with.Read(v, oid.SHA1.Sum(oid.Blob, nil)); return err }); !errors.Is(err, ErrNotFound) {
		t.Errorf("an object that is not there: %v", err)
	}
}
