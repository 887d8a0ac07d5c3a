package tree

import (
	"cmp"
	"fmt"
	"iter"

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
// are not read, nor is a pair of them twice that differs in nothing that is on
// disk. There is no rename detection.
//
// The last pair has a non-nil error if reading failed, or with [ErrLarge] if
// the states are beyond the bounds of this package.
func Diff(from, to State, alg oid.Algorithm, load Loader) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		d := differ{alg: alg, yield: yield}
		d.load = func(id oid.ID, _ ...oid.ID) ([]byte, error) {
			soon := d.soon
			d.soon = nil
			return load(id, soon...)
		}
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
	soon    []oid.ID // what the next to be loaded is loaded with

	yielded, looked int                     // changes, entries
	open            int                     // entries of the directories that are being compared
	silent          map[[2]State]bool       // pairs without a change
	recent          map[[2]State]difference // of pairs, which may be met again
	held            int                     // entries of those
}

// A difference is what two directories do not share, or more, and how many entries
// they have.
type difference struct {
	a, b []Child
	n    int
}

// Count counts the changes that are to be counted, up to the first error.
func Count(list iter.Seq2[Change, error], counted func(Change) bool) (n int, err error) {
	for c, err := range list {
		if err != nil {
			return n, err
		}
		if counted(c) {
			n++
		}
	}
	return n, nil
}

func (d *differ) dir(path string, from, to State) error {
	pair := [2]State{from, to}
	if from == to || d.silent[pair] {
		return nil
	}
	before := d.yielded
	if err := d.both(path, from, to); err != nil {
		return err
	}
	if d.yielded == before && len(d.silent) < silentMax {
		if d.silent == nil {
			d.silent = map[[2]State]bool{}
		}
		d.silent[pair] = true
	}
	return nil
}

func (d *differ) both(path string, from, to State) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	list, err := d.difference(from, to)
	if err != nil {
		return err
	}
	a, b := list.a, list.b
	d.looked += list.n
	d.open += list.n
	defer func() { d.open -= list.n }()
	switch {
	case d.looked > looksMax:
		return fmt.Errorf("%w: more than %d entries have to be compared", ErrLarge, looksMax)
	case d.open > openMax:
		return tooOpen(path)
	}
	for ahead := 0; (len(a) > 0 || len(b) > 0) && !d.stopped; {
		if ahead == 0 {
			ahead = d.lookAhead(a, b)
		}
		var x, y Child
		x, y, a, b = next(a, b)
		if err := d.node(Join(path, max(x.Name, y.Name)), x.Node, y.Node); err != nil {
			return err
		}
		ahead--
	}
	return nil
}

// next takes the first name from two lists, or from one that has it alone.
func next(a, b []Child) (x, y Child, restA, restB []Child) {
	switch {
	case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
		return a[0], y, a[1:], b
	case len(a) == 0 || b[0].Name < a[0].Name:
		return x, b[0], a, b[1:]
	}
	return a[0], b[0], a[1:], b[1:]
}

// soonMax is how many trees are said to be loaded soon.
const soonMax = 64

// lookAhead notes the trees that the next names will need, and returns how many names it has
// looked at.
func (d *differ) lookAhead(a, b []Child) (names int) {
	d.soon = nil
	for len(d.soon) < soonMax && (len(a) > 0 || len(b) > 0) {
		var x, y Child
		x, y, a, b = next(a, b)
		names++
		for _, s := range []State{x.Node.sub, y.Node.sub} {
			if x.Node.sub == y.Node.sub {
				break
			}
			for _, id := range []oid.ID{s.Tree, s.Overlay} {
				if !id.IsZero() {
					d.soon = append(d.soon, id)
				}
			}
		}
	}
	return names
}

// tooOpen is the error of directories that have too many entries together.
func tooOpen(path string) error {
	return fmt.Errorf("%w: directories of more than %d entries lie in one another at %q", ErrLarge, openMax, path)
}

// difference returns what two directories do not share. Where a pair lies at many paths
// it is not read at each.
func (d *differ) difference(from, to State) (list difference, err error) {
	pair := [2]State{from, to}
	if list, ok := d.recent[pair]; ok {
		return list, nil
	}
	if from.Overlay.IsZero() && to.Overlay.IsZero() && from.Umask == to.Umask {
		list, err = d.apart(from, to)
	} else if list.a, err = Children(from, d.alg, d.load); err == nil {
		list.b, err = Children(to, d.alg, d.load)
		list.n = len(list.a) + len(list.b)
	}
	held := len(list.a) + len(list.b) + 1
	if err != nil || held > recentMax/2 {
		return list, err
	}
	if d.held += held; d.recent == nil || d.held > recentMax {
		d.recent, d.held = map[[2]State]difference{}, held
	}
	d.recent[pair] = list
	return list, nil
}

// apart is difference for two git trees. Most that differ do so in one entry of many.
func (d *differ) apart(from, to State) (list difference, err error) {
	x, err := open(from.Tree, d.alg, d.load)
	if err != nil {
		return list, err
	}
	y, err := open(to.Tree, d.alg, d.load)
	if err != nil {
		return list, err
	}
	a, b := apart(x, y)
	if err := cmp.Or(x.wrong(from.Tree), y.wrong(to.Tree)); err != nil {
		return list, err
	}
	list.n = x.n + y.n
	list.a, list.b = children(a, nil, from.Umask), children(b, nil, to.Umask)
	return list, nil
}

func (d *differ) node(path string, from, to Node) error {
	if from.Mode != to.Mode || from.ID != to.ID {
		d.yielded++
		if !d.yield(Change{Path: path, From: from, To: to}, nil) {
			d.stopped = true
			return nil
		}
	}
	return d.dir(path, from.sub, to.sub)
}
