package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Check reads every object, compares it with its id, and every record with its checksum:
// what a test wants to know of a whole store. What is damaged is an [ErrCorrupt].
func (s *Store) Check(ctx context.Context) error {
	return errors.Join(s.View(ctx, func(v *View) (damage error) {
		cur := v.objects.Cursor()
		for k, p := cur.First(); k != nil; k, p = cur.Next() {
			damage = errors.Join(damage, v.verify(k, p))
		}
		return damage
	}), s.View(ctx, func(v *View) error {
		cur := v.tx.Cursor()
		for name, value := cur.Seek([]byte(tablePrefix)); value == nil && bytes.HasPrefix(name, []byte(tablePrefix)); name, value = cur.Next() {
			for range v.Table(string(name[len(tablePrefix):])).All() {
				continue // what is left out is damage of the view
			}
		}
		return nil
	}))
}

// undamaged fails a test of a store that Check finds damaged.
func undamaged(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.Check(t.Context()))
}

// verify reads a whole object and compares it with its id.
func (v *View) verify(key, row []byte) error {
	o, err := decodeObject(key, row)
	if err != nil {
		return err
	}
	id, err := oid.FromBytes(key)
	if err != nil {
		return fmt.Errorf("%w: the id %x", ErrCorrupt, key)
	}
	h := v.s.meta.algorithm.NewHasher(o.kind, int64(o.size))
	if _, err := v.each(id, nil, func(raw []byte) { h.Write(raw) }); err != nil {
		if errors.Is(err, ErrNotFound) { // it is met, and not found
			err = errPages
		}
		return fmt.Errorf("object %x: %w", key, err)
	}
	if h.Sum() != id {
		return fmt.Errorf("%w: object %x has the bytes of another", ErrCorrupt, key)
	}
	return nil
}
