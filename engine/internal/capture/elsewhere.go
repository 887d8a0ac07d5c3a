package capture

import (
	"errors"
	"slices"
	"syscall"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// elsewhere returns those of the files that stay elsewhere in whose place nothing is here. Where something is, somebody
// here has decided about the path: what that becomes is recorded like anything else, and if it is deleted, that is a
// deletion. So it is where a file or link is in the place of a directory above. A directory above decides nothing: who
// makes one, and files in it, knows nothing of what lies in the one of that name elsewhere.
//
// There may be many in few directories, of which most are not here. Each is opened once.
func elsewhere(notes []records.Note, open func(dir string) (*dirfd.Dir, error)) []records.Note {
	in := map[string][]string{}
	for _, n := range notes {
		dir, name := tree.Split(string(n.Path))
		in[dir] = append(in[dir], name)
	}
	taken := map[string]bool{}
	for dir, names := range in {
		for _, name := range takenOf(dir, names, open) {
			taken[tree.Join(dir, name)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(notes), func(n records.Note) bool { return taken[string(n.Path)] })
}

// takenOf returns those of the names in a directory at which something is: all, if the directory cannot be there for
// what is in its place, or of one above.
func takenOf(dir string, names []string, open func(string) (*dirfd.Dir, error)) []string {
	if tree.CheckPath(dir) != nil {
		return names
	}
	d, err := open(dir)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return names
	}
	if err != nil {
		return nil
	}
	defer d.Close()
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := d.Lstat(name)
		return err != nil
	})
}
