//go:build linux

package power

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestACutKeepsWhatWasFlushed holds what a cut makes of a log: all before the
// last flush is there, nothing behind the cut is, and of what lies between
// each sector is either old or new, as the cut says.
func TestACutKeepsWhatWasFlushed(t *testing.T) {
	const flushed, open, future = 8, 16, 24 // pages
	d := &disk{now: newImage(future * pageSize)}
	write := func(i int) { d.write(int64(i)*pageSize, bytes.Repeat([]byte{byte(i + 1)}, pageSize)) }
	d.record()
	for i := range flushed {
		write(i)
	}
	d.flush()
	for i := flushed; i < open; i++ {
		write(i)
	}
	at := d.position()
	for i := open; i < future; i++ {
		write(i)
	}
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	for h := range hows {
		old, renewed, mixed := 0, 0, 0
		for range 50 {
			m := d.after(cut{at, h}, rng)
			for i := range future {
				sectors := newSectors(t, m, i)
				switch {
				case i < flushed && sectors != pageSize/sectorSize:
					t.Fatalf("%v: page %d was flushed and is old", h, i)
				case i >= open && sectors != 0:
					t.Fatalf("%v: page %d was written after the cut", h, i)
				case i < flushed || i >= open:
				case sectors == 0:
					old++
				case sectors == pageSize/sectorSize:
					renewed++
				default:
					mixed++
				}
			}
		}
		t.Logf("%v: of the writes that no flush covered %d were lost, %d kept, %d torn", h, old, renewed, mixed)
		want := map[how][3]bool{dropped: {true, false, false}, written: {false, true, false}, some: {true, true, false},
			torn: {true, true, true}, lastTorn: {true, true, true}}[h]
		if got := [3]bool{old > 0, renewed > 0, mixed > 0}; got != want {
			t.Errorf("%v: lost, kept, torn: %v, want %v", h, got, want)
		}
	}
}

// newSectors counts the sectors of a page that hold what was written to it; the
// rest must be what was there before.
func newSectors(t *testing.T, m image, i int) (n int) {
	t.Helper()
	for s := range pageSize / sectorSize {
		b := make([]byte, sectorSize)
		m.read(int64(i)*pageSize+int64(s)*sectorSize, b)
		switch {
		case bytes.Equal(b, bytes.Repeat([]byte{byte(i + 1)}, sectorSize)):
			n++
		case !bytes.Equal(b, make([]byte, sectorSize)):
			t.Fatalf("sector %d of page %d is neither old nor new", s, i)
		}
	}
	return n
}

// TestACutDoesNotDependOnThoseBefore checks that images can be asked for in any
// order, and that the disk itself goes on undisturbed.
func TestACutDoesNotDependOnThoseBefore(t *testing.T) {
	d := &disk{now: newImage(4 * pageSize)}
	d.record()
	var want []byte
	for i := range 20 {
		want = append(want, byte(i+1))
		d.write(int64(i)*700, []byte{byte(i + 1)})
		d.flush()
	}
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 200 {
		writes := rng.IntN(21)
		m := d.after(cut{2 * writes, dropped}, rng)
		m.write(0, []byte{99}) // what is done after a cut is nobody else's
		for i := 1; i < 20; i++ {
			b := []byte{0}
			m.read(int64(i)*700, b)
			if there := b[0] == want[i]; there != (i < writes) {
				t.Fatalf("after %d writes number %d reads as %d", writes, i, b[0])
			}
		}
	}
	b := []byte{0}
	if d.read(0, b); b[0] != 1 {
		t.Fatalf("the disk changed: %d", b[0])
	}
}
