package cas

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// placesMax is how many objects are asked for their place under one lock.
const placesMax = 4 << 10

// Nearby returns the places of ids in the order in which their bytes lie in the store;
// what the store has not, or has damaged, comes first, as it was given. To read a small content decodes a
// frame that it shares with others: who reads many, and reads them in this order, decodes
// each frame once. The error is that of [Store.View]; the order is then any.
func (s *Store) Nearby(ctx context.Context, ids []oid.ID) (order []int, err error) {
	type place struct {
		seq uint64
		at  uint32
	}
	places := make([]place, len(ids))
	order = make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	for from := 0; from < len(ids); from += placesMax {
		err = s.View(ctx, func(v *View) error {
			for i := from; i < min(from+placesMax, len(ids)); i++ {
				o, err := v.object(ids[i])
				if err == nil && !o.stands() { // what it needs is the larger
					o, _ = v.object(o.ref)
				}
				places[i] = place{o.seq, o.at}
			}
			return nil
		})
		if err != nil {
			return order, err
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(places[a].seq, places[b].seq), cmp.Compare(places[a].at, places[b].at), cmp.Compare(a, b))
	})
	return order, nil
}
