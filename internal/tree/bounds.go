package tree

import (
	"errors"
	"fmt"
)

// ErrLarge is reported for what is beyond the bounds of this package. The error
// names the bound.
var ErrLarge = errors.New("too large for rewind")

// The bounds. Thirty trees of ten entries, each of them the same tree, are two
// kilobytes and name more paths than there are atoms in a house; and nothing
// says that a tree was not made for that purpose. So the bounds are not of what
// trees take, but of what they stand for. They are far above real use: the
// largest repositories that are known have about a million files, some
// directories have half a million names, and no system takes a path of more than
// 4,096 bytes in one piece.
const (
	// EntriesMax is how many entries a directory may have.
	EntriesMax = 1 << 20
	// pathBytesMax is how long a path may be. A worktree can hold longer ones, of
	// tens of thousands of levels; whoever follows them needs the square of that.
	pathBytesMax = 16 << 10

	looksMax  = 1 << 24 // entries that one comparison looks at: sixteen million
	openMax   = 1 << 21 // those of the directories above a path, on both sides
	silentMax = 1 << 16 // pairs of directories that are remembered
	recentMax = 1 << 13 // entries of pairs that are remembered
)

// CheckPath reports a path that is longer than [pathBytesMax].
func CheckPath(path string) error {
	if len(path) > pathBytesMax {
		return fmt.Errorf("%w: a path of more than %d bytes, which begins %q", ErrLarge, pathBytesMax, path[:64])
	}
	return nil
}

// CheckPathBytes is [CheckPath] of a path of which only the length is known.
func CheckPathBytes(n int) error {
	if n > pathBytesMax {
		return fmt.Errorf("%w: a path of more than %d bytes", ErrLarge, pathBytesMax)
	}
	return nil
}
