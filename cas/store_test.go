package cas

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), &Options{Create: true, Algorithm: oid.SHA1})
	must(t, err)
	return s
}

// seeded returns a source of random numbers for a test.
func seeded(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(seed.Of(t), 0)) }

// text returns n bytes that compress about as source code does.
func text(r *rand.Rand, n int) []byte {
	p := make([]byte, 0, n+64)
	for len(p) < n {
		p = fmt.Appendf(p, "\tfield%d := compute%d(%q)\n", r.IntN(50), r.IntN(50), "value")
		if r.IntN(4) == 0 {
			p = fmt.Appendf(p, "// %x\n", r.Uint64())
		}
	}
	return p[:n]
}

func noise(r *rand.Rand, n int) []byte {
	p := make([]byte, 0, n+8)
	for len(p) < n {
		p = binary.LittleEndian.AppendUint64(p, r.Uint64())
	}
	return p[:n]
}

func put(t testing.TB, s *Store, payloads ...[]byte) []oid.ID {
	t.Helper()
	g := s.Stage()
	ids := make([]oid.ID, len(payloads))
	for i, p := range payloads {
		id, err := g.Put(t.Context(), oid.Blob, p, oid.ID{})
		must(t, err)
		ids[i] = id
	}
	must(t, g.Commit(t.Context(), nil))
	return ids
}

// putEdit records one content, of which there is an earlier version.
func putEdit(t testing.TB, s *Store, payload []byte, base oid.ID) oid.ID {
	t.Helper()
	g := s.Stage()
	id, err := g.Put(t.Context(), oid.Blob, payload, base)
	must(t, err)
	must(t, g.Commit(t.Context(), nil))
	return id
}

func read(t testing.TB, s *Store, id oid.ID) (payload []byte) {
	t.Helper()
	err := s.View(context.Background(), func(v *View) (err error) {
		_, payload, err = v.Object(id)
		return err
	})
	must(t, err)
	return payload
}

func TestOpeningAMissingFileSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if _, err := Open(t.Context(), path, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open gives %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Errorf("Open left %v", entries)
	}
}

func TestCreatorsAtOnceAgreeOnOneStore(t *testing.T) {
	for range 10 {
		path := filepath.Join(t.TempDir(), "store.db")
		ids := make([][16]byte, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				s, err := Open(t.Context(), path, &Options{Create: true})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = s.ID()
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || id == [16]byte{} {
				t.Fatalf("ids %x", ids)
			}
		}
	}
}

func TestSameBytesAreStoredOnce(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	p := noise(r, 3<<20)
	put(t, s, p)
	before, err := s.Stats(t.Context())
	must(t, err)
	q := append(append(bytes.Clone(p[:1<<20]), "inserted"...), p[1<<20:]...)
	put(t, s, p, q)
	after, err := s.Stats(t.Context())
	must(t, err)
	if grown := after.StoredBytes - before.StoredBytes; grown > 700<<10 {
		t.Errorf("an insertion into 3 MiB stored %d bytes", grown)
	}
}

func TestATreeIsADeltaForLongerThanAContent(t *testing.T) {
	r := seeded(t)
	random := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		return p
	}
	base := random(100 * 32)
	edited := bytes.Clone(base)
	for i := range 10 { // a tenth of its ids
		copy(edited[i*320:], random(32))
	}
	var c codecs
	tree, content := c.encodeDelta(oid.Tree, edited, base), c.encodeDelta(oid.Blob, edited, base)
	if tree == nil || len(tree) > len(edited)/treeShare+1 || content != nil {
		t.Errorf("a tenth of %d bytes differs: a tree's delta has %d bytes, a content's %d", len(edited), len(tree), len(content))
	}
	if got, err := c.decode(tree, base, nil, len(edited)); err != nil || !bytes.Equal(got, edited) {
		t.Errorf("it comes back different: %v", err)
	}
	if p := c.encodeDelta(oid.Tree, random(100*32), base); p != nil {
		t.Errorf("what has nothing of its base is a delta of %d bytes", len(p))
	}
}

func TestAnEditIsStoredAsADelta(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	versions := [][]byte{text(r, 20<<10)}
	ids := put(t, s, versions[0])
	for i := range 30 {
		p := bytes.Clone(versions[i])
		copy(p[r.IntN(len(p)-20):], fmt.Sprintf("edit %d", i))
		id := putEdit(t, s, p, ids[i])
		versions, ids = append(versions, p), append(ids, id)
	}
	same(t, s, ids, versions)
	st, err := s.Stats(t.Context())
	must(t, err)
	if per := (st.StoredBytes - 6000) / 30; per > 1000 {
		t.Errorf("an edit takes %d bytes", per)
	}
	undamaged(t, s)
}
