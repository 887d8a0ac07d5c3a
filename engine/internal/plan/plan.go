// Package plan decides what a restore will do: which paths of the worktree must
// change so that it becomes a recorded state, which stay although that state
// does not have them, and why.
//
// It is given the present and the target as plain data, and functions that read
// their directories and ignore files. It touches no file, no store and no
// repository, and it remembers nothing: equal inputs make equal plans.
package plan

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Plan is what a restore will do. It holds no resources.
type Plan struct {
	Steps     []apply.Step // what changes, in path order; behind that directories, of which nothing is told
	Told      int          // how many of the steps are told as changes
	Unknown   []apply.Note // paths that were asked for by name, and that neither the target nor the present has; the reason, if one is known
	Kept      []apply.Note // paths that stay although the target does not have them, or has something else
	Conflicts []apply.Note // paths that cannot be restored from what the target has

	Marked []apply.Note      // of a merge: files that have conflicts between markers then
	Texts  map[oid.ID][]byte // contents that the steps of a merge write and no state has

	// Force are ignored files that lie where the plan changes something. They
	// are to be recorded too, and then the plan is to be made anew.
	Force []string
}

// A Change is one path at which two states differ.
type Change struct {
	Path     string // slash-separated bytes
	From, To apply.Node
}

func changeOf(c tree.Change) Change {
	return Change{Path: c.Path, From: apply.Node{Mode: c.From.Mode, ID: c.From.ID}, To: apply.Node{Mode: c.To.Mode, ID: c.To.ID}}
}

// A Goal is what an operation is to reach.
type Goal struct {
	Target *Target
	Paths  *Selection
	Made   Made // what the operation that is taken back brought; nil unless one is

	// Ignored says that ignored files go back too which are there, and differ.
	Ignored bool
	// Named reports whether somebody has named an ignored file, to be recorded and
	// restored like any other. Nil: nobody has.
	Named func(path string) bool
}

// planner compares the present with a target.
type planner struct {
	Objects
	present  *Present
	goal     Goal
	cover    *coverage
	plan     Plan
	steps    pieces // those of the plan, until it is whole
	bound    listBound
	met      map[string]bool   // paths that differ, where something is taken back
	stepped  map[string]bool   // those that have a step, where something is taken back
	lastKept string            // the last kept path: what lies below it stays unmentioned
	holding  map[string]bool   // directories in which something stays
	closed   map[string]string // directories that could not be recorded, with the reason
	parents  []tree.Change     // directories that are not selected, but that something selected may need
}

// New finds what must change so that the present becomes the target, within
// the selected paths.
//
// A path is deleted only if the target could have contained it and did not: one
// that the target's own ignore rules excluded, that it skipped, or that lies in
// a repository made since, stays. But what an operation brought goes when it is
// taken back.
func New(present *Present, goal Goal, o Objects) (*Plan, error) {
	p := &planner{Objects: o, present: present, goal: goal, met: map[string]bool{}, stepped: map[string]bool{}, holding: map[string]bool{}, closed: map[string]string{}}
	p.cover = newCoverage(goal.Target, o)
	view := viewOf(nil, goal.Target)
	extra := p.extra()
	for c, err := range beside(tree.Diff(present.State, goal.Target.State, o.Algorithm, o.Tree)) {
		if err != nil {
			return nil, err
		}
		delete(extra, c.Path) // the target has it
		c, known := view.of(c)
		if !known {
			continue
		}
		if err := p.add(c); err != nil {
			return nil, err
		}
	}
	p.standing()
	p.plan.Told = len(p.plan.Steps)
	p.unseen()
	if err := p.stay(extra); err != nil {
		return nil, err
	}
	unknown, err := goal.Paths.Unknown(o, present.State, goal.Target.State)
	if err != nil {
		return nil, err
	}
	for _, path := range unknown {
		if err := p.unknown(path); err != nil {
			return nil, err
		}
	}
	p.shut()
	return &p.plan, nil
}

// unknown names a path that neither the target nor the present has, with the
// reason why the target could not have it, if one is known.
func (p *planner) unknown(path string) error {
	why, err := p.cover.excludes(path, false)
	if why == "" && err == nil {
		why, err = p.cover.excludes(path, true) // it may have been either
	}
	p.plan.Unknown = append(p.plan.Unknown, apply.Note{Path: path, Reason: why})
	return err
}

// unseen finds what the operation that is taken back brought and the scan left
// out, because it is ignored now: it has to be recorded before it can go. The
// permissions of ignored directories are in the journal alone.
func (p *planner) unseen() {
	for _, path := range p.goal.Made.unseen(p.present.Disk, p.met) {
		switch {
		case !p.goal.Paths.Match(path) || p.within(path) != "": // the directory is named
		case p.present.Disk.Mode(path) == dirfd.Unseen:
			p.plan.Kept = append(p.plan.Kept, apply.Note{Path: path, Reason: unseenHere})
		default:
			p.plan.Force = append(p.plan.Force, path)
		}
	}
	for path, s := range p.goal.Made {
		if !rights(&s) || p.stepped[path] || !p.goal.Paths.Match(path) {
			continue
		}
		if now := p.present.directory(path); now.Mode.IsDir() && now.Mode.Perm() == s.Want.Mode.Perm() {
			p.plan.Steps = append(p.plan.Steps, apply.Step{Path: path, Have: now, Want: s.Have})
		}
	}
}

