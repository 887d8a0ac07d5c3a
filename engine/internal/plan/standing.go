package plan

import (
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// hold notes that something stays in a directory, so that those above it stay too.
func (p *planner) hold(dir string) {
	for ; dir != "" && !p.holding[dir]; dir = tree.Parent(dir) {
		p.holding[dir] = true
	}
}

// standing makes the plan whole. It takes the directories out of it that would go, and in which something
// stays: what the plan leaves there, or what no scan records, as large ignored files and
// pipes. Of the latter nothing else is said, so the directory is named.
func (p *planner) standing() {
	p.plan.Steps = p.steps.take()
	gone := map[string]int{} // by directory: so many names go out of it
	for i := range p.plan.Steps {
		if s := &p.plan.Steps[i]; goes(s.Have, s.Want) {
			gone[tree.Parent(s.Path)]++
		}
	}
	stands := func(path string, from, to apply.Node) bool {
		return goes(from, to) && from.Mode.IsDir() && p.holding[path]
	}
	for i := len(p.plan.Steps) - 1; i >= 0; i-- { // what lies in a directory comes behind it
		s := &p.plan.Steps[i]
		if goes(s.Have, s.Want) && s.Have.Mode.IsDir() && !p.holding[s.Path] && p.present.Disk.Entries(s.Path) > gone[s.Path] {
			p.hold(s.Path)
			p.plan.Kept = append(p.plan.Kept, apply.Note{Path: s.Path, Reason: apply.ErrBlocked.Error()})
		}
	}
	if len(p.holding) == 0 {
		return // as nearly always
	}
	p.plan.Steps = slices.DeleteFunc(p.plan.Steps, func(s apply.Step) bool { return stands(s.Path, s.Have, s.Want) })
}

func goes(from, to apply.Node) bool {
	return from.Mode.Type() != tree.Absent && to.Mode.Type() == tree.Absent
}

// keptRules is why a new file of rules stays.
const keptRules = "it is ignored, and so are files that stay beside it or below"

// guards returns why a .gitignore stays that the target could have had and has not. One
// that is ignored is a program's, as in a Python environment, with the files that it makes
// ignored. Those stay, and without it the next restore would take them for new ones.
func (p *planner) guards(c tree.Change) (string, error) {
	if path.Base(c.Path) != ".gitignore" || c.From.Mode.Type() != tree.File || c.To.Mode.Type() != tree.Absent {
		return "", nil
	}
	if now, _, _ := p.present.Disk.Class(c.Path); !now {
		if then, err := p.cover.ignores(c.Path, false); !then || err != nil {
			return "", err
		}
	}
	dir := tree.Parent(c.Path)
	now, _, err := tree.Lookup(p.present.State, dir, p.Algorithm, p.Tree)
	if err != nil {
		return "", err
	}
	then, _, err := tree.Lookup(p.goal.Target.State, dir, p.Algorithm, p.Tree)
	if err != nil {
		return "", err
	}
	if stays, err := p.holdsNew(dir, [2]tree.Node{now, then}); !stays || err != nil {
		return "", err
	}
	return keptRules, nil
}

// holdsNew reports whether an ignored file that the target does not have lies in a
// directory or below: one that is recorded, or a name that neither state knows. Sides is
// what the present and the target have at the directory.
func (p *planner) holdsNew(dir string, sides [2]tree.Node) (bool, error) {
	known := map[string][2]tree.Node{}
	for side, n := range sides {
		list, err := tree.Children(n.State(), p.Algorithm, p.Tree)
		if err != nil {
			return false, err
		}
		for _, c := range list {
			both := known[c.Name]
			both[side] = c.Node
			known[c.Name] = both
		}
	}
	unknown := p.present.Disk.Entries(dir)
	var below []string
	for name, both := range known {
		path := tree.Join(dir, name)
		mode := both[0].Mode
		if mode.Type() == tree.Absent {
			mode = p.present.Disk.Mode(path)
		}
		if mode.Type() != tree.Absent {
			unknown--
		}
		if _, unasked, _ := p.present.Disk.Class(path); unasked && both[1].Mode.Type() == tree.Absent {
			return true, nil
		}
		if mode.Type() == tree.Dir {
			below = append(below, name)
		}
	}
	if unknown > 1 || unknown == 1 && p.present.Disk.Mode(tree.Join(dir, ".git")) == tree.Absent {
		return true, nil
	}
	for _, name := range below {
		holds, err := p.holdsNew(tree.Join(dir, name), known[name])
		if holds || err != nil {
			return holds, err
		}
	}
	return false, nil
}
