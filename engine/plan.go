package engine

import (
	"context"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Plan is the list of changes that a restore will make. It holds no
// resources: it can be shown, counted, or thrown away.
type Plan struct {
	Target  *Snapshot `json:"target"`  // what will be restored
	Changes []Change  `json:"changes"` // in path order
	Kept    []Note    `json:"kept"`    // paths that the target does not have and that stay all the same

	// Conflicts are paths that cannot be restored from what the target has.
	Conflicts []Note `json:"conflicts,omitempty"`

	steps []apply.Step
	force []string // ignored files that stand where the target has a file
}

// planner compares the present with a target.
type planner struct {
	e       *Engine
	load    tree.Loader
	present *capture
	aim
	cover   *coverage
	plan    Plan
	met     map[string]bool // paths that differ
	stepped map[string]bool // those that have a step
	kept    string          // the last kept path: what lies below it stays unmentioned
	parents []tree.Change   // directories that are not selected, but that something selected may need
}

// plan finds what must change so that the present becomes the target, within
// the selected paths.
//
// A path is deleted only if the target's snapshot could have contained it and
// did not: one that the target's own ignore rules excluded, that it skipped,
// or that lies in a repository made since, stays. But what an operation brought
// goes when it is taken back.
func (e *Engine) plan(ctx context.Context, present *capture, to aim) (*Plan, error) {
	p := &planner{e: e, load: present.treesOfGit(ctx), present: present, aim: to, met: map[string]bool{}, stepped: map[string]bool{}}
	p.plan.Target = to.target
	p.cover = newCoverage(ctx, e, to.target, p.load)
	view := viewOf(nil, to.target)
	for c, err := range tree.Diff(present.state, to.target.State(), e.alg, p.load) {
		if err != nil {
			return nil, treeError(err)
		}
		c, known := view.of(c)
		if !known {
			continue
		}
		if err := p.add(c); err != nil {
			return nil, err
		}
	}
	p.unseen()
	if err := p.unknown(); err != nil {
		return nil, err
	}
	p.plan.steps = apply.Order(p.plan.steps)
	return &p.plan, nil
}

// keptUnknown is why nothing happens at a path that was asked for by name.
const keptUnknown = "neither the snapshot nor what was recorded now has anything there"

// unknown names the selected paths that mean nothing: mistyped, or ignored and
// never recorded. Of a glob nobody knows what it was to match.
func (p *planner) unknown() error {
	for _, item := range p.paths.items {
		text := item.text
		if item.glob != nil || text == "." {
			continue
		}
		found := false
		for _, s := range []tree.State{p.present.state, p.target.State()} {
			n, ok, err := tree.Lookup(s, text, p.e.alg, p.load)
			if err != nil {
				return treeError(err)
			}
			found = found || ok || n.Git.Name != ""
		}
		if !found {
			p.plan.Kept = append(p.plan.Kept, Note{Path: Path(text), Reason: keptUnknown})
		}
	}
	return nil
}

// unseen finds what the operation that is taken back brought and the scan left
// out, because it is ignored now: it has to be recorded before it can go. The
// permissions of ignored directories are in the journal alone.
func (p *planner) unseen() {
	for _, path := range p.made.unseen(p.e.root, p.met) {
		if p.paths.match(path) {
			p.plan.force = append(p.plan.force, path)
		}
	}
	for path, s := range p.made {
		if !rights(&s) || p.stepped[path] || !p.paths.match(path) {
			continue
		}
		if now := p.present.directory(path); now.Mode.IsDir() && now.Mode.Perm() == s.Want.Mode.Perm() {
			p.plan.steps = append(p.plan.steps, apply.Step{Path: path, Have: now, Want: s.Have})
		}
	}
}

// add takes one difference into the plan, or keeps the path.
func (p *planner) add(c tree.Change) error {
	p.met[c.Path] = true
	if p.kept != "" && strings.HasPrefix(c.Path, p.kept+"/") && !p.made.has(c) {
		return nil
	}
	for len(p.parents) > 0 && !strings.HasPrefix(c.Path, p.parents[len(p.parents)-1].Path+"/") {
		p.parents = p.parents[:len(p.parents)-1]
	}
	if !p.paths.match(c.Path) && !p.brought(c) {
		if c.To.Mode.IsDir() && !c.From.Mode.IsDir() {
			p.parents = append(p.parents, c)
		}
		return nil
	}
	if c.To.Mode.Type() == tree.Absent {
		return p.remove(c)
	}
	if view := viewOf(nil, p.target); view.to && converted(c.From) {
		p.plan.Conflicts = append(p.plan.Conflicts, Note{Path: Path(c.Path), Reason: keptConverted})
		return nil
	}
	if p.blocked(c) {
		if why := p.present.leftOut(c.Path); why != "" {
			p.plan.Conflicts = append(p.plan.Conflicts, Note{Path: Path(c.Path), Reason: "a directory stands here that was left out: " + why})
			return nil
		}
		p.plan.force = append(p.plan.force, c.Path)
	}
	for _, dir := range p.parents {
		if p.blocked(dir) {
			p.plan.force = append(p.plan.force, dir.Path)
		}
		p.step(dir)
	}
	p.parents = nil
	p.step(c)
	if c.To.Mode.Type() == tree.Nested && !p.present.isRepository(c.Path) && p.cover.hadGit(c.Path) {
		p.plan.Conflicts = append(p.plan.Conflicts, Note{Path: Path(c.Path + "/.git"), Reason: lostGit})
	}
	return nil
}

// blocked reports whether something that the scan left out stands where a
// change puts something new.
func (p *planner) blocked(c tree.Change) bool {
	return c.From.Mode.Type() == tree.Absent && p.present.inTheWay(c)
}

// lostGit is why a repository inside the worktree is not whole again.
const lostGit = "a repository's own files are not recorded: its other files are back, as a plain directory"

// brought reports whether a directory is to go that the operation that is
// taken back made on the way to something selected.
func (p *planner) brought(c tree.Change) bool {
	return c.To.Mode.Type() == tree.Absent && c.From.Mode.IsDir() && p.made.has(c)
}

// remove plans the deletion of a path, unless the target could not have held it.
func (p *planner) remove(c tree.Change) error {
	reason, err := p.reason(c)
	if err != nil {
		return err
	}
	if reason != "" {
		p.kept = c.Path
		if reason == keptNotGits && p.cover.inNested(c.Path) {
			return nil // of a repository inside the worktree git says nothing
		}
		p.plan.Kept = append(p.plan.Kept, Note{Path: Path(c.Path), Reason: reason})
		return nil
	}
	p.step(c)
	return nil
}

// reason tells why a path must stay although the target does not have it on
// disk, or "" if it may go.
func (p *planner) reason(c tree.Change) (string, error) {
	if c.From.Mode.Type() == tree.Nested && !p.present.isRepository(c.Path) {
		c.From.Mode = tree.Dir | c.From.Mode.Perm()
	}
	switch {
	case c.From.Mode.Type() != tree.Nested && p.made.has(c):
		return "", nil
	case c.To.Git.Name != "" && !p.cover.skips(c.Path):
		return keptOutside, nil
	}
	return p.cover.keeps(c.Path, c.From)
}

// keptOutside is why a file stays that a sparse checkout did not have on disk.
const keptOutside = "the snapshot has it in its git tree, outside of the sparse checkout"

func (p *planner) step(c tree.Change) {
	s := apply.Step{
		Path: c.Path,
		Have: apply.Node{Mode: c.From.Mode, ID: c.From.ID},
		Want: apply.Node{Mode: c.To.Mode, ID: c.To.ID},
	}
	if c.From.Mode.Type() != tree.Absent {
		s.Expect = p.present.fingerprint(c.Path)
	} else if c.To.Mode.IsDir() {
		s.Have = p.present.directory(c.Path)
	}
	p.stepped[c.Path] = true
	p.plan.steps = append(p.plan.steps, s)
	p.plan.Changes = append(p.plan.Changes, newChange(c))
}
