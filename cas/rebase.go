package cas

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An orphan is a delta that stays, and whose base no object needs.
type orphan struct {
	digest digest
	base   digest
}

// rebase takes the bases away from the orphans: the first of those that share a base
// is stored whole, and the others as deltas from it where that is small. A sweep
// without grace does so because it promises that the bytes of a purged content are
// gone. Were a base kept, an older version of a file would stay readable in the
// store as long as anything lives that was stored as an edit of it. A delta that cannot
// be decoded ends the sweep: its base might be all that is left to mend it from.
func (w *sweeper) rebase() error {
	slices.SortFunc(w.orphans, func(a, b orphan) int {
		if c := bytes.Compare(a.base[:], b.base[:]); c != 0 {
			return c
		}
		return bytes.Compare(a.digest[:], b.digest[:])
	})
	for from := 0; from < len(w.orphans); {
		to := from + 1
		for to < len(w.orphans) && w.orphans[to].base == w.orphans[from].base {
			to++
		}
		if err := w.rebaseAll(w.orphans[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// rebaseAll gives new frames to orphans of one base. If that is missing they cannot be
// read, and there is nothing to take away from them.
func (w *sweeper) rebaseAll(orphans []orphan) error {
	if w.u.chunks.Get(orphans[0].base[:]) == nil {
		return nil
	}
	was, err := w.u.base(orphans[0].base)
	if err != nil {
		return fmt.Errorf("the base of chunk %x: %w", orphans[0].digest, err)
	}
	var first []byte
	frames := make([]*stagedChunk, 0, len(orphans))
	rows := make(map[digest]chunk, len(orphans))
	for _, o := range orphans {
		row, frame, err := w.u.frame(o.digest)
		if err != nil {
			return err
		}
		raw, err := w.u.s.expand(o.digest, row, frame, was)
		if err != nil {
			return err
		}
		c := &stagedChunk{digest: o.digest, raw: row.raw}
		if first == nil {
			first = raw
		} else if c.row = w.u.s.codecs.encodeDelta(oid.Tree, raw, first); c.row != nil {
			c.base = orphans[0].digest
		}
		if c.row == nil {
			c.row = w.u.s.codecs.encode(raw)
		}
		rows[o.digest] = row
		frames = append(frames, c)
	}
	return w.replaceFrames(frames, rows)
}

// replaceFrames writes the new frames and has their rows name them. The old frames go
// with what else the sweep removes.
func (w *sweeper) replaceFrames(frames []*stagedChunk, rows map[digest]chunk) error {
	var renamed []keyed
	err := w.u.putFrames(frames, func(c *stagedChunk, seq uint64) {
		row := rows[c.digest]
		w.deadFrames = append(w.deadFrames, row.seq)
		row.seq, row.stored, row.base = seq, uint32(len(c.row)-1), c.base
		renamed = append(renamed, keyed{c.digest[:], row.encode(c.digest[:])})
	})
	if err != nil {
		return err
	}
	for _, r := range renamed {
		if err := w.u.put(w.u.chunks, chunksName, r.key, r.row); err != nil {
			return err
		}
	}
	return nil
}
