package plan

import (
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
)

// keptUnrecorded is why a path stays that the target could have had, and has not: what
// was not recorded first is never deleted.
const keptUnrecorded = "it could not be recorded, so it stays: "

// extra returns what could not be recorded of the present, with the reason, unless the
// target left it out too. The present has none of it, so what of it the target has is
// among the differences.
func (p *planner) extra() map[string]string {
	out := map[string]string{}
	for _, n := range p.present.Unrecorded {
		if p.goal.Paths.Match(n.Path) && !p.goal.Target.leftOut(n.Path) {
			out[n.Path] = n.Reason
		}
	}
	return out
}

// stay names what stays beside what the target has, so that nobody takes the files for
// those of the target.
func (p *planner) stay(extra map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(extra)) {
		p.plan.Kept = append(p.plan.Kept, apply.Note{Path: path, Reason: keptUnrecorded + extra[path]})
		if err := p.bound.count(path); err != nil {
			return err
		}
	}
	return nil
}
