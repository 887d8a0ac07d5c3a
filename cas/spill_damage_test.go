package cas

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// damageRow flips a bit in the row of a content.
func damageRow(t *testing.T, s *Store, payload []byte) {
	t.Helper()
	alter(t, s, s.meta.algorithm.Sum(oid.Blob, payload), true)
}

// A bit of a row flips, and the content is recorded again. Then it is purged: none of its
// frames is left, and none of its bytes after the file was written anew.
func TestAPurgeLeavesNoFrameOfAContentWhoseRowWasDamagedOnce(t *testing.T) {
	s := newStore(t)
	p := noise(seeded(t), 50_000)
	put(t, s, p)
	damageRow(t, s, p)
	id := put(t, s, p)[0]
	if !bytes.Equal(read(t, s, id), p) {
		t.Fatal("not healed")
	}
	opt := sweepNothing
	opt.Grace = -1
	sweepOld(t, s, opt)
	_, _, err := s.Compact(t.Context())
	must(t, err)
	file, err := os.ReadFile(s.Path())
	must(t, err)
	sound(t, s, 0)
	if bytes.Contains(file, p) {
		t.Error("the file still has the bytes that were purged")
	}
}

// A damaged manifest keeps no store from being swept, nor what it listed from being
// purged.
func TestADamagedManifestDoesNotKeepAStoreFromBeingSwept(t *testing.T) {
	s := spilling(t)
	payloads := noises(t, 250)
	putAll(t, s.Stage(), payloads) // and its process dies
	id := put(t, s, payloads[0])[0]
	must(t, s.Update(t.Context(), func(u *Update) error {
		name, _ := u.tx.Cursor().Seek([]byte(manifestPrefix))
		b := u.tx.Bucket(name)
		k, v := b.Cursor().First()
		v = bytes.Clone(v)
		v[3] ^= 1
		return b.Put(bytes.Clone(k), v)
	}))
	opt := SweepOptions{Live: keep(id), Now: time.Now().Add(48 * time.Hour)}
	r := sweepOld(t, s, opt)
	if r.Chunks < 200 {
		t.Errorf("with grace: %+v", r)
	}
	opt.Grace = -1
	sweepOld(t, s, opt)
	if n := countRows(t, s); n.frames != 1 {
		t.Errorf("without grace: %+v", n)
	}
	must(t, s.View(t.Context(), func(v *View) error {
		if name, _ := v.tx.Cursor().Seek([]byte(manifestPrefix)); bytes.HasPrefix(name, []byte(manifestPrefix)) {
			t.Errorf("%s is left", name)
		}
		return nil
	}))
	sound(t, s, 1)
	same(t, s, []oid.ID{id}, payloads)
}

// spillDeltas spills deltas of a base that the store has, which is old by then.
func spillDeltas(t *testing.T, s *Store) (g *Stage, base []byte, next [][]byte, ids []oid.ID) {
	r := seeded(t)
	base = text(r, 20<<10)
	id := put(t, s, base)[0]
	later(s, 48*time.Hour)
	s.parts = few
	g = s.Stage()
	for range 20 {
		next = append(next, append(noise(r, 10), base...))
		id, err := g.Put(t.Context(), oid.Blob, next[len(next)-1], id)
		must(t, err)
		ids = append(ids, id)
	}
	g.settle()
	if n := countRows(t, s); n.frames < 15 || n.objects != 1 || n.manifests < 5 || n.frameBytes > 30<<10 {
		t.Fatalf("the stage has spilled %+v", n)
	}
	return g, base, next, ids
}

// Deltas that were spilled and not indexed are found too. Their base stays as long as
// they are young.
func TestDeltasThatAKilledStageHasSpilledAreFound(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		s := newStore(t)
		g, _, next, ids := spillDeltas(t, s)
		left := countRows(t, s)
		if sweep {
			if r := sweepOld(t, s, sweepNothing); r.Chunks != 0 || r.Objects != 0 {
				t.Errorf("swept %+v", r)
			}
		}
		must(t, s.indexSpilled(t.Context()))
		sound(t, s, left.frames)
		same(t, s, put(t, s, next...), next)
		must(t, g.Commit(t.Context(), nil)) // it had not died
		sound(t, s, 21)
		same(t, s, ids, next)
	}
}

// A large stage has spilled deltas. The row of their base is damaged; another process
// begins to index them and is killed after its first transaction; the base is recorded
// again. What the first stage then acknowledges can be read.
func TestAnOwnerNoticesThatAnotherWhoWasKilledHasTakenItsFrames(t *testing.T) {
	s := newStore(t)
	g, base, _, ids := spillDeltas(t, s)
	damageRow(t, s, base)
	other := again(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	other.opened = func(*bolt.DB) {
		if opened++; opened == 4 {
			cancel()
		}
	}
	if err := other.indexSpilled(ctx); err == nil {
		t.Fatal("not killed")
	}
	small, err := Open(t.Context(), s.Path(), nil)
	must(t, err)
	put(t, small, base) // heals
	if err := g.Commit(t.Context(), nil); err != nil {
		if !errors.Is(err, ErrSwept) {
			t.Error(err)
		}
		return
	}
	for i, id := range ids {
		if _, _, err := s.WriteTo(t.Context(), io.Discard, id); err != nil {
			t.Errorf("%d was acknowledged: %v", i, err)
		}
	}
}

// However many small contents a stage has, no transaction writes much more than
// a load, all of them together not much more than the file has in the end, and what is
// kept of each in memory is little: rows in no order would touch each page of the table
// again and again. Rows that come in order fill their pages, whatever their ids are.
func TestALargeStageTouchesEachPageOfRowsAboutOnce(t *testing.T) {
	const contents = 30_000
	s, r := newStore(t), seeded(t)
	s.parts = parts{batch: batchBytes, load: 5 << 19, rows: rowsEach / 4, mapped: mappedBytes}
	most, all, now := 0, 0, 0
	s.opened = func(db *bolt.DB) {
		now = 0
		real := *writeAt(db)
		*writeAt(db) = func(p []byte, at int64) (int, error) {
			now, all = now+len(p), all+len(p)
			most = max(most, now)
			return real(p, at)
		}
	}
	g := s.Stage()
	for range contents {
		_, err := g.Put(t.Context(), oid.Blob, noise(r, 100), oid.ID{})
		must(t, err)
	}
	g.settle()
	kept := 0
	for _, slots := range g.seen.shards {
		kept += 4 * cap(slots)
	}
	for _, b := range g.seen.entries.blocks {
		kept += cap(b)
	}
	must(t, g.Commit(t.Context(), nil))
	size, err := fileSize(s.Path())
	must(t, err)
	t.Logf("the largest transaction wrote %d KiB, all wrote %d; the file has %d; kept in memory: %d", most>>10, all>>10, size>>10, kept>>10)
	if most > s.parts.load || all > int(size)*5/4 {
		t.Errorf("the largest transaction wrote %d bytes, all wrote %d; the file has %d", most, all, size)
	}
	if kept/contents > 50 {
		t.Errorf("%d bytes of memory for each content", kept/contents)
	}
	sound(t, s, contents)
	must(t, s.View(t.Context(), func(v *View) error {
		if st := v.objects.Stats(); st.LeafInuse*100 < st.LeafAlloc*80 {
			t.Errorf("%d rows fill %d of %d bytes", st.KeyN, st.LeafInuse, st.LeafAlloc)
		}
		return nil
	}))
}
