package plan

import (
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
)

// An Edit puts something else in the place of what the target has at a path. It was
// made for what was there: Have. By it hunks of a file are restored, whose result is in no
// snapshot: a plan is made as ever and then edited, so that rules, checks, order,
// verification and undo are those of every restore. The new contents go into the store in
// the transaction that records the operation, which names them until it ends; then the
// files have them. The files do not stand at the snapshot afterwards.
type Edit struct{ Have, Want apply.Node }

// conflictEdited is why an edit is not made.
const conflictEdited = "it has changed since the new content was chosen"

// Edit gives paths of the plan something else than the target has. Where the present
// is not what an edit was made for, nothing is done at the path, which becomes a
// conflict. Where it is as the edit wants it, there is nothing to do.
func (p *Plan) Edit(edits map[string]Edit) {
	if len(edits) == 0 {
		return
	}
	open, before := maps.Clone(edits), len(p.Steps)
	p.Steps = slices.DeleteFunc(p.Steps, func(s apply.Step) bool {
		ed, edited := edits[s.Path]
		if !edited {
			return false
		}
		if s.Have == ed.Have {
			delete(open, s.Path)
		}
		return s.Have != ed.Have || ed.Want == ed.Have
	})
	p.Told -= before - len(p.Steps) // what is edited is told
	for i, s := range p.Steps {
		if ed, edited := edits[s.Path]; edited {
			p.Steps[i].Want = ed.Want
		}
	}
	if !slices.ContainsFunc(p.Steps, func(s apply.Step) bool { return s.Have != s.Want }) {
		p.Steps, p.Told = nil, 0 // no step is left for which a directory would be opened
	}
	for _, path := range slices.Sorted(maps.Keys(open)) {
		p.Conflicts = append(p.Conflicts, apply.Note{Path: path, Reason: conflictEdited})
	}
}
