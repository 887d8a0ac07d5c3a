package settings

import (
	"fmt"
	"os"
	"sync/atomic"
)

// OverLimit returns the function that says why the store takes in no new content of a
// size, of a file that the index does not know; nil: it always does. What is
// tracked is taken in however full the store is.
func (s *Settings) OverLimit(store string) func(size int64) string {
	limit := s.MaxStoreSize
	if limit == 0 {
		return nil
	}
	var used atomic.Int64
	if info, err := os.Stat(store); err == nil {
		used.Store(info.Size())
	}
	return func(size int64) string {
		if used.Add(size) <= limit {
			return ""
		}
		used.Add(-size)
		return fmt.Sprintf("the store has no room for it (rewind.maxStoreSize: %d bytes; rewind prune makes room)", limit)
	}
}
