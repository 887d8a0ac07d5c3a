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
	objects, lists, frames, manifests int // lists are objects too
	frameBytes                        int
}

func countRows(t *testing.T, s *Store) (n census) {
	t.Helper()
	must(t, s.View(t.Context(), func(v *View) error {
		n.objects = v.objects.Stats().KeyN
		v.eachManifest(func(manifest, []spilled) { n.manifests++ })
		err := v.eachObject(func(_ []byte, o object) error {
			if o.form == list {
				n.lists++
			}
			return nil
		})
		if err != nil {
			return err
		}
		return v.data.ForEach(func(_, p []byte) error {
			n.frames++
			n.frameBytes += len(p)
			return nil
		})
	}))
	return n
}

// sound checks that a store has so many objects, lists apart, no byte of a frame that
// belongs to none of them, nothing else, and no damage.
func sound(t *testing.T, s *Store, objects int) {
	t.Helper()
	n := countRows(t, s)
	if frames, stored := shares(t, s); n.objects-n.lists != objects || n.manifests != 0 || frames != n.frames || stored != n.frameBytes-n.frames {
		t.Errorf("%+v of %d contents, whose rows know %d frames and %d bytes", n, objects, frames, stored)
	}
	undamaged(t, s)
}

// shares returns how many frames the objects have, and how many bytes of them.
func shares(t *testing.T, s *Store) (frames, stored int) {
	t.Helper()
	seqs := map[uint64]bool{}
	must(t, s.View(t.Context(), func(v *View) error {
		return v.eachObject(func(_ []byte, o object) error {
			if o.form != list {
				seqs[o.seq] = true
			}
			stored += int(o.stored)
			return nil
		})
	}))
	return len(seqs), stored
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
