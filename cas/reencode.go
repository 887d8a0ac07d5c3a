package cas

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An orphan is a delta that stays, and whose base nothing else needs.
type orphan struct {
	id   oid.ID
	base oid.ID
}

// reencode takes the bases away from the orphans: the first of those that share a base
// is stored whole, and the others as deltas from it where that is small. A sweep
// without grace does so because it promises that the bytes of a purged content are
// gone. Were a base kept, an older version of a file would stay readable in the
// store as long as anything lives that was stored as an edit of it. A delta that cannot
// be decoded ends the sweep: its base might be all that is left to mend it from.
func (w *sweeper) reencode() error {
	slices.SortFunc(w.orphans, func(a, b orphan) int {
		return cmp.Or(a.base.Compare(b.base), a.id.Compare(b.id))
	})
	for from := 0; from < len(w.orphans); {
		to := from + 1
		for to < len(w.orphans) && w.orphans[to].base == w.orphans[from].base {
			to++
		}
		if err := w.reencodeAll(w.orphans[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// reencodeAll gives new frames to orphans of one base. If that is missing they cannot be
// read, and there is nothing to take away from them. The old frames go with what else
// the sweep removes.
func (w *sweeper) reencodeAll(orphans []orphan) error {
	was, err := w.u.base(orphans[0].base)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the base of object %v: %w", orphans[0].id, err)
	}
	var first []byte
	var frames []*staged
	written := map[oid.ID]int64{}
	for _, o := range orphans {
		row, frame, err := w.u.frame(o.id)
		if err != nil {
			return err
		}
		raw, err := w.u.expand(o.id, row, frame, was, nil)
		if err != nil {
			return err
		}
		c := &staged{id: o.id, kind: row.kind, size: uint32(row.size)}
		if first == nil {
			first = raw
		} else if row := w.u.s.codecs.encodeDelta(oid.Tree, raw, first); row != nil {
			c.alone(row, orphans[0].id)
		}
		if c.frame == nil {
			c.alone(w.u.s.codecs.encode(raw), oid.ID{})
		}
		written[o.id] = row.written
		w.deadFrames = append(w.deadFrames, row.seq)
		frames = append(frames, c)
	}
	if _, err := w.u.putFrames(frames); err != nil {
		return err
	}
	var rows []keyed
	for _, c := range frames {
		rows = append(rows, keyed{c.id, c.named(written[c.id])})
	}
	return w.u.putRows(rows)
}
