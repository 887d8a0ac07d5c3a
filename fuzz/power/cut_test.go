//go:build linux

package power

import (
	"fmt"
	"math/rand/v2"
)

// A cut is a moment at which the power fails.
type cut struct {
	at  int // events that have happened; the rest never did
	how how
}

// how says what becomes of the writes that no flush has covered yet.
type how int

const (
	dropped  how = iota // the disk had written none of them
	written             // the disk had written all of them
	some                // it had written any of them, in any order
	torn                // the same, and of each any of its 4 KiB blocks or sectors
	lastTorn            // in order, and of the last one a part
	hows
)

func (h how) String() string {
	return [...]string{"dropped", "written", "some", "torn", "last torn"}[h]
}

func (c cut) String() string { return fmt.Sprintf("cut at %d, unflushed writes: %s", c.at, c.how) }

// A replayer makes the images of cuts. It is quick if they come in order.
type replayer struct {
	rec     *recording
	durable image
	done    int // events that durable has
}

// flushed is how many events were durable for certain at a position.
func (r *recording) flushed(at int) int {
	for at > 0 && !r.log[at-1].flush() {
		at--
	}
	return at
}

// image makes what the disk holds after a cut.
func (r *replayer) image(c cut, rng *rand.Rand) image {
	certain := r.rec.flushed(c.at)
	if r.durable == nil || certain < r.done {
		r.durable, r.done = r.rec.start.clone(), 0
	}
	for ; r.done < certain; r.done++ {
		e := r.rec.log[r.done]
		r.durable.write(e.off, e.data)
	}
	out := r.durable.clone()
	for i := certain; i < c.at; i++ {
		e := r.rec.log[i]
		for _, piece := range pieces(e, c.how, i == c.at-1, rng) {
			out.write(piece.off, piece.data)
		}
	}
	return out
}

// pieces are what a disk without power had written of one write.
func pieces(e event, h how, last bool, rng *rand.Rand) []event {
	switch {
	case h == dropped, h == some && rng.IntN(2) == 0:
		return nil
	case h == torn, h == lastTorn && last:
		return tear(e, rng)
	default:
		return []event{e}
	}
}

// tear keeps any of the blocks of a write; a disk has blocks of one of two
// sizes. The two sectors of ext4's superblock stay together: ext4 reads it
// before its journal, and asks for a repair by hand if its checksum is wrong.
func tear(e event, rng *rand.Rand) []event {
	var kept []event
	unit := pageSize
	if rng.IntN(2) == 0 {
		unit = sectorSize
	}
	keep := false
	for from := 0; from < len(e.data); from += unit {
		if e.off+int64(from) != 3*sectorSize {
			keep = rng.IntN(2) == 0
		}
		if keep {
			kept = append(kept, event{e.off + int64(from), e.data[from:min(from+unit, len(e.data))]})
		}
	}
	return kept
}
