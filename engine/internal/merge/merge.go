// Package merge brings what changed from one recorded state to another to a third
// one, the present: a three-way merge of trees. Decision 0024 has the rules.
//
// It makes a plan, as package plan does for a restore, and goes by the rules there
// of what a state could have contained. It touches no file, no store and no repository.
// What it cannot merge it leaves as it is in the present, and names.
package merge

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/textmerge"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An Order says what is merged into the present, and how.
type Order struct {
	Present *plan.Present
	Ends    []*plan.Target // of each range: what it begins with, and what it ends with
	Paths   *plan.Selection
	Guard   plan.Guard
	Markers bool // conflicts of texts are written, between markers
	Labels  textmerge.Labels

	// Recorded reads a content of a recorded state, and Disk a file of the present. If
	// it is too large to be merged, they do not give the whole.
	Recorded func(id oid.ID) (p []byte, whole bool, err error)
	Disk     func(path string) (p []byte, whole bool, err error)
}

// A merger brings changes to the present, one range after the other.
type merger struct {
	ctx context.Context
	Order
	plan.Objects
	view view
	plan plan.Plan
	held int // bytes of its texts
}

// A change is one path at which the end of a range differs from its beginning.
type change struct {
	tree.Change
	unknown string // why nobody knows whether it changed; "": it did
}

// New plans a merge: what must change in the present, what stays by a rule, what
// cannot be merged, and where markers stand.
func New(ctx context.Context, order Order, o plan.Objects) (*plan.Plan, error) {
	m := &merger{ctx: ctx, Order: order, Objects: o}
	m.view = newView(tree.Finder{State: order.Present.State, Algorithm: o.Algorithm, Load: o.Tree})
	m.plan.Texts = map[oid.ID][]byte{}
	states := []tree.State{order.Present.State}
	for i := 0; i < len(order.Ends); i += 2 {
		states = append(states, order.Ends[i].State, order.Ends[i+1].State)
		if err := m.merge(ctx, order.Ends[i], order.Ends[i+1]); err != nil {
			return nil, err
		}
	}
	unknown, err := order.Paths.Unknown(o, states...)
	if err != nil {
		return nil, err
	}
	for _, path := range unknown {
		m.plan.Unknown = append(m.plan.Unknown, apply.Note{Path: path})
	}
	changes, err := m.changes()
	if err != nil {
		return nil, err
	}
	if err := m.plan.Take(order.Present, changes, order.Ends, o); err != nil {
		return nil, err
	}
	for _, list := range []*[]apply.Note{&m.plan.Kept, &m.plan.Conflicts, &m.plan.Marked} {
		slices.SortStableFunc(*list, func(a, b apply.Note) int { return comparePaths(a.Path, b.Path) })
		*list = slices.Compact(*list)
	}
	return &m.plan, nil
}

// merge brings to the present what changed from one state to another.
func (m *merger) merge(ctx context.Context, from, to *plan.Target) error {
	var changes []change
	err := m.Changed(from, to, m.Paths, func(c tree.Change, unknown string) error {
		changes = append(changes, change{c, unknown})
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	s := &incoming{
		merger: m, base: from.State,
		theirs: tree.Finder{State: to.State, Algorithm: m.Algorithm, Load: m.Tree},
	}
	if changes, err = s.moves(changes); err != nil {
		return err
	}
	return s.all(changes)
}

// changes returns what becomes of the present, in path order, a directory before what
// it holds.
func (m *merger) changes() (list []tree.Change, err error) {
	for path, to := range m.view.over {
		from, err := m.view.before(path)
		if err != nil {
			return nil, err
		}
		if !same(from, to) {
			list = append(list, tree.Change{Path: path, From: from, To: to})
		}
	}
	slices.SortFunc(list, func(a, b tree.Change) int { return comparePaths(a.Path, b.Path) })
	return list, nil
}

// comparePaths compares paths name by name.
func comparePaths(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return cmp.Compare(byteOf(a, n), byteOf(b, n))
}

// byteOf returns a byte of a path, in which names end before anything.
func byteOf(path string, at int) int {
	switch {
	case at >= len(path):
		return -1
	case path[at] == '/':
		return 0
	}
	return 1 + int(path[at])
}

// same reports whether there is the same on disk.
func same(a, b tree.Node) bool {
	return a.Mode == b.Mode && a.ID == b.ID
}

func absent(n tree.Node) bool { return n.Mode.Type() == tree.Absent }
