package cas

import (
	bolt "go.etcd.io/bbolt"
)

// A row is the place of a row: its bucket and its key.
type row struct{ bucket, key string }

// put writes a row, and notes it, to be found again after the commit.
func (v *View) put(b *bolt.Bucket, bucket string, key, value []byte) error {
	if v.file.put == nil {
		v.file.put = map[row]struct{}{}
	}
	v.file.put[row{bucket, string(key)}] = struct{}{}
	return b.Put(key, value)
}

// forget takes note that a row is deleted, which may have been put before.
func (f *file) forget(bucket string, key []byte) { delete(f.put, row{bucket, string(key)}) }

// readBack looks for every row that the transaction has put. bbolt finds the place of a
// row by the keys beside it and does not check their order: a bit that has flipped in
// one of these keys may put a row where nobody finds it. What cannot be found must not
// be called durable.
func (f *file) readBack() (err error) {
	defer func() {
		if p := recover(); p != nil {
			if !fromDisk(p) {
				panic(p)
			}
			err = errPages
		}
	}()
	return f.db.View(func(tx *bolt.Tx) error {
		buckets := map[string]*bolt.Bucket{}
		for r := range f.put {
			b, known := buckets[r.bucket]
			if !known {
				b = tx.Bucket([]byte(r.bucket))
				buckets[r.bucket] = b
			}
			if b == nil || b.Get([]byte(r.key)) == nil {
				return errPages
			}
		}
		return nil
	})
}
