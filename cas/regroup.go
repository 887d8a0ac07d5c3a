package cas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// regroupsEach frames are written anew in one transaction: others wait for as long.
const regroupsEach = 16

// wasteShare: a prune leaves less of a frame than this part to the dead. A turn's edits
// are one content of many frames each, and to compress all of these again gains little.
const wasteShare = 4

// regroup writes what is left of frames of which a part has gone into frames of their own.
// With strict these are all such frames, torn ones among them, so that nothing of what went
// stays; what is damaged stays as it is, and that is an error: what went might be read in
// it. Else they are those that are worth it. It returns how many bytes were given back.
func (s *Store) regroup(ctx context.Context, torn []uint64, strict bool) (freed int64, err error) {
	members, err := s.halfDead(ctx, torn, strict)
	if err != nil {
		return 0, err
	}
	var damaged error
	for seqs := range slices.Chunk(slices.Sorted(maps.Keys(members)), regroupsEach) {
		err := s.Update(ctx, func(u *Update) error {
			var written []*staged
			var rows []keyed
			var left [][]byte
			for _, seq := range seqs {
				list, old, err := u.rejoin(seq, members[seq])
				if errors.Is(err, ErrCorrupt) {
					damaged = errors.Join(damaged, err)
					continue
				}
				if err != nil {
					return err
				}
				for i := range list {
					written = append(written, &list[i])
					rows = append(rows, keyed{list[i].id, old[i]})
				}
				left = append(left, seqKey(seq))
			}
			if _, err := u.putFrames(written); err != nil {
				return err
			}
			for i, c := range written {
				freed -= int64(c.stored)
				rows[i].row = c.named(rows[i].row.written)
			}
			for _, key := range left {
				freed += int64(max(len(u.data.Get(key)), 1) - 1)
				if err := u.data.Delete(key); err != nil {
					return err
				}
			}
			return u.putRows(rows)
		})
		if err != nil {
			return freed, err
		}
	}
	if !strict {
		return freed, nil
	}
	return freed, damaged
}

// halfDead returns the objects of the frames to be written anew. What a manifest lists is
// left alone: its parts get their rows a few at a time, and its owner knows where it lies.
// A frame that none lists gets no more rows.
func (s *Store) halfDead(ctx context.Context, torn []uint64, strict bool) (members map[uint64][]oid.ID, err error) {
	sum := map[uint64]object{}
	members = map[uint64][]oid.ID{}
	err = s.View(ctx, func(v *View) error {
		err := v.eachPart(func(_ []byte, o object) error {
			sum[o.seq] = sum[o.seq].with(o)
			return nil
		})
		if err != nil {
			return err
		}
		for seq, left := range sum {
			if row := v.data.Get(seqKey(seq)); left.wastes(row) || strict && !left.fills(row) {
				members[seq] = nil
			}
		}
		for _, seq := range torn {
			members[seq] = nil
		}
		v.eachManifest(func(_ manifest, list []spilled) {
			for _, c := range list {
				delete(members, c.seq)
			}
		})
		return v.eachPart(func(key []byte, o object) error {
			list, is := members[o.seq]
			if !is {
				return nil
			}
			id, err := oid.FromBytes(key)
			members[o.seq] = append(list, id)
			return err
		})
	})
	return members, err
}

// with adds what another part of the same frame has.
func (o object) with(p object) object {
	return object{size: o.size + p.size, stored: o.stored + p.stored}
}

// fills reports whether parts that have so much together are all that a frame has. A short
// one may have no byte of the frame by its share; so that counts only where the head of the
// frame, which has the size of them all, is damaged.
func (o object) fills(row []byte) bool {
	if size, err := groupSize(row); err == nil {
		return o.size == uint64(size)
	}
	return int(o.stored)+1 == len(row)
}

// wastes reports whether so little of a frame is left in parts that it is worth compressing
// that again.
func (o object) wastes(row []byte) bool {
	size, err := groupSize(row)
	return err == nil && o.size <= uint64(size-size/wasteShare)
}

// eachPart is eachObject for those that share a frame.
func (v *View) eachPart(fn func(key []byte, o object) error) error {
	return v.eachObject(func(key []byte, o object) error {
		if o.form != part {
			return nil
		}
		return fn(key, o)
	})
}

// rejoin makes the frame of those of the objects whose bytes are in a frame still, and
// returns the rows that they have now.
func (u *Update) rejoin(seq uint64, ids []oid.ID) (list []staged, old []object, err error) {
	type member struct {
		staged
		object
		raw []byte
	}
	var members []member
	for _, id := range ids {
		o, row, err := u.frame(id)
		if errors.Is(err, ErrNotFound) || err == nil && (o.form != part || o.seq != seq) {
			continue // others have swept it, or stored it again
		}
		if err != nil {
			return nil, nil, err
		}
		raw, err := u.expand(id, o, row, nil, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("a neighbour in its frame has gone: %w", err)
		}
		members = append(members, member{staged{id: id, kind: o.kind, size: uint32(o.size)}, o, raw})
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.object.at, b.object.at) })
	var payloads [][]byte
	for _, m := range members {
		list, old, payloads = append(list, m.staged), append(old, m.object), append(payloads, m.raw)
	}
	if len(list) > 0 {
		u.s.codecs.join(list, payloads)
	}
	return list, old, nil
}
