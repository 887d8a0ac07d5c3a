package cas

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A census counts what the buckets of a store have.
type census struct {
	objects, chunks, frames, manifests int
	frameBytes                         int
}

func countRows(t *testing.T, s *Store) (n census) {
	t.Helper()
	err := s.View(t.Context(), func(v *View) error {
		n.objects, n.chunks = v.objects.Stats().KeyN, v.chunks.Stats().KeyN
		v.eachManifest(func(manifest, []spilledChunk) { n.manifests++ })
		return v.data.ForEach(func(_, p []byte) error {
			n.frames++
			n.frameBytes += len(p)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// putAll puts contents into a stage, and waits until what
// it writes before it is committed is written.
func putAll(t *testing.T, g *Stage, payloads [][]byte) (ids []oid.ID) {
	t.Helper()
	for _, p := range payloads {
		id, err := g.Put(t.Context(), oid.Blob, p, oid.ID{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	g.settle()
	return ids
}

func noises(t *testing.T, n int) (out [][]byte) {
	r := seeded(t)
	for range n {
		out = append(out, noise(r, 100_000))
	}
	return out
}

// few makes each stage a large one.
var few = parts{batch: 1, load: 300, rows: 2}

var sweepNothing = SweepOptions{Live: func(func(oid.ID)) error { return nil }}

func sweepOld(t *testing.T, s *Store, opt SweepOptions) SweepReport {
	t.Helper()
	report, err := s.Sweep(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestFramesThatNeverGotRowsAreSweptWhenTheyAreOld(t *testing.T) {
	s := newStore(t)
	payloads := noises(t, 250)
	putAll(t, s.Stage(), payloads) // and its process dies
	left := countRows(t, s)
	if left.frames < 100 || left.manifests == 0 || left.chunks != 0 {
		t.Fatalf("a large stage left %+v", left)
	}
	own := put(t, s, payloads[0])[0] // somebody records one of them
	if r := sweepOld(t, s, sweepNothing); r != (SweepReport{}) {
		t.Errorf("%+v was swept while it was young", r)
	}
	opt := sweepNothing
	opt.Now = time.Now().Add(25 * time.Hour)
	opt.Live = keep(own)
	opt.DryRun = true
	would := sweepOld(t, s, opt)
	opt.DryRun = false
	did := sweepOld(t, s, opt)
	if did != would || did.Chunks != left.frames-1 { // the one that was recorded has a frame of its own
		t.Errorf("would sweep %+v, swept %+v of %+v", would, did, left)
	}
	if n := countRows(t, s); n.frames != 1 || n.chunks != 1 || n.manifests != 0 {
		t.Errorf("%+v is left", n)
	}
	if !bytes.Equal(read(t, s, own), payloads[0]) {
		t.Error("what was recorded is gone")
	}
}

// Two stages place the same contents at once. The one that comes last gives its
// frames back.
func TestStagesOfTheSameContentsLeaveOneFrameOfEach(t *testing.T) {
	s := newStore(t)
	payloads := noises(t, 250)
	first, second := s.Stage(), s.Stage()
	first.spill.alone, second.spill.alone = true, true // neither looks for what others have left
	ids := putAll(t, first, payloads)
	putAll(t, second, payloads)
	if n := countRows(t, s); n.frames < 2*len(payloads)*3/4 {
		t.Fatalf("only %d frames were placed", n.frames)
	}
	for _, g := range []*Stage{second, first} {
		if err := g.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := countRows(t, s); n.frames != len(payloads) || n.chunks != n.frames || n.objects != n.frames || n.manifests != 0 {
		t.Errorf("%+v of %d contents", n, len(payloads))
	}
	for i, id := range ids {
		if !bytes.Equal(read(t, s, id), payloads[i]) {
			t.Fatalf("content %d came back different", i)
		}
	}
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
}

// What a discarded stage has written serves the next.
func TestWhatADiscardedStageHasWrittenIsFoundByTheNext(t *testing.T) {
	s := newStore(t)
	payloads := noises(t, 250)
	g := s.Stage()
	putAll(t, g, payloads)
	g.Discard()
	left := countRows(t, s)
	if left.frames < 100 || left.chunks != 0 {
		t.Fatalf("a large stage left %+v", left)
	}
	ids := putAll(t, g, append(noises(t, 300)[250:], payloads...))
	if n := countRows(t, s); n.chunks != left.frames {
		t.Errorf("%+v of %+v", n, left)
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, s); n.frames != len(ids) || n.chunks != len(ids) || n.manifests != 0 {
		t.Errorf("%+v of %d contents", n, len(ids))
	}
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
}

// A sweep that spares nothing takes frames from under a stage, before or after
// some of them have rows. The stage then records nothing, and leaves nothing.
func TestAStageWhoseFramesWereSweptRecordsNothing(t *testing.T) {
	s := newStore(t)
	g := s.Stage()
	putAll(t, g, noises(t, 250))
	opt := sweepNothing
	opt.Grace = -1
	if r := sweepOld(t, s, opt); r.Bytes < loadBytes {
		t.Fatalf("swept %+v", r)
	}
	err := g.Commit(t.Context(), func(*Update) error { t.Error("recorded"); return nil })
	if !errors.Is(err, ErrSwept) {
		t.Errorf("Commit gives %v", err)
	}
	g.Discard()
	if n := countRows(t, s); n.frames > n.chunks && n.manifests == 0 {
		t.Errorf("frames without a row and without a note: %+v", n)
	}
	sweepOld(t, s, opt)
	if n := countRows(t, s); n != (census{}) {
		t.Errorf("%+v is left", n)
	}
}

// Whichever transaction of a large commit fails, a sweep finds all that it has left.
func TestWhatALargeCommitLeavesThatFailsHalfWayIsSwept(t *testing.T) {
	for passed := 0; ; passed++ {
		s := newStore(t)
		s.parts = few
		g := s.Stage()
		putAll(t, g, noises(t, 5))
		transactions := 0
		s.opened = func(db *bolt.DB) {
			if transactions++; transactions <= passed {
				return
			}
			*writeAt(db) = func([]byte, int64) (int, error) {
				return 0, &os.PathError{Op: "write", Path: s.path, Err: syscall.ENOSPC}
			}
		}
		err := g.Commit(t.Context(), nil)
		s.opened = nil
		if err == nil {
			if passed < 3 {
				t.Errorf("a large commit is %d transactions", passed)
			}
			break
		}
		opt := sweepNothing
		opt.Grace = -1
		sweepOld(t, s, opt)
		if n := countRows(t, s); n != (census{}) {
			t.Errorf("after %d transactions %+v is left", passed, n)
		}
	}
}

// However many small contents a stage has, no transaction writes much more than
// a load, and all of them together not much more than the file has in the end:
// rows in no order would touch each page of the tables again and again.
func TestALargeStageTouchesEachPageOfRowsAboutOnce(t *testing.T) {
	const contents = 30_000
	s, r := newStore(t), seeded(t)
	s.parts.load, s.parts.rows = s.parts.load/4, s.parts.rows/4
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
		if _, err := g.Put(t.Context(), oid.Blob, noise(r, 100), oid.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for _, slots := range g.seen.shards {
		kept += 4 * cap(slots)
	}
	g.settle()
	for _, slots := range g.spill.byDigest.shards {
		kept += 4 * cap(slots)
	}
	for _, b := range append(g.spill.chunks.blocks, g.seen.entries.blocks...) {
		kept += cap(b)
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	size, err := fileSize(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the largest transaction wrote %d KiB, all wrote %d; the file has %d; kept in memory: %d", most>>10, all>>10, size>>10, kept>>10)
	if most > s.parts.load || all > int(size)*5/4 {
		t.Errorf("the largest transaction wrote %d bytes, all wrote %d; the file has %d", most, all, size)
	}
	if kept/contents > 90 {
		t.Errorf("%d bytes of memory for each content", kept/contents)
	}
	if n := countRows(t, s); n.frames != contents || n.chunks != contents || n.objects != contents || n.manifests != 0 {
		t.Errorf("%+v", n)
	}
}

// Rows that come in order fill their pages, whatever their digests are.
func TestTheRowsOfALargeStageFillTheirPages(t *testing.T) {
	const contents = 9_000
	s, r := newStore(t), seeded(t)
	s.parts.load, s.parts.rows = s.parts.load/5, s.parts.rows/5 // rows of three transactions
	g := s.Stage()
	for range contents {
		if _, err := g.Put(t.Context(), oid.Blob, noise(r, 60), oid.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	err := s.View(t.Context(), func(v *View) error {
		for name, b := range map[string]*bolt.Bucket{objectsName: v.objects, chunksName: v.chunks} {
			if st := b.Stats(); st.KeyN != contents || st.LeafInuse*100 < st.LeafAlloc*80 {
				t.Errorf("%s: %d rows fill %d of %d bytes", name, st.KeyN, st.LeafInuse, st.LeafAlloc)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestATableOfIDsKnowsWhatWasAdded(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		var table idTable
		r := seeded(t)
		ids := map[oid.ID]byte{}
		for len(ids) < 20_000 {
			id := alg.Sum(oid.Blob, noise(r, 2))
			if len(ids) >= 10_000 {
				id = alg.Sum(oid.Blob, noise(r, 8))
			}
			n, known := ids[id]
			if note := table.note(id); (note != nil) != known || known && note[0] != n || table.add(id) != known {
				t.Fatalf("%v: %v", id, note)
			}
			ids[id] = byte(r.IntN(256))
			table.note(id)[0] = ids[id]
		}
		n := 0
		for id := range table.all() {
			if _, known := ids[id]; !known {
				t.Fatalf("%v was never added", id)
			}
			n++
		}
		if n != len(ids) || table.note(alg.Sum(oid.Tree, nil)) != nil || table.note(oid.ID{}) != nil {
			t.Errorf("%d of %d", n, len(ids))
		}
		table.forget()
		for id := range ids {
			if note := table.note(id); note == nil || note[0] != 0 {
				t.Fatalf("%v: %v", id, note)
			}
		}
	}
}
