package away

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A layout is a directory as it lies in a remote: what is on disk, and beside it what only its git tree and its overlay
// name. It follows from the two alone, so that who fetches finds things where who pushed has put them.
type layout struct {
	children []tree.Child // on disk
	dirs     []tree.State // those of the children that are directories, in their order; then directories that are not on disk
	onDisk   int          // so many of dirs are
	extra    []oid.ID     // contents that are not on disk, in the order of their ids
	below    [2][]step    // directories that the git tree names, and those that the overlay names
}

// notOnDisk is the umask of a directory that is not on disk, and that of no snapshot: such a directory may lack contents,
// which the same one on disk may not.
const notOnDisk tree.Mode = 0o1000

// may reports whether contents of a directory may be missing.
func may(s tree.State) bool { return s.Umask == notOnDisk }

// layOut reads a directory.
func layOut(s tree.State, alg oid.Algorithm, load tree.Loader) (*layout, error) {
	all, err := tree.Children(s, alg, load)
	if err != nil {
		return nil, err
	}
	l, shown, below := &layout{}, map[oid.ID]bool{}, map[oid.ID]bool{}
	for _, c := range all {
		switch c.Node.Mode.Type() {
		case tree.Dir, tree.Nested:
			at := c.Node.State()
			below[at.Tree], below[at.Overlay] = true, true
			l.dirs = append(l.dirs, at)
		case tree.File, tree.Symlink:
			shown[c.Node.ID] = true
		default:
			continue // in the git tree alone
		}
		l.children = append(l.children, c)
	}
	l.onDisk = len(l.dirs)
	for i, id := range []oid.ID{s.Tree, s.Overlay} {
		if id.IsZero() {
			continue
		}
		payload, err := load(id)
		if err != nil {
			return nil, err
		}
		entries, err := tree.Decode(payload, alg)
		if err != nil {
			return nil, err
		}
		l.beside(entries, i == 1, shown, below)
		l.below[i] = stepsOf(entries, i == 1)
	}
	slices.SortFunc(l.extra, oid.ID.Compare)
	return l, nil
}

// beside takes what a git tree or an overlay names and the disk does not have.
func (l *layout) beside(entries []tree.Entry, overlay bool, shown, below map[oid.ID]bool) {
	for _, e := range entries {
		switch t := e.Mode.Type(); {
		case t == tree.Dir, t == tree.Nested && overlay:
			if !below[e.ID] {
				below[e.ID] = true
				at := tree.State{Tree: e.ID, Umask: notOnDisk}
				if overlay {
					at = tree.State{Overlay: e.ID, Umask: notOnDisk}
				}
				l.dirs = append(l.dirs, at)
			}
		case t == tree.File, t == tree.Symlink:
			if !shown[e.ID] && !e.ID.IsZero() {
				shown[e.ID] = true
				l.extra = append(l.extra, e.ID)
			}
		}
	}
}
