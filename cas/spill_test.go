package cas

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A census counts what the buckets of a store have.
type census struct {
	objects, frames, manifests int
	frameBytes                 int
}

func countRows(t *testing.T, s *Store) (n census) {
	t.Helper()
	must(t, s.View(t.Context(), func(v *View) error {
		n.objects = v.objects.Stats().KeyN
		v.eachManifest(func(manifest, []spilled) { n.manifests++ })
		return v.data.ForEach(func(_, p []byte) error {
			n.frames++
			n.frameBytes += len(p)
			return nil
		})
	}))
	return n
}

// sound checks that a store has so many objects, each with a frame, nothing else, and
// no damage.
func sound(t *testing.T, s *Store, objects int) {
	t.Helper()
	if n := countRows(t, s); n.frames != objects || n.objects != objects || n.manifests != 0 {
		t.Errorf("%+v of %d contents", n, objects)
	}
	undamaged(t, s)
}

// putAll puts contents into a stage, and waits until what
// it writes before it is committed is written.
func putAll(t *testing.T, g *Stage, payloads [][]byte) (ids []oid.ID) {
	t.Helper()
	for _, p := range payloads {
		id, err := g.Put(t.Context(), oid.Blob, p, oid.ID{})
		must(t, err)
		ids = append(ids, id)
	}
	g.settle()
	return ids
}

func same(t *testing.T, s *Store, ids []oid.ID, payloads [][]byte) {
	t.Helper()
	for i, id := range ids {
		if !bytes.Equal(read(t, s, id), payloads[i]) {
			t.Fatalf("content %d came back different", i)
		}
	}
}

// noises are contents that make a stage of [spilling] a large one.
func noises(t *testing.T, n int) (out [][]byte) {
	r := seeded(t)
	for range n {
		out = append(out, noise(r, 1000))
	}
	return out
}

// few makes each stage a large one.
var few = parts{batch: 1, load: 300, rows: 2}

// spilling returns a store whose stages are large with some hundred contents.
func spilling(t *testing.T) *Store {
	s := newStore(t)
	s.parts = parts{batch: 10_000, load: 100_000, rows: 50, mapped: mappedBytes}
	return s
}

// again opens a store as another process would.
func again(t *testing.T, s *Store) *Store {
	t.Helper()
	other, err := Open(t.Context(), s.Path(), nil)
	must(t, err)
	other.parts = s.parts
	t.Cleanup(func() { other.Close() })
	return other
}

var sweepNothing = SweepOptions{Live: func(func(oid.ID)) error { return nil }}

func sweepOld(t *testing.T, s *Store, opt SweepOptions) SweepReport {
	t.Helper()
	report, err := s.Sweep(t.Context(), opt)
	must(t, err)
	return report
}

func TestFramesThatNeverGotRowsAreSweptWhenTheyAreOld(t *testing.T) {
	s := spilling(t)
	payloads := noises(t, 250)
	putAll(t, s.Stage(), payloads) // and its process dies
	left := countRows(t, s)
	if left.frames < 100 || left.manifests == 0 || left.objects != 0 {
		t.Fatalf("a large stage left %+v", left)
	}
	own := put(t, s, payloads[0])[0] // somebody records one of them
	if r := sweepOld(t, s, sweepNothing); r != (SweepReport{}) {
		t.Errorf("%+v was swept while it was young", r)
	}
	putAll(t, s.Stage(), append(noises(t, 500)[250:], payloads...)) // and another
	opt := SweepOptions{Live: keep(own), Now: time.Now().Add(25 * time.Hour), DryRun: true}
	would := sweepOld(t, s, opt)
	opt.DryRun = false
	did := sweepOld(t, s, opt)
	if did.Chunks != would.Chunks || did.Bytes != would.Bytes || did.Chunks < left.frames-1 {
		t.Errorf("would sweep %+v, swept %+v of %+v", would, did, left)
	}
	sound(t, s, 1)
	same(t, s, []oid.ID{own}, payloads)
}

