package plan

import (
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Change is one path at which two states differ.
type Change struct {
	Path     string // slash-separated bytes
	From, To apply.Node
}

func changeOf(c tree.Change) Change {
	return Change{Path: c.Path, From: apply.Node{Mode: c.From.Mode, ID: c.From.ID}, To: apply.Node{Mode: c.To.Mode, ID: c.To.ID}}
}

// How much is listed at once. A state may name the same directory a million
// times, so that what is listed has nothing to do with what is stored. The
// largest repositories that are known have about a million files; and a list of
// so many paths, with what is made of it, takes less than a gigabyte.
const (
	pathsMax     = 3 << 19   // one and a half million
	pathBytesMax = 128 << 20 // of all paths together
)

// A Room counts the paths that are listed at once.
type Room struct{ paths, bytes int }

// Take makes room for one more path, or is [tree.ErrLarge].
func (r *Room) Take(path string) error {
	r.paths++
	r.bytes += len(path)
	if r.paths > pathsMax || r.bytes > pathBytesMax {
		return fmt.Errorf("%w: more than %d paths, or paths of more than %d bytes, are to be listed at once; name a part of them", tree.ErrLarge, pathsMax, pathBytesMax)
	}
	return nil
}
