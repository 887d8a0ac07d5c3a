package capture

import (
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// elsewhere returns those of the files that stay elsewhere in whose place the scan met nothing. Where it met something,
// somebody here has decided about the path: what that becomes is recorded or left out like anything else, and if it is
// deleted, that is a deletion. So it is where a file or link is in the place of a directory above. A directory above
// decides nothing: who makes one, and files in it, knows nothing of what lies in the one of that name elsewhere.
//
// What counts is what the scan saw. The disk may be another by now, and the record would neither have the path nor name
// it; and what nobody records, as a pipe, decides nothing.
//
// There may be many in few directories, of which most are not here. The directories above each are looked up once.
func elsewhere(notes, skipped []records.Note, lookup func(path string) (tree.Node, bool, error)) []records.Note {
	left := make(map[records.Path]bool, len(skipped))
	for _, n := range skipped {
		left[n.Path] = true
	}
	replaced := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(notes), func(n records.Note) bool {
		dir := tree.Parent(string(n.Path))
		gone, known := replaced[dir]
		if !known {
			gone = leafAbove(dir, lookup)
			replaced[dir] = gone
		}
		if gone || left[n.Path] {
			return true
		}
		_, here, err := lookup(string(n.Path))
		return err == nil && here
	})
}

// leafAbove reports whether a file or link is in the place of a directory, or of one above it.
func leafAbove(dir string, lookup func(string) (tree.Node, bool, error)) bool {
	for ; dir != ""; dir = tree.Parent(dir) {
		if n, here, err := lookup(dir); here || err != nil {
			return err == nil && !n.Mode.IsDir()
		}
	}
	return false
}
