package tree

import (
	"iter"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Change is one path at which two states differ. A side that holds nothing
// there has the zero Node; one that holds it in its git tree alone (not on
// disk) has mode [Absent] and a Git entry.
type Change struct {
	Path     string // slash-separated, bytes as on disk
	From, To Node
}

// Diff yields the paths at which two states differ on disk, in path order, a
// directory before what it holds. A directory that exists on one side only is
// yielded with everything below it. Directories that are equal on both sides
// are not read. There is no rename detection.
//
// The last pair has a non-nil error if reading failed.
func Diff(from, to State, alg oid.Algorithm, load Loader) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		d := differ{alg: alg, load: load, yield: yield}
		if err := d.dir("", from, to); err != nil && !d.stopped {
			yield(Change{}, err)
		}
	}
}

// Walk yields every path a state holds, as changes from nothing.
func Walk(s State, alg oid.Algorithm, load Loader) iter.Seq2[Change, error] {
	return Diff(State{Umask: s.Umask}, s, alg, load)
}

type differ struct {
	alg     oid.Algorithm
	load    Loader
	yield   func(Change, error) bool
	stopped bool
}

func (d *differ) dir(path string, from, to State) error {
	if from == to {
		return nil
	}
	a, err := children(from, d.alg, d.load)
	if err != nil {
		return err
	}
	b, err := children(to, d.alg, d.load)
	if err != nil {
		return err
	}
	for (len(a) > 0 || len(b) > 0) && !d.stopped {
		var x, y Child
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			x, a = a[0], a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			y, b = b[0], b[1:]
		default:
			x, y, a, b = a[0], b[0], a[1:], b[1:]
		}
		if err := d.node(join(path, max(x.Name, y.Name)), x.Node, y.Node); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) node(path string, from, to Node) error {
	if from.Mode != to.Mode || from.ID != to.ID {
		if !d.yield(Change{Path: path, From: from, To: to}, nil) {
			d.stopped = true
			return nil
		}
	}
	return d.dir(path, from.sub, to.sub)
}

// join puts a name below a path; the worktree's own path is empty.
func join(path, name string) string {
	if path == "" {
		return name
	}
	var b strings.Builder
	b.Grow(len(path) + 1 + len(name))
	b.WriteString(path)
	b.WriteByte('/')
	b.WriteString(name)
	return b.String()
}
