package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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
	for _, step := range []func(*View) error{c.chunks, c.records, c.objects} {
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

type checker struct{ damage []Damage }

func (c *checker) add(id oid.ID, err error) {
	c.damage = append(c.damage, Damage{ID: id, Err: err})
}

// chunks checks that each row is whole, has its frame, and a base that is there
// and not a delta. What the frames give is checked with the objects.
func (c *checker) chunks(v *View) error {
	cur := v.chunks.Cursor()
	for k, p := cur.First(); k != nil; k, p = cur.Next() {
		if err := v.checkChunk(k, p); err != nil {
			c.add(oid.ID{}, err)
		}
	}
	return nil
}

func (v *View) checkChunk(key, row []byte) error {
	row0, err := decodeChunk(key, row)
	if err != nil {
		return err
	}
	if len(key) != digestBytes {
		return fmt.Errorf("%w: the name of chunk %x", ErrCorrupt, key)
	}
	if _, _, err := v.frame(digest(key)); err != nil || row0.base == (digest{}) {
		return err
	}
	base, _, err := v.frame(row0.base)
	if err != nil {
		return fmt.Errorf("the base of chunk %x: %w", key, err)
	}
	if base.base != (digest{}) {
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
	h := v.s.meta.algorithm.NewHasher(o.kind, int64(o.size))
	err = v.each(o, func(raw []byte) error {
		_, err := h.Write(raw)
		return err
	})
	if err != nil {
		return fmt.Errorf("object %x: %w", key, err)
	}
	if !bytes.Equal(h.Sum().Bytes(), key) {
		return fmt.Errorf("%w: object %x has the bytes of another", ErrCorrupt, key)
	}
	return nil
}
