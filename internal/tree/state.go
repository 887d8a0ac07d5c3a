package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A State says what a worktree held: a git tree, the overlay over it, and the
// umask that gives the permissions of every path the overlay does not name.
type State struct {
	Tree    oid.ID // zero: nothing
	Overlay oid.ID // zero: nothing that a git tree cannot hold
	Umask   Mode
}

// A Loader returns the payload of a tree or overlay object. The union and the
// difference below ask it for nothing that is equal on both sides. Soon are others that it
// will be asked for next: it may read them at the same time where that costs less.
type Loader func(id oid.ID, soon ...oid.ID) ([]byte, error)

// A Node is what a state holds at one path.
type Node struct {
	Mode Mode   // exact type and permissions; Absent where the path is not on disk
	ID   oid.ID // content of a file or symlink as on disk; zero for directories
	Git  Entry  // the git tree's entry of the same path; zero Name where it has none, or a directory that is not what lies there

	sub State // what a directory holds
}

// State returns what a directory holds, as a state of its own.
func (n Node) State() State { return n.sub }

// A Child is one name of a directory with its node.
type Child struct {
	Name string
	Node Node
}

// Children returns what a state's directory holds on disk, sorted by name as
// bytes. Paths that are in the git tree but not on disk have mode [Absent].
func Children(s State, alg oid.Algorithm, load Loader) ([]Child, error) {
	git, err := entries(s.Tree, alg, load)
	if err != nil {
		return nil, err
	}
	over, err := entries(s.Overlay, alg, load)
	if err != nil {
		return nil, err
	}
	return children(git, over, s.Umask), nil
}

// children lays the entries of an overlay over those of a git tree.
func children(git, over []Entry, umask Mode) []Child {
	byName := func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(git, byName)
	slices.SortFunc(over, byName)
	out := make([]Child, 0, len(git)+len(over))
	for len(git) > 0 || len(over) > 0 {
		var g, o Entry
		switch {
		case len(over) == 0 || len(git) > 0 && git[0].Name < over[0].Name:
			g, git = git[0], git[1:]
		case len(git) == 0 || over[0].Name < git[0].Name:
			o, over = over[0], over[1:]
		default:
			g, o, git, over = git[0], over[0], git[1:], over[1:]
		}
		name := g.Name
		if name == "" {
			name = o.Name
		}
		out = append(out, Child{Name: name, Node: union(g, o, umask)})
	}
	return out
}

// open begins to read a tree; the zero id is that of an empty one.
func open(id oid.ID, alg oid.Algorithm, load Loader) (*reader, error) {
	if id.IsZero() {
		return read(nil, alg), nil
	}
	payload, err := load(id)
	if err != nil {
		return nil, err
	}
	return read(payload, alg), nil
}

// wrong returns what was wrong with a tree that was read.
func (r *reader) wrong(id oid.ID) error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("tree %v: %w", id, r.err)
}

func entries(id oid.ID, alg oid.Algorithm, load Loader) ([]Entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	payload, err := load(id)
	if err != nil {
		return nil, err
	}
	list, err := Decode(payload, alg)
	if err != nil {
		return nil, fmt.Errorf("tree %v: %w", id, err)
	}
	return list, nil
}

// entry returns the entry of a name in a tree; one without a name if there is none.
func entry(id oid.ID, name string, alg oid.Algorithm, load Loader) (found Entry, err error) {
	r, err := open(id, alg, load)
	if err != nil {
		return found, err
	}
	for e := r.next(); e != nil; e = r.next() {
		if e.Name == name {
			found = *e
		}
	}
	if r.err != nil {
		return Entry{}, r.wrong(id)
	}
	return found, nil
}

// union lays an overlay's entry over a git tree's entry of the same name; one
// of the two may be missing (no name).
func union(git, over Entry, umask Mode) Node {
	n := Node{Git: git}
	e := over
	if over.Name == "" {
		e = git
		n.Mode = git.Mode.Git().Base(umask)
	} else {
		n.Mode = over.Mode
	}
	switch n.Mode.Type() {
	case File, Symlink:
		n.ID = e.ID
		if git.Mode.Type() == Dir { // of names that git keeps though they are not on disk; of the file it has nothing
			n.Git = Entry{}
		}
	case Dir:
		n.sub.Umask = umask
		if git.Mode.Type() == Dir {
			n.sub.Tree = git.ID
		}
		n.sub.Overlay = over.ID
	case Nested:
		n.sub = State{Overlay: over.ID, Umask: umask}
	}
	return n
}

// Lookup returns the node at a slash-separated path; ok is false where the
// state holds nothing there. The empty path is the worktree itself.
func Lookup(s State, path string, alg oid.Algorithm, load Loader) (n Node, ok bool, err error) {
	n = Node{Mode: Dir.Base(s.Umask), sub: s}
	for path != "" {
		if !n.Mode.IsDir() {
			return Node{}, false, nil
		}
		var name string
		name, path, _ = strings.Cut(path, "/")
		git, err := entry(n.sub.Tree, name, alg, load)
		if err != nil {
			return Node{}, false, err
		}
		over, err := entry(n.sub.Overlay, name, alg, load)
		if err != nil {
			return Node{}, false, err
		}
		if git.Name == "" && over.Name == "" {
			return Node{}, false, nil
		}
		n = union(git, over, n.sub.Umask)
	}
	return n, n.Mode.Type() != Absent, nil
}
