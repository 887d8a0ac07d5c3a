package plan

import (
	"iter"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Objects is where a plan reads what states are made of.
type Objects struct {
	Algorithm oid.Algorithm
	Tree      tree.Loader                  // is asked by two goroutines at a time
	Blob      func(oid.ID) ([]byte, error) // an ignore file
}

// Compare returns the selected paths at which two recorded states differ; from
// may be nil, for nothing at all. What either left out is neither deleted nor
// added: nothing is known of it.
func Compare(from, to *Target, sel *Selection, o Objects) ([]Change, error) {
	c := comparison{from: from, to: to, b: to.State, sel: sel}
	err := c.run(o)
	return c.changes, err
}

// CompareWith returns the selected paths at which the present differs from a
// recorded state, which may be nil, for nothing at all. Hidden are paths that
// the state has, and that the scan left out although they are there: they are
// to be looked at too.
func CompareWith(from *Target, now *Present, sel *Selection, o Objects) (changes []Change, hidden []string, err error) {
	c := comparison{from: from, now: now, b: now.State, sel: sel}
	err = c.run(o)
	return c.changes, c.hidden, err
}

// A comparison is of a recorded state with another, or with the present.
type comparison struct {
	from, to *Target // either may be nil
	now      *Present
	b        tree.State // of to, or of the present
	sel      *Selection

	bound   listBound
	changes []Change
	hidden  []string
}

func (c *comparison) run(o Objects) error {
	a := tree.State{Umask: c.b.Umask}
	if c.from != nil {
		a = c.from.State
	}
	view := viewOf(c.from, c.to)
	for change, err := range tree.Diff(a, c.b, o.Algorithm, o.Tree) {
		if err != nil {
			return err
		}
		if err := c.add(view, change); err != nil {
			return err
		}
	}
	return nil
}

// add takes up a difference, if it is a change.
func (c *comparison) add(view gitView, change tree.Change) error {
	change, known := view.of(change)
	if !known || view.unknown(change) || !c.sel.Match(change.Path) {
		return nil
	}
	gone, fresh := change.To.Mode.Type() == tree.Absent, change.From.Mode.Type() == tree.Absent
	switch {
	case c.now != nil && gone && c.now.hides(change):
		if !change.From.Mode.IsDir() {
			c.hidden = append(c.hidden, change.Path)
		}
	case gone && c.to.unsure(change.Path, change.From), fresh && c.from.unsure(change.Path, change.To):
	default:
		c.changes = append(c.changes, changeOf(change))
		return c.bound.count(change.Path)
	}
	return nil
}

// Touches reports whether [Compare] would return any change. Where only paths
// are selected, and no patterns, it reads the directories on the way to them.
func Touches(from, to *Target, sel *Selection, o Objects) (bool, error) {
	c := comparison{from: from, to: to, b: to.State, sel: sel}
	a := tree.State{Umask: c.b.Umask}
	if from != nil {
		a = from.State
	}
	names, only := sel.Literal()
	if !only {
		return c.differs("", tree.Node{}, tree.Node{}, tree.Diff(a, c.b, o.Algorithm, o.Tree))
	}
	for _, name := range names {
		x, _, err := tree.Lookup(a, name, o.Algorithm, o.Tree)
		if err != nil {
			return false, err
		}
		y, _, err := tree.Lookup(c.b, name, o.Algorithm, o.Tree)
		if err != nil {
			return false, err
		}
		if yes, err := c.differs(name, x, y, tree.Diff(x.State(), y.State(), o.Algorithm, o.Tree)); yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}

// differs reports whether there is a change at a path, of which both sides are
// given, or below it; "" is the worktree itself.
func (c *comparison) differs(path string, from, to tree.Node, below iter.Seq2[tree.Change, error]) (bool, error) {
	view := viewOf(c.from, c.to)
	if from.Mode != to.Mode || from.ID != to.ID {
		if err := c.add(view, tree.Change{Path: path, From: from, To: to}); err != nil {
			return false, err
		}
	}
	for change, err := range below {
		if err != nil || len(c.changes) > 0 {
			return len(c.changes) > 0, err
		}
		if path != "" {
			change.Path = path + "/" + change.Path
		}
		if err := c.add(view, change); err != nil {
			return false, err
		}
	}
	return len(c.changes) > 0, nil
}

// A gitView tells which sides of a difference know only what git holds.
type gitView struct{ from, to bool }

// viewOf returns how two states are compared; nil is the worktree, or nothing,
// of which everything is known.
func viewOf(from, to *Target) gitView {
	only := func(t *Target) bool { return t != nil && t.Limits != nil && t.Limits.GitOnly }
	return gitView{only(from), only(to)}
}

// of reduces a difference to what can be known of it; false: that is nothing.
func (v gitView) of(c tree.Change) (tree.Change, bool) {
	if !v.from && !v.to {
		return c, true
	}
	if sameInGit(c.From, c.To) {
		return c, false
	}
	if v.to {
		c.To.Mode = likeOther(c.To.Mode, c.From.Mode)
	}
	if v.from {
		c.From.Mode = likeOther(c.From.Mode, c.To.Mode)
	}
	return c, true
}

// unknown reports whether a side that is absent could not have been there.
func (v gitView) unknown(c tree.Change) bool {
	return v.to && c.To.Mode == 0 && c.From.Git.Name == "" || v.from && c.From.Mode == 0 && c.To.Git.Name == ""
}

// sameInGit reports whether git would see no difference.
func sameInGit(a, b tree.Node) bool {
	if a.Mode.IsDir() && b.Mode.IsDir() {
		return true
	}
	return a.Git.Name != "" && b.Git.Name != "" && a.Git.Mode == b.Git.Mode && a.Git.ID == b.Git.ID
}

// likeOther gives a mode that git knows the permissions of the other side,
// where git's own say no more.
func likeOther(m, other tree.Mode) tree.Mode {
	if m.Type() == tree.File && other.Type() == tree.File && m.Git() == other.Git() {
		return other
	}
	return m
}

// converted reports whether a file on disk has other bytes than git keeps of it.
func converted(n tree.Node) bool {
	return n.Mode.Type() == tree.File && n.Git.Name != "" && n.Git.ID != n.ID
}
