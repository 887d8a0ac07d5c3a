package apply

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// errOneName is why a file is not there although it was written.
var errOneName = errors.New("the file system takes the names of two files for one, so that only one of them can be there")

// oneName makes conflicts of the files that were written under names which the file
// system takes for one, as those of macOS and Windows do: README and readme, or an
// accent composed and not. A snapshot that was taken elsewhere may have both, and the
// one that was written last is there under either name.
func (a *applier) oneName(steps []Step) {
	if !a.folds(steps) {
		return
	}
	first, told := map[string]*Step{}, map[*Step]bool{}
	for i := range steps {
		s := &steps[i]
		if !s.Want.leaf() {
			continue
		}
		key := strings.ToLower(norm.NFC.String(s.Path))
		other := first[key]
		if other == nil {
			first[key] = s
		} else if other.Want != s.Want && !(a.failed[other.Path] && a.failed[s.Path]) && a.sameFile(other.Path, s.Path) {
			for _, one := range []*Step{other, s} {
				if !told[one] {
					told[one] = true
					a.notThere(one.Path)
				}
			}
		}
	}
}

// notThere makes a conflict of a file that counts as there, by its name. One that found its
// place taken, by the other, is told why.
func (a *applier) notThere(path string) {
	if a.failed[path] {
		for i, n := range a.out.Conflicts {
			if n.Path == path && errors.Is(n.Err, ErrChanged) {
				a.out.Conflicts[i] = note(path, errOneName)
			}
		}
		return
	}
	if i := slices.Index(a.out.There, path); i >= 0 {
		a.out.There = slices.Delete(a.out.There, i, i+1)
	} else {
		a.out.Written--
	}
	a.out.Conflicts = append(a.out.Conflicts, note(path, errOneName))
}

// folds reports whether the file system takes a name for the same in the other case: one
// look at a file that was written tells.
func (a *applier) folds(steps []Step) bool {
	for i := range steps {
		dir, name := path.Split(steps[i].Path)
		if other := dirfd.OtherCase(name); steps[i].Want.leaf() && !a.failed[steps[i].Path] && other != name {
			return a.sameFile(steps[i].Path, dir+other)
		}
	}
	return false
}

func (a *applier) sameFile(one, other string) bool {
	x, err := a.lstat(one)
	y, err2 := a.lstat(other)
	return err == nil && err2 == nil && x.Ino == y.Ino && x.Dev == y.Dev && x.Ino != 0
}

func (a *applier) lstat(file string) (dirfd.Stat, error) {
	dir, err := a.root.OpenDir(tree.Parent(file))
	if err != nil {
		return dirfd.Stat{}, err
	}
	if dir != a.root.Dir {
		defer dir.Close()
	}
	return dir.Lstat(path.Base(file))
}
