package plan

import (
	"path"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Target is a recorded state, and what is known of what it could have
// contained.
type Target struct {
	State   tree.State
	Skipped map[string]string // paths that it left out, with what lies below them, and why they stay; "": it skipped them
	Aside   map[string]bool   // paths that it has, and that only its git tree could not hold
	Nested  map[string]oid.ID // repositories inside the worktree → the blob of their info/exclude

	// The ignore rules outside the tree that were in force: blobs, the lowest
	// precedence first, and the repository's info/exclude above them.
	Ignore  []oid.ID
	Exclude oid.ID
	Fold    bool // names are compared without regard to case

	Limits *Limits    // because of who made it; nil: none
	Sparse tree.State // the last commit, of which a sparse checkout may have hidden some; zero: none did
}

// Limits say what a state could not have contained because of who recorded it.
type Limits struct {
	GitOnly    bool     // it has what a git tree holds, and no more is known
	Incomplete bool     // it may be the last commit instead of the files
	Overlay    bool     // it had more than git can hold, and that is gone
	Names      []string // untracked paths that have one of them as a component were left out
	Paths      []string // these, and what lies below them, may have been left out
}

// leftOut reports whether a path, or a directory above it, was left out.
func (t *Target) leftOut(p string) bool {
	if t == nil || len(t.Skipped) == 0 {
		return false
	}
	for ; p != ""; p = tree.Parent(p) {
		if _, out := t.Skipped[p]; out {
			return true
		}
	}
	return false
}

// Why a path stays that a target with limits does not have.
const (
	keptIncomplete = "the snapshot may be incomplete"
	keptOverlay    = "the snapshot may have had it: what it had beside git is gone"
	keptNotGits    = "the snapshot has only what git can hold, and git does not hold this"
	keptFiltered   = "the system that made the snapshot leaves such names out"
	keptLeftOut    = "the system that made the snapshot may have left it out"
	keptHidden     = "it may have been outside of the sparse checkout"
)

// keeps returns why a path stays that the target does not have, "" if the
// limits do not say so. Present is what is there now.
func (g *Limits) keeps(p string, present tree.Node) string {
	switch {
	case g == nil:
		return ""
	case g.Incomplete:
		return keptIncomplete
	case g.Overlay:
		return keptOverlay
	case g.GitOnly && present.Git.Name == "":
		return keptNotGits
	case g.leavesOut(p):
		return keptFiltered
	}
	for _, out := range g.Paths {
		if p == out || strings.HasPrefix(p, out+"/") || strings.HasPrefix(out, p+"/") && present.Mode.Type() != tree.Dir {
			return keptLeftOut
		}
	}
	return ""
}

// leavesOut reports whether a path has a component that is filtered.
func (g *Limits) leavesOut(p string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		for _, name := range g.Names {
			if path.Base(p) == name {
				return true
			}
		}
	}
	return false
}
