package cas

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A stage whose frames have only some of their rows yet, because others sweep between its
// transactions, loses none of them: nobody may take for dead what a manifest lists.
func TestFramesThatGetTheirRowsInPartsAreNotTakenForHalfDead(t *testing.T) {
	for _, grace := range []time.Duration{-1, time.Hour} {
		for step := 1; ; step++ { // of the sweep, before which the stage writes some of its rows
			s := spilling(t)
			later(s, 2*time.Hour) // what the sweep removes is older
			s.parts.group, s.parts.load = groupBytes, 10_000
			sweeper, payloads := again(t, s), noises(t, 250)
			old := put(t, sweeper, []byte("this goes"), []byte("this stays"))
			stops, goesOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			var ids []oid.ID
			commit := func() {
				g := s.Stage()
				ids = putAll(t, g, payloads)
				writes := 0
				s.between = func() {
					if writes++; writes == 3 {
						close(stops)
						<-goesOn
					}
				}
				done <- g.Commit(t.Context(), nil)
			}
			steps := 0
			sweeper.between = func() {
				if steps++; steps == step {
					go commit()
					<-stops
				}
			}
			sweepOld(t, sweeper, SweepOptions{Live: keep(old[1]), Grace: grace, Now: time.Now().Add(2 * time.Hour)})
			if steps < step {
				break
			}
			if n := countRows(t, sweeper); step == 3 && (n.manifests == 0 || n.objects < 50 || n.objects > 200) {
				t.Errorf("the stage has not come half way: %+v", n)
			}
			close(goesOn)
			if err := <-done; err == nil {
				same(t, again(t, s), ids, payloads)
			} else if !errors.Is(err, ErrSwept) {
				t.Error(err)
			}
			if s.between = nil; steps < 3 {
				t.Errorf("the sweep has %d transactions", steps)
			}
		}
	}
}

// holdsBytes reports whether a frame that decodes without another has bytes.
func holdsBytes(t *testing.T, s *Store, what []byte) (holds bool) {
	t.Helper()
	must(t, s.View(t.Context(), func(v *View) error {
		return v.data.ForEach(func(_, row []byte) error {
			raw, err := s.codecs.decodeGroup(nil, row)
			holds = holds || bytes.Contains(raw, what)
			return err
		})
	}))
	return holds
}

// A short content among many that are alike has no byte of their frame by its share.
func TestAPurgeLeavesNothingOfOneWhoseShareOfAFrameIsNothing(t *testing.T) {
	s, r := newStore(t), seeded(t)
	secret, alike := noise(r, 20), noise(r, 400)
	payloads := [][]byte{secret}
	for i := range 200 {
		payloads = append(payloads, append(bytes.Clone(alike), byte(i)))
	}
	ids := put(t, s, payloads...)
	must(t, s.View(t.Context(), func(v *View) error {
		if n, err := v.Stored(ids[0]); n > 0 || err != nil {
			t.Errorf("it has %d bytes, so nothing is proved: %v", n, err)
		}
		return nil
	}))
	if !holdsBytes(t, s, secret) {
		t.Error("its bytes cannot be seen, so nothing is proved")
	}
	sweepOld(t, s, SweepOptions{Live: keep(ids[1:]...), Grace: -1})
	if holdsBytes(t, s, secret) {
		t.Error("its bytes are in a frame still")
	}
	sound(t, s, 200)
	same(t, s, ids[1:], payloads[1:])
}

// While a purge is on its way, others heal what shared a damaged frame with what it has
// removed: nobody has that frame then.
func TestAPurgeLeavesNothingWhereOthersHealTheNeighbours(t *testing.T) {
	for step := 1; ; step++ {
		s, r := newStore(t), seeded(t)
		secret, other := append([]byte("a"), noise(r, 500)...), append([]byte("b"), noise(r, 600)...)
		ids := put(t, s, secret, other)
		damageFrames(t, s, 1) // in the other one
		others, steps := again(t, s), 0
		s.between = func() {
			if steps++; steps == step {
				_, err := others.Repair(t.Context(), oid.Blob, bytes.NewReader(other), int64(len(other)))
				must(t, err)
			}
		}
		_, err := s.Sweep(t.Context(), SweepOptions{Live: keep(ids[1]), Grace: -1})
		s.between = nil
		if steps < step {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("the purge from a damaged frame gives %v", err)
			}
			return
		}
		if must(t, err); holdsBytes(t, s, secret) {
			t.Errorf("before step %d: the bytes are in a frame still", step)
		}
		sound(t, s, 1)
	}
}

// To compress a frame again for one of its contents gains little. What is left of it the
// next purge takes, also where nothing else goes.
func TestAPruneCompressesAFrameAgainWhereAQuarterHasGone(t *testing.T) {
	s, ids, payloads := sharing(t, 60)
	frame := map[uint64]int{} // how many contents of it there were
	of := func(id oid.ID) (seq uint64) {
		must(t, s.View(t.Context(), func(v *View) error {
			o, err := v.object(id)
			seq = o.seq
			return err
		}))
		return seq
	}
	var live []oid.ID
	var kept [][]byte
	gone, most := map[uint64]int{}, uint64(0)
	for _, id := range ids {
		if frame[of(id)]++; frame[of(id)] > frame[most] {
			most = of(id)
		}
	}
	for i, id := range ids { // one of each large frame, and a quarter of one
		if seq := of(id); frame[seq] > 4 && gone[seq] == 0 || seq == most && 4*gone[seq] < frame[seq] {
			gone[seq]++
			continue
		}
		live, kept = append(live, id), append(kept, payloads[i])
	}
	opt := SweepOptions{Live: keep(live...), Grace: time.Hour, Now: time.Now().Add(2 * time.Hour), DryRun: true}
	before := countRows(t, s)
	would := sweepOld(t, s, opt)
	opt.DryRun = false
	did := sweepOld(t, s, opt)
	after := countRows(t, s)
	if would != did || after.frames != before.frames || did.Objects != 60-len(live) {
		t.Errorf("it would sweep %+v and swept %+v: %+v became %+v", would, did, before, after)
	}
	if n := int64(before.frameBytes - after.frameBytes); n < did.Bytes*8/10 || n > did.Bytes*12/10 || n == 0 {
		t.Errorf("%d bytes were given back, and %d were said to", n, did.Bytes)
	}
	anew := 0
	for seq := range frame {
		must(t, s.View(t.Context(), func(v *View) error {
			if v.data.Get(seqKey(seq)) == nil {
				anew++
			}
			return nil
		}))
	}
	if anew != 1 {
		t.Errorf("%d of %d frames were compressed again", anew, len(frame))
	}
	same(t, s, live, kept)
	opt.Grace = -1
	sweepOld(t, s, opt)
	sound(t, s, len(live))
	same(t, s, live, kept)
}
