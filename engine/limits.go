package engine

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Limits say what a snapshot could not have contained because of who made it:
// another system, or rewind with a record that is lost. A snapshot without
// them could have contained everything that its rules did not exclude.
type Limits struct {
	// GitOnly: it has what a git tree holds. Permissions, bytes before their
	// conversion, empty directories and what lies in nested repositories are
	// not known.
	GitOnly bool `json:"git_only,omitempty"`
	// FreshIndex: tracked files that the rules ignore, or that a sparse
	// checkout left out, are not in it.
	FreshIndex bool `json:"fresh_index,omitempty"`
	// Incomplete: it may be the last commit instead of the files.
	Incomplete bool `json:"incomplete,omitempty"`
	// Names: untracked paths that have one of them as a component were left out.
	Names []string `json:"names,omitempty"`
	// Paths: these, and what lies below them, may have been left out.
	Paths []Path `json:"paths,omitempty"`
	// Overlay: the tree that held what git cannot hold; it is gone.
	Overlay oid.ID `json:"overlay,omitzero"`
}

// Why a path stays that a snapshot with limits does not have.
const (
	keptIncomplete = "the snapshot may be incomplete"
	keptNotGits    = "the snapshot has only what git can hold, and git does not hold this"
	keptFiltered   = "the system that made the snapshot leaves such names out"
	keptLeftOut    = "the system that made the snapshot may have left it out"
	keptHidden     = "it may have been outside of the sparse checkout"
)

// keptConverted is why a file cannot be restored from what git has of it.
const keptConverted = "git keeps it in another form (line ends, filter); use git restore --source"

// keeps returns why a path stays that the snapshot does not have, "" if the
// limits do not say so. Present is what is there now.
func (l *Limits) keeps(p string, present tree.Node) string {
	switch {
	case l == nil:
		return ""
	case l.Incomplete:
		return keptIncomplete
	case l.GitOnly && present.Git.Name == "":
		return keptNotGits
	case l.leavesOut(p):
		return keptFiltered
	}
	for _, out := range l.Paths {
		if p == string(out) || strings.HasPrefix(p, string(out)+"/") || strings.HasPrefix(string(out), p+"/") && present.Mode.Type() != tree.Dir {
			return keptLeftOut
		}
	}
	return ""
}

// leavesOut reports whether a path has a component that is filtered.
func (l *Limits) leavesOut(p string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		for _, name := range l.Names {
			if path.Base(p) == name {
				return true
			}
		}
	}
	return false
}

// A gitView tells which sides of a difference know only what git holds.
type gitView struct{ from, to bool }

// viewOf returns how two snapshots are compared; nil is the worktree, or
// nothing, of which everything is known.
func viewOf(from, to *Snapshot) gitView {
	only := func(s *Snapshot) bool { return s != nil && s.Limits != nil && s.Limits.GitOnly }
	return gitView{only(from), only(to)}
}

// of makes of a difference what can be known of it; false: nothing.
func (v gitView) of(c tree.Change) (tree.Change, bool) {
	if !v.from && !v.to {
		return c, true
	}
	if sameInGit(c.From, c.To) {
		return c, false
	}
	if v.to {
		c.To.Mode = likeOther(c.To.Mode, c.From.Mode)
	}
	if v.from {
		c.From.Mode = likeOther(c.From.Mode, c.To.Mode)
	}
	return c, true
}

// unknown reports whether a side that is absent could not have been there.
func (v gitView) unknown(c tree.Change) bool {
	return v.to && c.To.Mode == 0 && c.From.Git.Name == "" || v.from && c.From.Mode == 0 && c.To.Git.Name == ""
}

// sameInGit reports whether git would see no difference.
func sameInGit(a, b tree.Node) bool {
	if a.Mode.IsDir() && b.Mode.IsDir() {
		return true
	}
	return a.Git.Name != "" && b.Git.Name != "" && a.Git.Mode == b.Git.Mode && a.Git.ID == b.Git.ID
}

// likeOther gives a mode that git knows the permissions of the other side, as
// far as git does not know better.
func likeOther(m, other tree.Mode) tree.Mode {
	if m.Type() == tree.File && other.Type() == tree.File && m.Git() == other.Git() {
		return other
	}
	return m
}

// converted reports whether a file on disk has other bytes than git keeps of it.
func converted(n tree.Node) bool {
	return n.Mode.Type() == tree.File && n.Git.Name != "" && n.Git.ID != n.ID
}

// assume takes today's rules and settings for those that were in force when a
// target was made of which nobody recorded them.
func (c *coverage) assume() {
	outside := c.e.readOutside()
	c.texts = map[oid.ID][]byte{}
	for _, text := range append(slices.Clone(outside.ignore), outside.exclude) {
		c.texts[c.e.alg.Sum(oid.Blob, text)] = text
	}
	if l := c.target.Limits; l == nil || !l.FreshIndex || c.e.repo == nil {
		return
	}
	// The file stays when a sparse checkout is turned off.
	if _, err := os.Stat(filepath.Join(c.e.repo.Layout().GitDir, "info", "sparse-checkout")); err == nil {
		if head, err := c.e.repo.Head(); err == nil {
			c.sparse = tree.State{Tree: head.Tree}
		}
	}
}

// limits returns why a path stays that the target does not have, because of
// who made the target; "" if nothing says so.
func (c *coverage) limits(p string, present tree.Node) (string, error) {
	if reason := c.target.Limits.keeps(p, present); reason != "" {
		return reason, nil
	}
	if c.sparse.Tree.IsZero() || present.Mode.IsDir() {
		return "", nil
	}
	_, tracked, err := tree.Lookup(c.sparse, p, c.e.alg, c.load)
	if tracked {
		return keptHidden, err
	}
	return "", err
}

// inNested reports whether a path lies directly in a repository that the
// target has inside the worktree.
func (c *coverage) inNested(p string) bool {
	n, ok, err := tree.Lookup(c.target.State(), parent(p), c.e.alg, c.load)
	return err == nil && ok && n.Mode.Type() == tree.Nested
}
