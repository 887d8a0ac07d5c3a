package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// checkBytes of payload are verified under one lock; then writers have a turn.
const checkBytes = 32 << 20

// Damage is one thing that [Store.Check] found wrong.
type Damage struct {
	// ID is the object that cannot be read; zero for damage that is not of one
	// object.
	ID  oid.ID
	Err error // an [ErrCorrupt]
}

// Check reads every object, compares it with its id, and holds that every chunk
// has its frame and every record its checksum. It returns what is damaged; an
// error means that the check could not be made. progress, which may be nil, is
// told the number of objects done and of all. The lock is let go of in between,
// so objects that are stored or swept meanwhile may or may not be seen.
func (s *Store) Check(ctx context.Context, progress func(done, total int)) ([]Damage, error) {
	c := &checker{progress: progress}
	for _, step := range []func(*View) error{c.chunks, c.records, c.objects} {
		c.more = true
		for c.more {
			c.more = false
			err := s.View(ctx, step)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				return c.damage, err
			}
			if err != nil { // a page cannot be read: this step ends here
				c.add(oid.ID{}, err)
				c.more = false
			}
		}
	}
	return c.damage, nil
}

type checker struct {
	progress    func(done, total int)
	damage      []Damage
	done, total int
	more        bool   // the step is to be called again
	next        []byte // where objects goes on
}

func (c *checker) add(id oid.ID, err error) {
	c.damage = append(c.damage, Damage{ID: id, Err: err})
}

// chunks holds that each row is whole, has its frame, and a base that is there
// and not a delta. What the frames give is checked with the objects.
func (c *checker) chunks(v *View) error {
	cur := v.chunks.Cursor()
	for k, p := cur.First(); k != nil; k, p = cur.Next() {
		if err := v.checkChunk(k, p); err != nil {
			c.add(oid.ID{}, err)
		}
	}
	c.total = v.objects.Stats().KeyN
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

// objects verifies objects until it has read checkBytes, and says if there are
// more.
func (c *checker) objects(v *View) error {
	cur, read := v.objects.Cursor(), int64(0)
	for k, p := cur.Seek(c.next); k != nil; k, p = cur.Next() {
		if read > checkBytes {
			c.next, c.more = bytes.Clone(k), true
			return nil
		}
		n, err := v.verify(k, p)
		if err != nil {
			id, _ := oid.FromBytes(k)
			c.add(id, err)
		}
		read += n
		if c.done++; c.progress != nil {
			c.progress(c.done, max(c.done, c.total))
		}
	}
	return nil
}

// verify reads a whole object and compares it with its id.
func (v *View) verify(key, row []byte) (size int64, err error) {
	o, err := decodeObject(key, row)
	if err != nil {
		return 0, err
	}
	h := v.s.meta.algorithm.NewHasher(o.kind, int64(o.size))
	err = v.each(o, func(raw []byte) error {
		_, err := h.Write(raw)
		return err
	})
	if err != nil {
		return int64(o.size), fmt.Errorf("object %x: %w", key, err)
	}
	if !bytes.Equal(h.Sum().Bytes(), key) {
		err = fmt.Errorf("%w: object %x has the bytes of another", ErrCorrupt, key)
	}
	return int64(o.size), err
}
