package plan

import (
	"strings"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Present is the worktree as a scan found it.
type Present struct {
	State   tree.State
	LeftOut []apply.Note // what the scan named as left out
	Disk    Disk

	// Unrecorded is what of it could not be recorded, and no setting leaves out.
	Unrecorded []apply.Note

	told    map[string]bool   // what the scan was told to record
	refused map[string]string // of that, what it named as left out, with the reason

	vacant string // with a slash: nothing is there, nor below
}

// A Disk is asked about single paths of the worktree, as they are now. Symbolic
// links on the way to a path are not followed.
type Disk interface {
	// Mode returns what lies at a path, [tree.Absent] for nothing, [dirfd.Unseen] where
	// nobody can tell.
	Mode(path string) tree.Mode
	// Entries returns how many names the directory at a path has, -1 if nobody can tell.
	Entries(path string) int
	// Fingerprint returns by what a step recognises what the scan saw at a path. Sure asks
	// for the zero Fingerprint where only the content can tell.
	Fingerprint(path string, sure bool) apply.Fingerprint
	// Class returns what the scan took a file for: ignored; recorded though it is and
	// nobody has named it; in the index of its repository.
	Class(path string) (ignored, unasked, tracked bool)
	// Holds reports whether a file or link is there as a state has it. It reads a
	// file only if that has the length of the content.
	Holds(path string, node apply.Node) bool
}

// mode is what lies at a path. Below a directory that is not there it does not
// ask: a plan may have millions of paths there.
func (p *Present) mode(path string, dir bool) tree.Mode {
	if p.vacant != "" && strings.HasPrefix(path, p.vacant) {
		return tree.Absent
	}
	now := p.Disk.Mode(path)
	if dir && now == tree.Absent {
		p.vacant = path + "/"
	}
	return now
}

// inTheWay reports whether something that the scan left out lies where a
// plan wants something else than a directory that is there already.
func (p *Present) inTheWay(c tree.Change) bool {
	now := p.mode(c.Path, c.To.Mode.IsDir())
	return now != tree.Absent && !(c.To.Mode.IsDir() && now.IsDir())
}

// leftOut returns why the scan left out a directory that it named, "" if it
// named none there. What the settings leave out is never deleted, also where
// it could be recorded first.
func (p *Present) leftOut(path string) string {
	for _, n := range p.LeftOut {
		if n.Path == path && p.Disk.Mode(path).IsDir() {
			return n.Reason
		}
	}
	return ""
}

// Refuse says which files the scan was told to record although they are ignored. Those
// that it left out all the same cannot be recorded, so nothing may replace them.
func (p *Present) Refuse(forced []string) {
	p.refused = map[string]string{}
	p.told = map[string]bool{}
	for _, path := range forced {
		p.told[path] = true
	}
	for _, n := range p.LeftOut {
		if p.told[n.Path] {
			p.refused[n.Path] = n.Reason
		}
	}
}

// hides reports whether what seems to be gone was left out: a directory where
// there was one, or a file or link where there was one of them. A pipe, socket
// or device hides nothing: what it replaced is gone.
func (p *Present) hides(c tree.Change) bool {
	switch now := p.Disk.Mode(c.Path); now.Type() {
	case dirfd.Unseen:
		return true
	case tree.File, tree.Symlink:
		return !c.From.Mode.IsDir()
	case tree.Dir, tree.Nested:
		return c.From.Mode.IsDir()
	}
	return false
}

// directory returns the directory at a path that the scan left out, because it
// is ignored; nothing if there is none.
func (p *Present) directory(path string) apply.Node {
	now := p.mode(path, true)
	if !now.IsDir() {
		return apply.Node{}
	}
	return apply.Node{Mode: now}
}

// isRepository reports whether a directory has a ".git" of its own. A gitlink
// that is not checked out has none.
func (p *Present) isRepository(path string) bool {
	return p.Disk.Mode(path+"/.git") != tree.Absent
}
