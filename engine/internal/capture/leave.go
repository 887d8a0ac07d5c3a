package capture

import (
	"hash/fnv"
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// Temporary files of an earlier restore that could not be removed are not the
// user's: a scan leaves them out.

const leftoverReason = "a temporary file of an earlier restore that could not be removed"

type leaving struct {
	worktree.Policy // nil: everything is usual
	paths           map[string]bool
}

// Place leaves out the paths, and asks the other policy about the rest.
func (w *leaving) Place(path string, isDir, ignored bool, size int64) (worktree.Place, string) {
	switch {
	case w.paths[path]:
		return worktree.Nowhere, leftoverReason
	case w.Policy == nil:
		return worktree.Usual, ""
	}
	return w.Policy.Place(path, isDir, ignored, size)
}

// Full asks the other policy.
func (w *leaving) Full(files int) string {
	if w.Policy == nil {
		return ""
	}
	return w.Policy.Full(files)
}

// Small asks the other policy.
func (w *leaving) Small() *worktree.Small {
	if w.Policy == nil {
		return nil
	}
	return w.Policy.Small()
}

// Digest covers the paths too.
func (w *leaving) Digest() uint64 {
	h := fnv.New64a()
	for _, path := range slices.Sorted(maps.Keys(w.paths)) {
		_, _ = h.Write([]byte(path + "\x00"))
	}
	if w.Policy == nil {
		return h.Sum64()
	}
	return h.Sum64() ^ w.Policy.Digest()
}
