package cas

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// placesMax is how many objects are asked for their place under one lock.
const placesMax = 4 << 10

// A Place says where an object lay when it was asked for; of a delta or of a list, where
// that lay which has to be read first. It saves looking for it, and no more: what is read
// there is compared with its id. The zero Place says nothing.
type Place struct {
	seq              uint64
	size, stored, at uint32
	kind             oid.Kind
	form             form
}

// whole reports whether the object can be read there, without another.
func (p Place) whole() bool { return p.seq != 0 && p.object().stands() }

func (p Place) object() object {
	return object{seq: p.seq, size: uint64(p.size), stored: p.stored, at: p.at, kind: p.kind, form: p.form}
}

// Size returns the size of the object in bytes, or -1.
func (p Place) Size() int64 {
	if !p.whole() {
		return -1
	}
	return int64(p.size)
}

// place returns where an object lies; nowhere if the store has it not, or has it damaged.
func (v *View) place(id oid.ID) Place {
	o, err := v.object(id)
	if err != nil {
		return Place{}
	}
	p := Place{seq: o.seq, size: uint32(o.size), stored: o.stored, at: o.at, kind: o.kind, form: o.form}
	if !o.stands() { // what it needs is the larger
		needed, _ := v.object(o.ref)
		p.seq, p.at = needed.seq, needed.at
	}
	return p
}

// ObjectAt is [View.Object] of an object that lay at a place. The payload is in buf if there
// is room.
func (v *View) ObjectAt(id oid.ID, p Place, buf []byte) (kind oid.Kind, payload []byte, err error) {
	if p.whole() {
		o := p.object()
		row := v.dataRow(o.seq)
		if o.fits(row) {
			if payload, err = v.expand(id, o, row, nil, buf); err == nil {
				return o.kind, payload, nil
			}
		}
	}
	return v.Object(id)
}

// Nearby returns the places of ids, and the order in which their bytes lie in the store, as
// indices of ids. What the store has not, or has damaged, comes first, as it was given. To
// read a small content decodes a frame that it shares with others: who reads many, and
// reads them in this order, decodes each frame once. The error is that of [Store.View]; the
// order is then any.
func (s *Store) Nearby(ctx context.Context, ids []oid.ID) (order []int, places []Place, err error) {
	places, order = make([]Place, len(ids)), make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return ids[a].Compare(ids[b]) }) // as the rows lie, so that each page is met once
	for from := 0; from < len(ids); from += placesMax {
		err = s.View(ctx, func(v *View) error {
			for _, i := range order[from:min(from+placesMax, len(ids))] {
				places[i] = v.place(ids[i])
			}
			return nil
		})
		if err != nil {
			return order, places, err
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(places[a].seq, places[b].seq), cmp.Compare(places[a].at, places[b].at), cmp.Compare(a, b))
	})
	return order, places, nil
}
