package engine

import "github.com/seed-82afce7a/rewind/internal/oid"

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
