package plan

import (
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Changed calls take for each selected path at which a second state differs from a
// first one, in path order, a directory before what it holds. Where the side that has
// nothing at the path could not have had it, unknown says why: then nobody knows
// whether it changed.
func (o Objects) Changed(from, to *Target, sel *Selection, take func(c tree.Change, unknown string) error) error {
	view := viewOf(from, to)
	before, after := newCoverage(from, o), newCoverage(to, o)
	var bound listBound
	for c, err := range tree.Diff(from.State, to.State, o.Algorithm, o.Tree) {
		if err != nil {
			return err
		}
		c, known := view.of(c)
		if !known || view.unknown(c) || !sel.Match(c.Path) {
			continue
		}
		if err := bound.count(c.Path); err != nil {
			return err
		}
		unknown, err := lacks(before, after, c)
		if err == nil {
			err = take(c, unknown)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lacks tells why a side of a difference could not have had what the other one has,
// "" if it could. An ignored file that one side has recorded could have been in the
// other one too.
func lacks(before, after *coverage, c tree.Change) (why string, err error) {
	side, has, lacking := after, c.From, c.To
	switch {
	case c.From.Mode.Type() == tree.Absent:
		side, has, lacking = before, c.To, c.From
	case c.To.Mode.Type() != tree.Absent:
		return "", nil
	}
	if lacking.Git.Name != "" && !side.target.leftOut(c.Path) {
		return keptOutside, nil
	}
	if has.Mode.IsDir() { // whether it is a repository nobody asks here
		has.Mode = tree.Dir | has.Mode.Perm()
	}
	why, err = side.keeps(c.Path, has)
	if why != keptIgnored || err != nil || side == after {
		return why, err
	}
	ignored, err := after.ignored(c.Path)
	if ignored {
		why = ""
	}
	return why, err
}

// A Guard says what of the present no merge may change.
type Guard struct {
	Present *Present
	Ignored bool                   // ignored files may be written over
	Named   func(path string) bool // somebody has named an ignored file; may be nil
}

// Why a merge leaves a path as it is.
const (
	keptMerged   = "an ignored file stays"
	conflictHere = "something stands here that is not recorded"
)

// Stays returns why a path of the present must stay as it is, "" if it may become what
// is wanted. Conflict says that it is in the way, and no rule of ignored files keeps it.
func (g Guard) Stays(at string, have, want tree.Node) (why string, conflict bool) {
	_, unasked, _ := g.Present.Disk.Class(at)
	if unasked = unasked && fileOrLink(have.Mode) && !g.asked(at); unasked && !fileOrLink(want.Mode) {
		return keptMerged, false
	}
	switch {
	case unasked && !g.Ignored:
		return keptThere, false
	case have.Mode.Type() == tree.Nested && !want.Mode.IsDir() && g.Present.isRepository(at):
		return keptNested, want.Mode.Type() != tree.Absent
	case have.Mode.Type() == tree.Absent && want.Mode.Type() != tree.Absent && g.Present.inTheWay(tree.Change{Path: at, To: want}):
		if why := g.Present.leftOut(at); why != "" {
			return "a directory stands here that was left out: " + why, true
		}
		return conflictHere, true
	}
	return "", false
}

// asked reports whether a file is restored like any other although it is ignored.
func (g Guard) asked(at string) bool {
	name := path.Base(at)
	return name == ".gitignore" || name == ".gitattributes" || g.Named != nil && g.Named(at)
}

// Done reports whether something that the scan left out is as it is wanted.
func (g Guard) Done(at string, have, want tree.Node) bool {
	return have.Mode.Type() == tree.Absent && fileOrLink(want.Mode) && g.Present.mode(at, false) != tree.Absent &&
		g.Present.Disk.Holds(at, apply.Node{Mode: want.Mode, ID: want.ID})
}

// Take takes the changes of a merge into the plan, in path order. Their From sides are
// what the present has. Of a repository that comes back its own files do not.
func (p *Plan) Take(present *Present, changes []tree.Change, ends []*Target, o Objects) error {
	last := ends[len(ends)-1]
	t := &planner{Objects: o, present: present, goal: Goal{Target: last}, cover: newCoverage(last, o), holding: map[string]bool{}}
	for _, c := range changes {
		why, err := t.guards(c)
		if err != nil {
			return err
		}
		if why != "" {
			t.hold(tree.Parent(c.Path))
			p.Kept = append(p.Kept, apply.Note{Path: c.Path, Reason: why})
			continue
		}
		if err := t.step(c); err != nil {
			return err
		}
		hadGit := slices.ContainsFunc(ends, func(t *Target) bool {
			_, had := t.Nested[c.Path]
			return had
		})
		if c.To.Mode.Type() == tree.Nested && c.From.Mode.Type() == tree.Absent && hadGit {
			p.Conflicts = append(p.Conflicts, apply.Note{Path: c.Path + "/.git", Reason: lostGit})
		}
	}
	t.standing()
	p.Told = len(t.plan.Steps)
	t.shut()
	p.Steps, p.Kept = t.plan.Steps, append(p.Kept, t.plan.Kept...)
	return nil
}
