package plan

import (
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

// standing takes the directories out of the plan that would go, and in which something
// stays: what the plan leaves there, or what no scan records, as large ignored files.
func (p *planner) standing() {
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
		}
	}
	if len(p.holding) == 0 {
		return // as nearly always
	}
	p.plan.Steps = slices.DeleteFunc(p.plan.Steps, func(s apply.Step) bool { return stands(s.Path, s.Have, s.Want) })
	p.plan.Changes = slices.DeleteFunc(p.plan.Changes, func(c Change) bool { return stands(c.Path, c.From, c.To) })
}

func goes(from, to apply.Node) bool {
	return from.Mode.Type() != tree.Absent && to.Mode.Type() == tree.Absent
}
