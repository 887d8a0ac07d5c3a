package plan

import (
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ownerAll is what a directory's owner needs to work in it.
const ownerAll = 0o700

// shut takes a step into the plan for each directory that the other steps work in, or go
// through, and that its owner may not. The step changes nothing. A restore opens such a
// directory for a moment. If it is killed then, whoever comes next knows by the step what
// permissions the directory had.
func (p *planner) shut() {
	asked := map[string]bool{"": true}
	for i := range p.plan.Steps {
		asked[p.plan.Steps[i].Path] = true // it has a step of its own
	}
	for _, s := range p.plan.Steps { // but for those that come behind
		for dir := tree.Parent(s.Path); dir != ""; dir = tree.Parent(dir) {
			if asked[dir] {
				continue
			}
			asked[dir] = true
			if seen := p.present.Disk.Fingerprint(dir, false).Mode; seen.IsDir() && seen&ownerAll == ownerAll {
				continue // the scan has looked, a moment ago
			}
			if now := p.present.Disk.Mode(dir); now.IsDir() && now&ownerAll != ownerAll {
				is := apply.Node{Mode: now}
				p.plan.Steps = append(p.plan.Steps, apply.Step{Path: dir, Have: is, Want: is})
			}
		}
	}
}
