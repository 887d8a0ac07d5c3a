package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Target is a recorded state, and what is known of what it could have
// contained.
type Target struct {
	State   tree.State
	Skipped map[string]string // paths that it left out, with what lies below them, and why they stay; "": it skipped them
	Above   map[string]string // directories above those of which it says why they stay, with that: it may lack them, too, for that alone
	Aside   map[string]bool   // paths that it has, and that only its git tree could not hold
	Nested  map[string]oid.ID // repositories inside the worktree → the blob of their info/exclude

	// The ignore rules outside the tree that were in force: blobs, the lowest
	// precedence first, and the repository's info/exclude above them.
	Ignore  []oid.ID
	Exclude oid.ID
	Fold    bool // names are compared without regard to case

	Limits *records.Limits // because of who made it; nil: none
	Sparse tree.State      // the last commit, of which a sparse checkout may have hidden some; zero: none did
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

// unsure reports whether nothing is known of a path that the target does not have: it was left out, or is a directory
// that may have been, with what lay in it.
func (t *Target) unsure(p string, n tree.Node) bool {
	return t.leftOut(p) || t != nil && n.Mode.IsDir() && t.Above[p] != ""
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

// limited returns why a path stays that the target does not have, "" if its
// limits do not say so. Present is what is there now.
func (t *Target) limited(p string, present tree.Node) string {
	g := t.Limits
	switch {
	case g == nil:
		return ""
	case g.Incomplete:
		return keptIncomplete
	case !g.Overlay.IsZero():
		return keptOverlay
	case g.GitOnly && present.Git.Name == "":
		return keptNotGits
	case named(p, g.Names):
		return keptFiltered
	}
	for _, path := range g.Paths {
		out := string(path)
		if p == out || strings.HasPrefix(p, out+"/") || strings.HasPrefix(out, p+"/") && present.Mode.Type() != tree.Dir {
			return keptLeftOut
		}
	}
	return ""
}

// named reports whether a path has one of some names as a component.
func named(p string, names []string) bool {
	for ; p != "." && p != "/"; p = path.Dir(p) {
		if slices.Contains(names, path.Base(p)) {
			return true
		}
	}
	return false
}
