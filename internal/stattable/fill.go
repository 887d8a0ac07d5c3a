package stattable

import (
	bolt "go.etcd.io/bbolt"
)

// fillBytes of rows are written into a new table in one transaction: bbolt has
// all pages of a transaction in memory.
const fillBytes = 4 << 20

// A filling writes rows into the file, which is locked until it is closed.
type filling struct {
	table   *Table
	db      *bolt.DB
	changed map[string]Row
	begun   bool
}

// update calls fn in a transaction, unless another process has saved. Rows without
// a header are of a process that was killed while it filled the file: they are
// removed.
func (w *filling) update(fn func(tx *bolt.Tx, rows *bolt.Bucket) error) error {
	return w.db.Update(func(tx *bolt.Tx) error {
		generation, written, _, err := header(tx)
		if err == nil && (generation != w.table.generation || written != w.table.written) || err != nil && w.table.generation != 0 {
			return ErrOutdated
		}
		if err != nil && !w.begun && tx.Bucket(rowsBucket) != nil {
			if err := tx.DeleteBucket(rowsBucket); err != nil {
				return err
			}
		}
		w.begun = true
		rows, err := tx.CreateBucketIfNotExists(rowsBucket)
		if err != nil {
			return err
		}
		rows.FillPercent = fillPercent
		return fn(tx, rows)
	})
}

// most writes the rows of the first directories of a new table, and returns the
// last ones. What it has written is no table to anybody before there is a header,
// which comes with the last rows; the rows of a table that is there already change
// all at once.
func (w *filling) most(dirs []string) (last []string, err error) {
	for w.table.generation == 0 && err == nil {
		n, size := 0, 0
		for ; n < len(dirs) && size < fillBytes; n++ {
			size += len(w.changed[dirs[n]].p)
		}
		if n == len(dirs) {
			break
		}
		err = w.update(func(_ *bolt.Tx, rows *bolt.Bucket) error { return w.put(rows, dirs[:n]) })
		dirs = dirs[n:]
	}
	return dirs, err
}

func (w *filling) put(rows *bolt.Bucket, dirs []string) error {
	for _, dir := range dirs {
		if err := rows.Put(key(dir), w.changed[dir].p); err != nil {
			return err
		}
	}
	return nil
}
