package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Damage is one thing that Check found wrong.
type Damage struct {
	// ID is the object that cannot be read; zero for damage that is not of one
	// object.
	ID  oid.ID
	Err error // an [ErrCorrupt]
}

// Check reads every object, compares it with its id, and checks that every chunk
// has its frame and every record its checksum: what a test wants to know of a
// whole store. An error means that the check could not be made.
func (s *Store) Check(ctx context.Context) ([]Damage, error) {
	c := new(checker)
	for _, step := range []func(*View) error{c.rows, c.records, c.objects} {
		err := s.View(ctx, step)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return c.damage, err
		}
		if err != nil { // a page cannot be read: this step ends here
			c.add(oid.ID{}, err)
		}
	}
	return c.damage, nil
}

// undamaged fails a test of a store that Check finds damaged.
func undamaged(t *testing.T, s *Store) {
	t.Helper()
	if damage, err := s.Check(t.Context()); err != nil || len(damage) > 0 {
		t.Errorf("Check = %v, %v", damage, err)
	}
}

type checker struct{ damage []Damage }

func (c *checker) add(id oid.ID, err error) {
	c.damage = append(c.damage, Damage{ID: id, Err: err})
}

// rows checks that each row is whole, has its frame, and a base that is there
// and not a delta. What the frames give is checked with the objects.
func (c *checker) rows(v *View) error {
	cur := v.objects.Cursor()
	for k, p := cur.First(); k != nil; k, p = cur.Next() {
		if err := v.checkRow(k, p); err != nil {
			c.add(oid.ID{}, err)
		}
	}
	return nil
}

func (v *View) checkRow(key, row []byte) error {
	o, err := decodeObject(key, row)
	if err != nil || o.form == list {
		return err
	}
	id, err := oid.FromBytes(key)
	if err != nil {
		return fmt.Errorf("%w: the id %x", ErrCorrupt, key)
	}
	if _, _, err := v.frame(id); err != nil || o.form == whole {
		return err
	}
	base, _, err := v.frame(o.ref)
	if err != nil {
		return fmt.Errorf("%w: the base of chunk %x: %v", ErrCorrupt, key, err)
	}
	if base.form == delta {
		return fmt.Errorf("%w: the base of chunk %x is a delta", ErrCorrupt, key)
	}
	return nil
}

// records checks the tables. What an iteration leaves out becomes damage here.
func (c *checker) records(v *View) error {
	cur := v.tx.Cursor()
	for name, value := cur.Seek([]byte(tablePrefix)); value == nil && bytes.HasPrefix(name, []byte(tablePrefix)); name, value = cur.Next() {
		for range v.Table(string(name[len(tablePrefix):])).All() {
			continue
		}
	}
	for _, err := range v.damage {
		c.add(oid.ID{}, err)
	}
	v.damage = nil
	return nil
}

// objects verifies all objects.
func (c *checker) objects(v *View) error {
	cur := v.objects.Cursor()
	for k, p := cur.First(); k != nil; k, p = cur.Next() {
		if err := v.verify(k, p); err != nil {
			id, _ := oid.FromBytes(k)
			c.add(id, err)
		}
	}
	return nil
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
	if _, err := v.each(id, func(raw []byte) { h.Write(raw) }); err != nil {
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
