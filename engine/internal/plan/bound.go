package plan

import (
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// How much is listed at once. A state may name the same directory a million
// times, so that what is listed has nothing to do with what is stored. The
// largest repositories that are known have about a million files; and a list of
// so many paths, with what is made of it, takes less than a gigabyte.
const (
	pathsMax     = 3 << 19   // one and a half million
	pathBytesMax = 128 << 20 // of all paths together
)

// A listBound counts the paths that are listed at once, and ends the list where they are
// too many.
type listBound struct{ paths, bytes int }

// count counts one more path, or is [tree.ErrLarge].
func (b *listBound) count(path string) error {
	b.paths++
	b.bytes += len(path)
	if b.paths > pathsMax || b.bytes > pathBytesMax {
		return fmt.Errorf("%w: more than %d paths, or paths of more than %d bytes, are to be listed at once; name a part of them", tree.ErrLarge, pathsMax, pathBytesMax)
	}
	return nil
}
