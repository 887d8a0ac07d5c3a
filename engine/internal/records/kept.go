package records

import (
	"encoding/binary"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Kept says up to where the ref was found to keep everything: the chain that ends in
// Tip has every snapshot that is whole, up to the number Upto. A chain that grew from
// there has them too. The zero Kept says nothing.
type Kept struct {
	Tip  oid.ID
	Upto uint64 // counts the snapshots of the store
}

// keptRef is the row of the ref in the table.
const keptRef = "ref"

// sinceMax is below how many snapshots that came after a [Kept] are listed. Where there
// are more, all are looked at.
const sinceMax = 1000

// kept reads what was noted of the ref; the zero Kept where that is nothing, or damaged:
// then all of the ref is looked at.
func (v *View) kept() (k Kept) {
	p, err := v.Table(tableKept).Value([]byte(keptRef))
	if err != nil || len(p) <= 8 {
		return Kept{}
	}
	id, err := oid.FromBytes(p[8:])
	if err != nil {
		return Kept{}
	}
	return Kept{Tip: id, Upto: binary.BigEndian.Uint64(p)}
}

// keep notes up to where the ref keeps everything.
func (u *Update) keep(k Kept) error {
	if k.Tip.IsZero() || k == u.kept() {
		return nil
	}
	return u.put(tableKept, []byte(keptRef), append(seqKey(k.Upto), k.Tip.Bytes()...))
}

// forgetKept is for what gives an old number to a snapshot that git does not have.
func (u *Update) forgetKept() error { return u.remove(tableKept, []byte(keptRef)) }

// counted returns every snapshot that is whole, as far as the store knows.
func (v *View) counted(pending map[oid.ID]bool) (list []Counted, err error) {
	lost := map[oid.ID]bool{}
	for key := range v.Table(tableLost).All() {
		if id, err := oid.FromBytes(key); err == nil {
			lost[id] = true
		}
	}
	for key, seq := range v.Table(tableByID).All() {
		id, err := oid.FromBytes(key)
		if err != nil || len(seq) != 8 {
			return nil, fmt.Errorf("%w: the id of a snapshot: %x", ErrDamaged, key)
		}
		if !lost[id] {
			list = append(list, Counted{ID: id, Number: binary.BigEndian.Uint64(seq), Recorded: true, Pending: pending[id]})
		}
	}
	return list, nil
}
