package merge

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A view is the present with what was merged so far.
type view struct {
	ours    tree.Finder
	over    map[string]tree.Node
	was     map[string]tree.Node // what the present has at the paths of over
	history []undoing            // of over, newest last
	kids    map[string]int       // by directory: what in it was set, and is there
	carried map[oid.ID]string    // where the disk has what was moved
}

// An undoing puts back what a path had in a view.
type undoing struct {
	path string
	node tree.Node
	had  bool
}

func newView(ours tree.Finder) view {
	return view{ours: ours, over: map[string]tree.Node{}, was: map[string]tree.Node{}, kids: map[string]int{}, carried: map[oid.ID]string{}}
}

func (v *view) before(path string) (tree.Node, error) {
	if n, known := v.was[path]; known {
		return n, nil
	}
	n, ok, err := v.ours.Lookup(path)
	if !ok {
		n = tree.Node{Git: n.Git}
	}
	return n, err
}

func (v *view) lookup(path string) (tree.Node, error) {
	for at := path; at != ""; at = tree.Parent(at) {
		if n, ok := v.over[at]; ok {
			if at == path {
				return n, nil
			}
			if !n.Mode.IsDir() {
				return tree.Node{}, nil
			}
		}
	}
	return v.before(path)
}

func (v *view) set(path string, n tree.Node) error {
	was, err := v.before(path)
	if err != nil {
		return err
	}
	v.was[path] = was
	old, had := v.over[path]
	v.history = append(v.history, undoing{path, old, had})
	v.count(path, old, -1)
	v.count(path, n, 1)
	v.over[path] = n
	return nil
}

// count counts what a directory has got.
func (v *view) count(path string, n tree.Node, by int) {
	if !absent(n) {
		v.kids[tree.Parent(path)] += by
	}
}

func (v *view) begin() int { return len(v.history) }

// rollBack takes back what was set since a beginning.
func (v *view) rollBack(to int) {
	for _, u := range slices.Backward(v.history[to:]) {
		v.count(u.path, v.over[u.path], -1)
		if v.over[u.path] = u.node; !u.had {
			delete(v.over, u.path)
		}
		v.count(u.path, u.node, 1)
	}
	v.history = v.history[:to]
}

// carry notes that a content of the present was moved from a path.
func (v *view) carry(path string, id oid.ID) error {
	n, err := v.before(path)
	if err == nil && n.ID == id {
		v.carried[id] = path
	}
	return err
}

// isEmpty reports whether a directory holds nothing.
func (v *view) isEmpty(path string) (bool, error) {
	if v.kids[path] > 0 {
		return false, nil
	}
	n, err := v.before(path)
	if err != nil {
		return false, err
	}
	list, err := tree.Children(n.State(), v.ours.Algorithm, v.ours.Load)
	if err != nil {
		return false, err
	}
	for _, c := range list {
		if now, set := v.over[path+"/"+c.Name]; !absent(c.Node) && !(set && absent(now)) {
			return false, nil
		}
	}
	return true, nil
}
