package cas

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// sharing returns a store whose contents share frames, about 13 of them each.
func sharing(t *testing.T, n int) (s *Store, ids []oid.ID, payloads [][]byte) {
	t.Helper()
	s = newStore(t)
	r := seeded(t)
	for range n {
		payloads = append(payloads, text(r, 20_000))
	}
	ids = put(t, s, payloads...)
	if frames, stored := shares(t, s); frames > n/8 || frames < n/20 || stored == 0 {
		t.Fatalf("%d contents have %d frames", n, frames)
	}
	sound(t, s, n)
	return s, ids, payloads
}

func TestANeighbourInAFrameIsReadWithoutDecodingItAgain(t *testing.T) {
	s, ids, payloads := sharing(t, 100)
	frames, _ := shares(t, s)
	began := s.decoded.Load()
	s.tools = &tools{} // what other tests of the process have read is not known
	order, _, err := s.Nearby(t.Context(), ids)
	must(t, err)
	for _, i := range order {
		if got := read(t, s, ids[i]); !bytes.Equal(got, payloads[i]) {
			t.Errorf("content %d: %d bytes", i, len(got))
		}
	}
	if places := slices.Sorted(slices.Values(order)); len(places) != len(ids) || len(slices.Compact(places)) != len(ids) {
		t.Errorf("not each content once: %v", order)
	}
	if n := s.decoded.Load() - began; n != int64(frames) {
		t.Errorf("%d frames were decoded to read all contents of %d", n, frames)
	}
}

func TestASweepLeavesNoByteOfAContentThatSharedAFrame(t *testing.T) {
	for _, grace := range []time.Duration{-1, time.Hour} {
		s, ids, payloads := sharing(t, 60)
		stored := countRows(t, s).frameBytes
		var live []oid.ID
		for i := 0; i < 60; i += 4 {
			live = append(live, ids[i])
		}
		sweepOld(t, s, SweepOptions{Live: keep(live...), Grace: grace, Now: time.Now().Add(2 * time.Hour)})
		sound(t, s, len(live))
		for i := 0; i < 60; i += 4 {
			if !bytes.Equal(read(t, s, ids[i]), payloads[i]) {
				t.Errorf("content %d differs", i)
			}
		}
		if n := countRows(t, s).frameBytes; n > stored/3 {
			t.Errorf("%d bytes of %d are left of a quarter of the contents", n, stored)
		}
	}
}

func TestAPurgeLeavesNothingOfOneThatSharedAFrame(t *testing.T) {
	s := newStore(t)
	r := seeded(t)
	secret, other := noise(r, 5000), noise(r, 6000)
	ids := put(t, s, secret, other)
	if frames, _ := shares(t, s); frames != 1 {
		t.Fatalf("two contents have %d frames", frames)
	}
	if file, err := os.ReadFile(s.Path()); err != nil || !bytes.Contains(file, secret) {
		t.Fatal("the bytes cannot be seen, so nothing is proved", err)
	}
	sweepOld(t, s, SweepOptions{Live: keep(ids[1]), Grace: -1})
	_, _, err := s.Compact(t.Context())
	must(t, err)
	if file, err := os.ReadFile(s.Path()); err != nil || bytes.Contains(file, secret[:64]) {
		t.Error("the file has bytes of what was purged", err)
	}
	sound(t, s, 1)
	if !bytes.Equal(read(t, s, ids[1]), other) {
		t.Error("its neighbour differs")
	}
}

// damageFrames flips a bit in each frame, at a place between 0 and 1 of it.
func damageFrames(t *testing.T, s *Store, place float64) {
	t.Helper()
	rows := map[string][]byte{}
	must(t, s.View(t.Context(), func(v *View) error {
		return v.data.ForEach(func(k, p []byte) error {
			rows[string(k)] = bytes.Clone(p)
			return nil
		})
	}))
	must(t, s.Update(t.Context(), func(u *Update) error {
		for k, p := range rows {
			p[1+int(place*float64(len(p)-2))] ^= 0x40
			must(t, u.data.Put([]byte(k), p))
		}
		return nil
	}))
}

// Damage in a frame is told of each content whose bytes it takes, a copy of each heals
// it, and the next sweep takes the frame away.
func TestDamageInAFrameThatContentsShareIsHealedByCopies(t *testing.T) {
	for _, place := range []float64{0, 0.001, 0.5, 1} {
		s, ids, payloads := sharing(t, 60)
		damageFrames(t, s, place)
		damaged := 0
		for i, id := range ids {
			got, err := readOne(t, s, id)
			if err == nil && bytes.Equal(got, payloads[i]) {
				continue
			}
			if damaged++; !errors.Is(err, ErrCorrupt) {
				t.Errorf("content %d gives %d bytes, %v", i, len(got), err)
			}
			if _, err := s.Repair(t.Context(), oid.Blob, bytes.NewReader(payloads[i]), int64(len(payloads[i]))); err != nil {
				t.Error(err)
			}
		}
		if damaged == 0 || place == 0 && damaged < 60 {
			t.Errorf("damage at %v is told of %d contents", place, damaged)
		}
		undamaged(t, s)
		dead := put(t, s, []byte("something that goes"))
		sweepOld(t, s, SweepOptions{Live: keep(ids...), Grace: -1})
		if has(t, s, dead[0]) {
			t.Error("it did not go")
		}
		sound(t, s, 60)
		for i, id := range ids {
			if !bytes.Equal(read(t, s, id), payloads[i]) {
				t.Errorf("content %d differs", i)
			}
		}
	}
}