// add takes one difference into the plan, or keeps the path.
func (p *planner) add(c tree.Change) error {
	if p.goal.Made != nil {
		p.met[c.Path] = true
	}
	if p.lastKept != "" && strings.HasPrefix(c.Path, p.lastKept+"/") && !p.goal.Made.has(c) {
		return nil
	}
	for len(p.parents) > 0 && !strings.HasPrefix(c.Path, p.parents[len(p.parents)-1].Path+"/") {
		p.parents = p.parents[:len(p.parents)-1]
	}
	if !p.goal.Paths.Match(c.Path) && !p.brought(c) {
		if c.To.Mode.IsDir() && !c.From.Mode.IsDir() {
			p.parents = append(p.parents, c)
		}
		return nil
	}
	if c.To.Mode.Type() == tree.Absent {
		return p.remove(c)
	}
	if stays, err := p.spared(c); stays || err != nil {
		return err
	}
	if view := viewOf(nil, p.goal.Target); view.to && converted(c.From) {
		p.plan.Conflicts = append(p.plan.Conflicts, apply.Note{Path: c.Path, Reason: keptConverted})
		return nil
	}
	blocked := p.blocked(c)
	if why := p.obstacle(c, blocked); why != "" {
		p.lastKept = c.Path
		p.plan.Conflicts = append(p.plan.Conflicts, apply.Note{Path: c.Path, Reason: why})
		return nil
	}
	if blocked {
		p.plan.Force = append(p.plan.Force, c.Path)
	}
	if err := p.makeParents(c.Path); err != nil {
		return err
	}
	if err := p.step(c); err != nil {
		return err
	}
	if c.To.Mode.Type() == tree.Nested && !p.present.isRepository(c.Path) && p.cover.hadGit(c.Path) {
		p.plan.Conflicts = append(p.plan.Conflicts, apply.Note{Path: c.Path + "/.git", Reason: lostGit})
	}
	return nil
}

// makeParents takes the directories into the plan that a path needs and that were
// not selected. A path that is never written needs none: redo would not know
// what brought them.
func (p *planner) makeParents(path string) error {
	if len(p.parents) == 0 || isGits(path) {
		return nil
	}
	for _, dir := range p.parents {
		if dir.From.Mode.Type() == tree.Absent && p.present.Disk.Mode(dir.Path).IsDir() {
			continue // ignored, and there: its permissions were not asked for
		}
		if p.blocked(dir) {
			p.plan.Force = append(p.plan.Force, dir.Path)
		}
		if err := p.step(dir); err != nil {
			return err
		}
	}
	p.parents = nil
	return nil
}

// isGits reports whether a path is git's own. A step there does nothing but say so.
func isGits(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), tree.DotGit)
}

// keptConverted is why a file cannot be restored from what git has of it.
const keptConverted = "git keeps it in another form (line ends, filter); use git restore --source"

// blocked reports whether something that the scan left out lies where a
// change puts something new.
func (p *planner) blocked(c tree.Change) bool {
	return c.From.Mode.Type() == tree.Absent && p.present.inTheWay(c)
}

// lostGit is why a repository inside the worktree is not whole again.
const lostGit = "a repository's own files are not recorded: its other files are back, as a plain directory"

// brought reports whether a directory is to go that the operation that is
// taken back made on the way to something selected.
func (p *planner) brought(c tree.Change) bool {
	return c.To.Mode.Type() == tree.Absent && c.From.Mode.IsDir() && p.goal.Made.has(c)
}

// remove plans the deletion of a path, unless the target could not have held it.
func (p *planner) remove(c tree.Change) error {
	if p.outlasts(c) {
		return nil
	}
	reason, err := p.reason(c)
	if err != nil {
		return err
	}
	if reason != "" {
		p.lastKept = c.Path
		p.hold(tree.Parent(c.Path))
		if reason == keptNotGits && p.cover.inNested(c.Path) {
			return nil // of a repository inside the worktree git says nothing
		}
		p.plan.Kept = append(p.plan.Kept, apply.Note{Path: c.Path, Reason: reason})
		return p.bound.count(c.Path)
	}
	return p.step(c)
}

// reason tells why a path must stay although the target does not have it on
// disk, or "" if it may go.
func (p *planner) reason(c tree.Change) (string, error) {
	if c.From.Mode.Type() == tree.Nested && !p.present.isRepository(c.Path) {
		c.From.Mode = tree.Dir | c.From.Mode.Perm()
	}
	switch {
	case c.From.Mode.Type() != tree.Nested && p.goal.Made.has(c):
		return "", nil
	case c.To.Git.Name != "" && !p.goal.Target.leftOut(c.Path):
		return keptOutside, nil
	}
	why, err := p.cover.keeps(c.Path, c.From)
	if why != "" || err != nil {
		return why, err
	}
	return p.guards(c)
}

// keptOutside is why a file stays that a sparse checkout did not have on disk.
const keptOutside = "the snapshot has it in its git tree, outside of the sparse checkout"

func (p *planner) step(c tree.Change) error {
	s := apply.Step{
		Path: c.Path,
		Have: apply.Node{Mode: c.From.Mode, ID: c.From.ID},
		Want: apply.Node{Mode: c.To.Mode, ID: c.To.ID},
	}
	if c.From.Mode.Type() != tree.Absent {
		s.Expect = p.present.Disk.Fingerprint(c.Path, s.Have.ID == s.Want.ID) // else it is read when it has been moved aside
	} else if c.To.Mode.IsDir() {
		s.Have = p.present.directory(c.Path)
	}
	if p.goal.Made != nil {
		p.stepped[c.Path] = true
	}
	if s.Have.Mode.IsDir() && s.Want.Mode.IsDir() && !rights(&s) && !isGits(c.Path) {
		return nil // it is there as the target has it: no restore brings git's own files, or takes them away
	}
	p.steps.add(s)
	return p.bound.count(c.Path)
}
