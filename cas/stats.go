package cas

import "context"

// Stats are the sizes of a store.
type Stats struct {
	Objects     int
	FileBytes   int64 // of the file
	Unused      int64 // of the file: its end behind the last page, free pages, and what large stages have spilled
	StoredBytes int64 // of the frames of objects
	Decoded     int64 // frames that were decoded with this handle: what reading costs
}

// Stats counts what is stored. It reads the index, not the contents.
func (s *Store) Stats(ctx context.Context) (st Stats, err error) {
	err = s.View(ctx, func(v *View) error {
		st = Stats{Decoded: s.decoded.Load()}
		err := v.eachObject(func(_ []byte, o object) error {
			st.Objects++
			if o.form != list {
				st.StoredBytes += int64(o.stored)
			}
			return nil
		})
		if err != nil {
			return err
		}
		info, err := v.file.handle.Stat()
		if err != nil {
			return err
		}
		st.FileBytes = info.Size()
		_, spilled := v.spilled(1<<63 - 1)
		st.Unused = st.FileBytes - v.file.used + v.file.freeBytes() + spilled
		return nil
	})
	return st, err
}

// eachObject calls fn with each object's id and row.
func (v *View) eachObject(fn func(key []byte, o object) error) error {
	c := v.objects.Cursor()
	for k, p := c.First(); k != nil; k, p = c.Next() {
		o, err := decodeObject(k, p)
		if err == nil {
			err = fn(k, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Size returns the bytes of the file.
func (s *Store) Size() (int64, error) { return fileSize(s.path) }
