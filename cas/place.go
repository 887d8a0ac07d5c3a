package cas

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// placesMax is how many objects are asked for their place under one lock.
const placesMax = 4 << 10

// A Place says where an object lay when it was asked for. It saves looking for it, and no
// more: what is read there is compared with its id. The zero Place says nothing.
type Place struct {
	seq              uint64
	size, stored, at uint32
	kind             oid.Kind
	form             form
}

// place returns where an object lies. What cannot be read without another, or is cut into
// chunks, has no place.
func (o object) place() Place {
	if !o.stands() {
		return Place{}
	}
	return Place{seq: o.seq, size: uint32(o.size), stored: o.stored, at: o.at, kind: o.kind, form: o.form}
}

func (p Place) object() object {
	return object{seq: p.seq, size: uint64(p.size), stored: p.stored, at: p.at, kind: p.kind, form: p.form}
}

// Size returns the size of the object in bytes, or -1.
func (p Place) Size() int64 {
	if p == (Place{}) {
		return -1
	}
	return int64(p.size)
}

// ObjectAt is [View.Object] of an object that lay at a place.
func (v *View) ObjectAt(id oid.ID, p Place) (kind oid.Kind, payload []byte, err error) {
	if p != (Place{}) {
		o := p.object()
		row := v.data.Get(seqKey(o.seq))
		v.file.touch(len(row), v.s.parts.mapped)
		if o.fits(row) {
			if payload, err = v.s.expand(id, o, row, nil); err == nil {
				return o.kind, payload, nil
			}
		}
	}
	return v.Object(id)
}

// Nearby returns the places of ids, and the order in which their bytes lie in the store, as
// indices of ids;
// what the store has not, or has damaged, comes first, as it was given. To read a small content decodes a
// frame that it shares with others: who reads many, and reads them in this order, decodes
// each frame once. The error is that of [Store.View]; the order is then any.
func (s *Store) Nearby(ctx context.Context, ids []oid.ID) (order []int, places []Place, err error) {
	type near struct {
		seq uint64
		at  uint32
	}
	nears := make([]near, len(ids))
	places, order = make([]Place, len(ids)), make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return ids[a].Compare(ids[b]) }) // as the rows lie, so that each page is met once
	for from := 0; from < len(ids); from += placesMax {
		err = s.View(ctx, func(v *View) error {
			for _, i := range order[from:min(from+placesMax, len(ids))] {
				o, err := v.object(ids[i])
				if err == nil {
					places[i] = o.place()
				}
				if err == nil && !o.stands() { // what it needs is the larger
					o, _ = v.object(o.ref)
				}
				nears[i] = near{o.seq, o.at}
			}
			return nil
		})
		if err != nil {
			return order, places, err
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(nears[a].seq, nears[b].seq), cmp.Compare(nears[a].at, nears[b].at), cmp.Compare(a, b))
	})
	return order, places, nil
}
