package plan

import (
	"path"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Ignored files are other programs' as much as the user's. A restore brings back
// those that are gone. Those that are there stay as they are, unless somebody
// asks for them; and none is deleted.

const (
	keptThere   = "an ignored file that is there stays; --ignored restores it too"
	keptChanged = "an ignored file that was changed since stays"
	keptPlace   = "it stands where the snapshot has an ignored file"

	conflictIgnored = "an ignored directory with something in it stands here"
)

// outlasts reports whether a file stays because it is ignored now. That is what
// ignored files do, and named only if the operation that is taken back brought
// it, and it was changed since.
func (p *planner) outlasts(c tree.Change) bool {
	if _, unasked, _ := p.present.Disk.Class(c.Path); !unasked || c.From.Mode.IsDir() || p.goal.Made.has(c) {
		return false
	}
	p.lastKept = c.Path
	p.hold(tree.Parent(c.Path))
	if _, ours := p.goal.Made[c.Path]; ours {
		p.plan.Kept = append(p.plan.Kept, apply.Note{Path: c.Path, Reason: keptChanged})
	}
	return true
}

// spared reports whether a path stays because the target has an ignored file of
// its name, and something is there. Whether the file is ignored say the rules of
// the target. What is there may be unknown to the scan, and the very file.
func (p *planner) spared(c tree.Change) (bool, error) {
	if !fileOrLink(c.To.Mode) || c.To.Git.Name != "" {
		return false, nil
	}
	unseen := c.From.Mode.Type() == tree.Absent
	now := c.From.Mode
	if unseen {
		now = p.present.mode(c.Path, false)
	}
	if now.Type() == tree.Absent || now == dirfd.Unseen {
		return false, nil
	}
	if ours, err := p.unasked(c.Path, c.To.Mode); !ours || err != nil {
		return false, err
	}
	want, why := apply.Node{Mode: c.To.Mode, ID: c.To.ID}, keptThere
	switch {
	case p.left(c, now, unseen):
		return false, nil
	case !fileOrLink(now): // what lies in a directory is not deleted either
		why = keptPlace
	case unseen && p.present.Disk.Holds(c.Path, want):
		return true, nil
	case p.goal.Made != nil:
		why = keptChanged
	case p.goal.Ignored:
		return false, nil
	}
	p.lastKept = c.Path
	p.plan.Kept = append(p.plan.Kept, apply.Note{Path: c.Path, Reason: why})
	return true, p.bound.count(c.Path)
}

// holdsIgnored reports whether a directory that the scan left out, because it is
// ignored, would have to go with what is in it. Only the operation that is taken
// back may have made that.
func (p *planner) holdsIgnored(c tree.Change) bool {
	if s, ok := p.goal.Made[c.Path]; ok && displaces(&s) {
		return false
	}
	return !c.To.Mode.IsDir() && p.present.Disk.Mode(c.Path).IsDir() && p.present.Disk.Entries(c.Path) != 0
}

// unasked reports whether the target's rules ignore a file that nobody has named.
// Rules go by the files that they stand in, so those are restored as any other.
// Of a repository inside the worktree the target cannot tell what was tracked;
// what is tracked now, is taken for that. A file that git's tree could not hold was
// to be in it: it was tracked, whatever the rules say.
func (p *planner) unasked(file string, mode tree.Mode) (bool, error) {
	if name := path.Base(file); mode.Type() == tree.File && (name == ".gitignore" || name == ".gitattributes") {
		return false, nil
	}
	if p.goal.Target.Aside[file] || p.goal.Named != nil && p.goal.Named(file) {
		return false, nil
	}
	if ignored, err := p.cover.ignored(file); !ignored || err != nil {
		return false, err
	}
	_, _, tracked := p.present.Disk.Class(file)
	return !tracked || !p.cover.isNested(file), nil
}

// left reports whether what is there is what the operation that is taken back
// has put in the place of the file of the target.
func (p *planner) left(c tree.Change, now tree.Mode, unseen bool) bool {
	s, ok := p.goal.Made[c.Path]
	switch {
	case !ok || s.Have.Mode.Type() == tree.Absent:
		return false
	case displaces(&s):
		return now.IsDir()
	case unseen:
		return p.present.Disk.Holds(c.Path, s.Want)
	}
	return s.Want.Mode == c.From.Mode && s.Want.ID == c.From.ID
}

// ignored reports whether a file was ignored by the rules of the repository that
// it lies in. That the rules around a repository ignore the whole of it says
// nothing of what is in it.
func (c *coverage) ignored(p string) (bool, error) {
	for isDir := false; ; isDir = true {
		if ignored, err := c.ignores(p, isDir); ignored || err != nil {
			return ignored, err
		}
		if p = tree.Parent(p); p == "" || c.hadGit(p) {
			return false, nil
		}
	}
}

// isNested reports whether a path lies in a repository that the target has inside
// the worktree.
func (c *coverage) isNested(p string) bool {
	for dir := tree.Parent(p); dir != ""; dir = tree.Parent(dir) {
		if c.hadGit(dir) {
			return true
		}
	}
	return false
}

func fileOrLink(m tree.Mode) bool { return m.Type() == tree.File || m.Type() == tree.Symlink }