// Two stages spill the same contents at once. The one that comes last gives its
// frames back.
func TestStagesOfTheSameContentsLeaveOneFrameOfEach(t *testing.T) {
	s := spilling(t)
	payloads := noises(t, 250)
	first, second := s.Stage(), s.Stage()
	first.spill.alone, second.spill.alone = true, true // neither looks for what others have left
	ids := putAll(t, first, payloads)
	putAll(t, second, payloads)
	if n := countRows(t, s); n.frames < 2*len(payloads)*2/3 {
		t.Fatalf("only %d frames were spilled", n.frames)
	}
	for _, g := range []*Stage{second, first} {
		must(t, g.Commit(t.Context(), nil))
	}
	sound(t, s, len(payloads))
	same(t, s, ids, payloads)
}

// What a discarded stage has written serves the next. A first snapshot that is killed
// again and again, as by an agent whose hook may take a minute, does not fill the disk
// with one copy for each try.
func TestWhatAStageHasLeftIsFoundByTheNext(t *testing.T) {
	s := spilling(t)
	payloads := noises(t, 250)
	g := s.Stage()
	putAll(t, g, payloads)
	g.Discard()
	left := countRows(t, s)
	if left.frames < 100 || left.objects != 0 {
		t.Fatalf("a large stage left %+v", left)
	}
	for range 4 {
		putAll(t, s.Stage(), payloads) // and its process dies
	}
	if n := countRows(t, s); n.frames > len(payloads)+50 {
		t.Errorf("one try leaves %+v, five %+v", left, n)
	}
	ids := putAll(t, g, payloads)
	must(t, g.Commit(t.Context(), nil))
	must(t, s.indexSpilled(t.Context()))
	sound(t, s, len(ids))
	same(t, s, ids, payloads)
}

// A sweep that spares nothing takes frames from under a stage. The stage then records
// nothing, and leaves nothing.
func TestAStageWhoseFramesWereSweptRecordsNothing(t *testing.T) {
	s := spilling(t)
	g := s.Stage()
	putAll(t, g, noises(t, 250))
	opt := sweepNothing
	opt.Grace = -1
	if r := sweepOld(t, s, opt); r.Bytes < 100_000 {
		t.Fatalf("swept %+v", r)
	}
	err := g.Commit(t.Context(), func(*Update) error { t.Error("recorded"); return nil })
	if !errors.Is(err, ErrSwept) {
		t.Errorf("Commit gives %v", err)
	}
	g.Discard()
	if n := countRows(t, s); n.frames > n.objects && n.manifests == 0 {
		t.Errorf("frames without a row and without a manifest: %+v", n)
	}
	sweepOld(t, s, opt)
	sound(t, s, 0)
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
		sound(t, s, 0)
	}
}

// An older copy of the file is put in its place and accepted while a large stage
// is open. What the stage does then takes nothing from what others record.
func TestAnOpenStageTakesNothingFromAnOlderCopyThatWasAccepted(t *testing.T) {
	for _, more := range []bool{false, true} {
		s := spilling(t)
		payloads := noises(t, 250)
		put(t, s, []byte("something"))
		copied, err := os.ReadFile(s.Path())
		must(t, err)
		g := s.Stage()
		putAll(t, g, payloads)
		must(t, os.WriteFile(s.Path(), copied, 0o600))
		other := again(t, s)
		if behind, err := other.Accept(t.Context()); err != nil || !behind {
			t.Fatal(behind, err)
		}
		var turned [][]byte
		for i := range payloads { // the same, in another order
			turned = append(turned, payloads[len(payloads)-1-i])
		}
		ids := put(t, other, turned...)
		for _, p := range noises(t, 500)[250:] {
			if !more {
				break
			}
			if _, err := g.Put(t.Context(), oid.Blob, p, oid.ID{}); err != nil && !errors.Is(err, ErrSwept) {
				t.Error(err)
			}
		}
		if err := g.Commit(t.Context(), nil); err != nil && !errors.Is(err, ErrSwept) {
			t.Error(err)
		}
		g.Discard()
		same(t, other, ids, turned)
	}
}

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
	if r := sweepOld(t, s, opt); r.Chunks == 0 {
		t.Errorf("with grace: %+v", r)
	}
	opt.Grace = -1
	if r := sweepOld(t, s, opt); r.Chunks < 50 {
		t.Errorf("without grace: %+v", r)
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
		if _, err := s.WriteTo(t.Context(), io.Discard, id); err != nil {
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