// What is to be purged may still be read by hand in a frame that is damaged elsewhere. The
// frame is all that is left of its other contents: it stays, and the purge says so.
func TestAPurgeFromADamagedFrameFailsUntilItIsHealed(t *testing.T) {
	s, ids, payloads := sharing(t, 30)
	damageFrames(t, s, 0)
	opt := SweepOptions{Live: keep(ids[1:]...), Grace: -1}
	if _, err := s.Sweep(t.Context(), opt); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the purge gives %v", err)
	}
	for _, p := range payloads[1:] {
		_, err := s.Repair(t.Context(), oid.Blob, bytes.NewReader(p), int64(len(p)))
		must(t, err)
	}
	sweepOld(t, s, opt)
	sound(t, s, 29)
}

// Whichever transaction fails while frames are written anew, nothing is lost, and the
// next sweep goes on, and says what it gave back.
func TestASweepThatEndsWhileItWritesFramesAnewIsGoneOnWith(t *testing.T) {
	gone := int64(0)
	for passed := 0; ; passed++ {
		s, ids, payloads := sharing(t, 60)
		opt := SweepOptions{Live: keep(ids[:30]...), Grace: -1}
		writes := failWrite(s, passed+1)
		_, err := s.Sweep(t.Context(), opt)
		s.opened = nil
		for i, id := range ids[:30] {
			if !bytes.Equal(read(t, s, id), payloads[i]) {
				t.Fatalf("content %d differs", i)
			}
		}
		if again := sweepOld(t, s, opt); err != nil && again.Objects+again.Chunks == 0 {
			gone = again.Free
		}
		sound(t, s, 30)
		if err == nil {
			if *writes < 6 || gone == 0 {
				t.Errorf("the sweep wrote %d times; the next gave back %d bytes", *writes, gone)
			}
			return
		}
	}
}

// A frame is stored as it came where the store's reader is sure to read it; else the payload is compressed.
func TestAFrameFromElsewhereIsStoredAsItIs(t *testing.T) {
	r := seeded(t)
	encode := func(raw []byte, options ...zstd.EOption) []byte {
		z, err := zstd.NewWriter(nil, options...)
		must(t, err)
		return z.EncodeAll(raw, nil)
	}
	s := newStore(t)
	g := s.Stage()
	var ids []oid.ID
	var payloads, asTheyCame [][]byte
	for i, size := range []int{framedMin, framedMin + 1, wholeMax / 2, wholeMax} {
		raw := text(r, size)[:size]
		frame := encode(raw, zstd.WithEncoderCRC(i%2 == 0), zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		id, err := g.PutFrame(t.Context(), oid.Blob, raw, frame)
		must(t, err)
		ids, payloads, asTheyCame = append(ids, id), append(payloads, raw), append(asTheyCame, frame)
	}
	var stream bytes.Buffer // says no size
	raw := text(r, framedMin)
	z, err := zstd.NewWriter(&stream)
	must(t, err)
	_, err = z.Write(raw)
	must(t, errors.Join(err, z.Flush(), z.Close()))
	for _, odd := range [][2][]byte{
		{raw, stream.Bytes()},
		{noise(r, framedMin), bytes.Repeat([]byte("longer"), framedMin)},
		{text(r, framedMin), []byte("none")},
		{text(r, framedMin), nil},
		{text(r, framedMin), encode(text(r, framedMin-10)[:framedMin-10])},
		{text(r, framedMin), encode(text(r, framedMin), zstd.WithEncoderDictRaw(7, raw))},
		{text(r, wholeMax+1), encode(text(r, wholeMax+1))},
		{[]byte("small"), encode([]byte("small"))},
		{{}, encode(nil)},
	} {
		id, err := g.PutFrame(t.Context(), oid.Blob, odd[0], odd[1])
		must(t, err)
		ids, payloads = append(ids, id), append(payloads, odd[0])
	}
	must(t, g.Commit(t.Context(), nil))
	for i, id := range ids {
		if got := read(t, s, id); !bytes.Equal(got, payloads[i]) || id != s.Algorithm().Sum(oid.Blob, got) {
			t.Errorf("content %d has %d bytes, not %d", i, len(got), len(payloads[i]))
		}
	}
	must(t, s.View(t.Context(), func(v *View) error {
		for i, frame := range asTheyCame {
			if _, row, err := v.frame(ids[i]); err != nil || row[0] != codecZstd || !bytes.Equal(row[1:], frame) {
				t.Errorf("frame %d is another one: %v", i, err)
			}
		}
		return nil
	}))
}

// Digests, base64 and numbers repeat nothing, and have half their bytes all the same.
func TestTextThatRepeatsNothingIsCompressed(t *testing.T) {
	s, r := newStore(t), seeded(t)
	var texts [][]byte
	for range 3 {
		texts = append(texts, hex.AppendEncode(nil, noise(r, 4<<10)))
	}
	ids := put(t, s, texts[0]) // alone
	ids = append(ids, put(t, s, texts[1:]...)...)
	must(t, s.View(t.Context(), func(v *View) error {
		for i, id := range ids {
			if n, err := v.Stored(id); err != nil || n > int64(len(texts[i])*6/10) {
				t.Errorf("content %d: %d of %d bytes, %v", i, n, len(texts[i]), err)
			}
		}
		return nil
	}))
}
