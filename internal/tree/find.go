package tree

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Finder looks up many paths of one state. The directories on the way to a
// path stay for the next one: who asks in path order reads each directory once.
// It is not to be shared between goroutines.
type Finder struct {
	State     State
	Algorithm oid.Algorithm
	Load      Loader

	way  []found
	held int // entries of the directories on the way
}

// A found directory is one on the way to the path that was looked up last.
type found struct {
	path string
	list []Child
}

// enter puts a directory at the end of the way.
func (f *Finder) enter(path string, s State) error {
	list, err := Children(s, f.Algorithm, f.Load)
	if err == nil {
		f.way = append(f.way, found{path, list})
		f.held += len(list)
	}
	return err
}

// leave takes the last directory from the way.
func (f *Finder) leave() {
	last := &f.way[len(f.way)-1]
	f.held -= len(last.list)
	*last = found{} // it may be large
	f.way = f.way[:len(f.way)-1]
}

// Lookup returns the node at a slash-separated path, which is not empty; ok is
// false where the state holds nothing there.
func (f *Finder) Lookup(path string) (n Node, ok bool, err error) {
	for len(f.way) > 1 && !below(path, f.last().path) {
		f.leave()
	}
	if len(f.way) == 0 {
		if err := f.enter("", f.State); err != nil {
			return Node{}, false, err
		}
	}
	for {
		at := f.last()
		rest := strings.TrimPrefix(path[len(at.path):], "/")
		name, more, deeper := strings.Cut(rest, "/")
		i, there := slices.BinarySearchFunc(at.list, name, func(c Child, name string) int { return strings.Compare(c.Name, name) })
		if !there {
			return Node{}, false, nil
		}
		n = at.list[i].Node
		if !deeper {
			return n, n.Mode.Type() != Absent, nil
		}
		if !n.Mode.IsDir() {
			return Node{}, false, nil
		}
		if err := f.enter(path[:len(path)-len(more)-1], n.sub); err != nil {
			return Node{}, false, err
		}
		if f.held > openMax {
			return Node{}, false, tooOpen(path)
		}
	}
}

func (f *Finder) last() *found { return &f.way[len(f.way)-1] }

// below reports whether a path lies below a directory.
func below(path, dir string) bool {
	return len(path) > len(dir) && path[len(dir)] == '/' && strings.HasPrefix(path, dir)
}
