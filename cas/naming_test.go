package cas

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/zeebo/blake3"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The same large content, several times in one stage: one copy of its frames is
// enough.
func TestALargeContentThatIsThereSeveralTimesIsWrittenOnce(t *testing.T) {
	s := newStore(t)
	p := noise(seeded(t), 12<<20)
	g := s.Stage()
	for range 5 {
		if _, err := g.Put(t.Context(), oid.Blob, p, oid.ID{}); err != nil {
			t.Fatal(err)
		}
		g.settle()
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	size, err := fileSize(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if size > 18<<20 {
		t.Errorf("5 times the same 12 MiB made a file of %d MiB", size>>20)
	}
}

// A content is found in the store, swept, and put once more into the same load: then
// it is written. A sweep without grace leaves none of its bytes.
func TestAContentThatWasSweptWithinALoadIsWrittenAndSweptAgain(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	x := noise(r, 3<<20)
	put(t, s, x)
	g := s.Stage()
	stage := func(p []byte) {
		if _, err := g.Put(t.Context(), oid.Blob, p, oid.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	stage(x) // found
	opt := sweepNothing
	opt.Grace = -1
	sweepOld(t, s, opt)
	stage(x) // not found any more
	for range 100 {
		stage(noise(r, 100_000))
	}
	g.settle()
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatalf("Commit gives %v", err)
	}
	if got := read(t, s, s.meta.algorithm.Sum(oid.Blob, x)); !bytes.Equal(got, x) {
		t.Error("the content came back different")
	}
	sweepOld(t, s, opt)
	if n := countRows(t, s); n != (census{}) {
		t.Errorf("%+v is left of what was swept without grace", n)
	}
}

// An older copy of the file is put in its place and accepted while a large stage
// is open. What the stage does then takes nothing from what others record.
func TestAnOpenStageTakesNothingFromAnOlderCopyThatWasAccepted(t *testing.T) {
	for _, commit := range []bool{true, false} {
		s := newStore(t)
		payloads := noises(t, 250)
		put(t, s, []byte("something"))
		copied, err := os.ReadFile(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		g := s.Stage()
		putAll(t, g, payloads)
		if err := os.WriteFile(s.Path(), copied, 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := Open(t.Context(), s.Path(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if behind, err := other.Accept(t.Context()); err != nil || !behind {
			t.Fatal(behind, err)
		}
		var ids []oid.ID
		h := other.Stage()
		for i := range payloads { // the same, in another order
			id, err := h.Put(t.Context(), oid.Blob, payloads[len(payloads)-1-i], oid.ID{})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := h.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if commit {
			if err := g.Commit(t.Context(), nil); err != nil && !errors.Is(err, ErrSwept) {
				t.Error(err)
			}
		}
		g.Discard()
		for i, id := range ids {
			var p []byte
			err := other.View(t.Context(), func(v *View) (err error) { _, p, err = v.Object(id); return err })
			if err != nil || !bytes.Equal(p, payloads[len(payloads)-1-i]) {
				t.Errorf("commit %v: content %d: %v", commit, i, err)
				break
			}
		}
	}
}

// damageRow flips a bit in the row of a content that is one chunk.
func damageRow(t *testing.T, s *Store, payload []byte) {
	t.Helper()
	d := digest(blake3.Sum256(payload))
	err := s.Update(t.Context(), func(u *Update) error {
		row := bytes.Clone(u.chunks.Get(d[:]))
		row[0] ^= 1
		return u.chunks.Put(d[:], row)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A bit of the row of a chunk flips, and the content is recorded again. Then it is
// purged: none of its frames is left, and none of its bytes after the file was
// written anew.
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
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, s); n != (census{}) {
		t.Errorf("%+v is left", n)
	}
	if bytes.Contains(file, p) {
		t.Error("the file still has the bytes that were purged")
	}
}

// A damaged manifest keeps no store from being swept, nor what it listed from being
// purged.
func TestADamagedManifestDoesNotKeepAStoreFromBeingSwept(t *testing.T) {
	s := newStore(t)
	payloads := noises(t, 250)
	putAll(t, s.Stage(), payloads) // and its process dies
	id := put(t, s, payloads[0])[0]
	err := s.Update(t.Context(), func(u *Update) error {
		name, _ := u.tx.Cursor().Seek([]byte(manifestPrefix))
		b := u.tx.Bucket(name)
		k, v := b.Cursor().First()
		v = bytes.Clone(v)
		v[3] ^= 1
		return b.Put(bytes.Clone(k), v)
	})
	if err != nil {
		t.Fatal(err)
	}
	opt := SweepOptions{Live: keep(id), Now: time.Now().Add(48 * time.Hour)}
	if r := sweepOld(t, s, opt); r.Chunks == 0 {
		t.Errorf("with grace: %+v", r)
	}
	opt.Grace = -1
	if r := sweepOld(t, s, opt); r.Chunks < 50 {
		t.Errorf("without grace: %+v", r)
	}
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
	err = s.View(t.Context(), func(v *View) error {
		if name, _ := v.tx.Cursor().Seek([]byte(manifestPrefix)); bytes.HasPrefix(name, []byte(manifestPrefix)) {
			t.Errorf("%s is left", name)
		}
		return nil
	})
	if n := countRows(t, s); err != nil || n.frames != 1 || !bytes.Equal(read(t, s, id), payloads[0]) {
		t.Errorf("%+v is left, %v", n, err)
	}
}

// A first snapshot that is killed again and again, as by an agent whose hook may
// take a minute, does not fill the disk with one copy for each try.
func TestKilledStagesOfTheSameContentsDoNotAddUp(t *testing.T) {
	s := newStore(t)
	payloads := noises(t, 250)
	putAll(t, s.Stage(), payloads) // and its process dies
	one, err := fileSize(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		putAll(t, s.Stage(), payloads)
	}
	if all, err := fileSize(s.Path()); err != nil || all > one*3/2 {
		t.Errorf("one try leaves a file of %d bytes, five leave %d, %v", one, all, err)
	}
}

// Deltas that were placed and not named are taken over too. Their base stays as long
// as their note is young.
func TestDeltasThatAKilledStageHasPlacedAreFound(t *testing.T) {
	for _, sweep := range []bool{false, true} {
		s, r := newStore(t), seeded(t)
		base := text(r, 20<<10)
		id := put(t, s, base)[0]
		later(s, 48*time.Hour)
		s.parts = few
		var next [][]byte
		g := s.Stage()
		for range 20 {
			next = append(next, append(noise(r, 10), base...))
			if _, err := g.Put(t.Context(), oid.Blob, next[len(next)-1], id); err != nil {
				t.Fatal(err)
			}
		}
		g.settle()
		left := countRows(t, s)
		if left.frames < 15 || left.chunks != 1 || left.manifests < 15 || left.frameBytes > 30<<10 {
			t.Fatalf("a killed stage left %+v", left)
		}
		if sweep {
			if r := sweepOld(t, s, sweepNothing); r.Chunks != 0 || r.Objects != 1 {
				t.Errorf("swept %+v", r)
			}
		}
		if err := s.indexSpilled(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := countRows(t, s); n.chunks != left.frames || n.frames != left.frames || n.manifests != 0 {
			t.Errorf("%+v of %+v", n, left)
		}
		for i, got := range put(t, s, next...) {
			if !bytes.Equal(read(t, s, got), next[i]) {
				t.Errorf("content %d came back different", i)
			}
		}
		if err := g.Commit(t.Context(), nil); err != nil { // it had not died
			t.Error(err)
		}
		if n := countRows(t, s); n.frames != 21 || n.chunks != 21 || n.manifests != 0 {
			t.Errorf("%+v", n)
		}
		if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
			t.Errorf("Check = %v, %v", damage, err)
		}
	}
}
