package cas

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// ErrReadOnly is reported by a change through a [View].
var ErrReadOnly = errors.New("a view cannot change the store")

// An Update is the store during a transaction that changes it: what it writes
// is visible to it at once, and to others when it is over.
type Update struct {
	View
}

// Update calls fn in a transaction of its own, under the exclusive lock. If fn
// returns nil everything it wrote is durable when Update returns nil; in every
// other case nothing of it is visible.
func (s *Store) Update(ctx context.Context, fn func(*Update) error) error {
	return s.transact(ctx, durable.Exclusive, func(f *file) error {
		return s.update(f, fn)
	})
}

func (s *Store) update(f *file, fn func(*Update) error) error {
	return s.view(f, func(v *View) error {
		u := &Update{View: *v}
		err := fn(u)
		v.damage = u.damage
		return err
	})
}

// A Table is a named list or map of small records, in the order of their keys.
// The store does not know their meaning, only a checksum of each. A table that
// was never written is empty. Like the View it came from, it is for one
// goroutine; it must not be changed while it is ranged over.
type Table struct {
	view *View
	name string
	rows *bolt.Bucket // nil: never written
}

// Table returns the table of that name, to read it.
func (v *View) Table(name string) *Table {
	return &Table{view: v, name: name, rows: v.tx.Bucket([]byte(tablePrefix + name))}
}

// Append adds a record under the next sequence number, its key being the eight
// bytes of the number, big-endian. Numbers begin at 1 and are not used twice,
// also when the record is deleted.
func (t *Table) Append(value []byte) (seq uint64, err error) {
	if err := t.create(); err != nil {
		return 0, err
	}
	if seq, err = nextSeq(t.rows); err != nil {
		return 0, err
	}
	if err := t.Put(seqKey(seq), value); err != nil {
		return 0, err
	}
	return seq, t.rows.SetSequence(seq)
}

// Put writes the record of a key, which must not be empty.
func (t *Table) Put(key, value []byte) error {
	if err := t.create(); err != nil {
		return err
	}
	if last, _ := t.rows.Cursor().Last(); bytes.Compare(key, last) > 0 {
		t.rows.FillPercent = fillPercent // half of each page would stay empty where rows only follow one another
	}
	return t.view.put(t.rows, tablePrefix+t.name, key, seal(key, bytes.Clone(value)))
}

// Delete removes the record of a key, if there is one.
func (t *Table) Delete(key []byte) error {
	if !t.view.tx.Writable() {
		return ErrReadOnly
	}
	if t.rows == nil {
		return nil
	}
	t.view.file.forget(tablePrefix+t.name, key)
	return t.rows.Delete(key)
}

// Value returns the record of a key, [ErrNotFound] if there is none.
func (t *Table) Value(key []byte) ([]byte, error) {
	var p []byte
	if t.rows != nil {
		p = t.rows.Get(key)
	}
	if p == nil {
		return nil, fmt.Errorf("table %s, record %x: %w", t.name, key, ErrNotFound)
	}
	row, ok := unseal(key, p)
	if !ok {
		return nil, t.corrupt(key)
	}
	return bytes.Clone(row), nil
}

// All yields keys and records, oldest (smallest key) first. The caller owns
// both. A damaged record is left out, and the transaction ends with
// [ErrCorrupt] naming it; the same holds for Peek, Backward, Before and Prefix.
func (t *Table) All() iter.Seq2[[]byte, []byte] { return t.Prefix(nil) }

// Peek is All for who only looks: the bytes are the store's, and valid until the next
// are yielded. Nothing is allocated for a record.
func (t *Table) Peek() iter.Seq2[[]byte, []byte] { return t.from(nil) }

// Prefix yields the records whose keys begin with p, smallest key first.
func (t *Table) Prefix(p []byte) iter.Seq2[[]byte, []byte] { return owned(t.from(p)) }

// from yields the records whose keys begin with p, as they lie in the store.
func (t *Table) from(p []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		if t.rows == nil {
			return
		}
		c := t.rows.Cursor()
		for k, v := c.Seek(p); k != nil && bytes.HasPrefix(k, p); k, v = c.Next() {
			if !t.yield(k, v, yield) {
				return
			}
		}
	}
}

// owned gives the caller copies.
func owned(rows iter.Seq2[[]byte, []byte]) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		for k, v := range rows {
			if !yield(bytes.Clone(k), append([]byte{}, v...)) {
				return
			}
		}
	}
}

// Backward yields keys and records, newest (largest key) first.
func (t *Table) Backward() iter.Seq2[[]byte, []byte] { return t.Before(nil) }

// Before yields the keys that are smaller than p, and their records, the largest
// first; all of them if p is empty.
func (t *Table) Before(p []byte) iter.Seq2[[]byte, []byte] {
	return owned(func(yield func(k, v []byte) bool) {
		if t.rows == nil {
			return
		}
		c := t.rows.Cursor()
		k, v := c.Last()
		if len(p) > 0 {
			if at, _ := c.Seek(p); at != nil {
				k, v = c.Prev()
			} else {
				k, v = c.Last()
			}
		}
		for ; k != nil; k, v = c.Prev() {
			if !t.yield(k, v, yield) {
				return
			}
		}
	})
}

func (t *Table) yield(key, value []byte, yield func(k, v []byte) bool) bool {
	row, ok := unseal(key, value)
	if !ok {
		t.view.damage = append(t.view.damage, t.corrupt(key))
		return true
	}
	return yield(key, row)
}

func (t *Table) corrupt(key []byte) error {
	return fmt.Errorf("%w: table %s, record %x", ErrCorrupt, t.name, key)
}

func (t *Table) create() (err error) {
	if !t.view.tx.Writable() {
		return ErrReadOnly
	}
	if t.rows == nil {
		t.rows, err = t.view.tx.CreateBucketIfNotExists([]byte(tablePrefix + t.name))
	}
	return err
}

// nextSeq is the number after the bucket's last. The counter alone is not
// trusted: were it damaged, an append would overwrite.
func nextSeq(b *bolt.Bucket) (uint64, error) {
	seq := b.Sequence()
	if k, _ := b.Cursor().Last(); k != nil {
		if len(k) != 8 {
			return 0, fmt.Errorf("%w: key %x is not a sequence number", ErrCorrupt, k)
		}
		seq = max(seq, binary.BigEndian.Uint64(k))
	}
	if seq == 1<<64-1 {
		return 0, fmt.Errorf("%w: sequence numbers are used up", ErrCorrupt)
	}
	return seq + 1, nil
}
