package cas

import "context"

// Stats are the sizes of a store.
type Stats struct {
	Objects     int
	Chunks      int
	FileBytes   int64 // of the file
	Unused      int64 // of the file: its end behind the last page, free pages, and what large stages have spilled
	StoredBytes int64 // of the chunks as they are stored
	RawBytes    int64 // of the chunks' contents
	Decoded     int64 // frames that were decoded with this handle: what reading costs
}

// Stats counts what is stored. It reads the index, not the contents.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	err := s.View(ctx, func(v *View) error {
		c := v.objects.Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			st.Objects++
		}
		c = v.chunks.Cursor()
		for k, p := c.First(); k != nil; k, p = c.Next() {
			row, err := decodeChunk(k, p)
			if err != nil {
				return err
			}
			st.Chunks++
			st.StoredBytes += int64(row.stored) + 1
			st.RawBytes += int64(row.raw)
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
	if err != nil {
		return Stats{}, err
	}
	st.Decoded = s.decoded.Load()
	return st, nil
}

// Count returns how many objects there are, and the bytes of the file. It reads
// far less than [Store.Stats].
func (s *Store) Count(ctx context.Context) (objects int, bytes int64, err error) {
	err = s.View(ctx, func(v *View) error {
		objects = v.objects.Stats().KeyN
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	bytes, err = fileSize(s.path)
	return objects, bytes, err
}
