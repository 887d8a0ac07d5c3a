package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Snapshot is a recorded state of a worktree. It is immutable but for its
// points, which are only added to.
type Snapshot struct {
	ID      oid.ID     `json:"id"`                // of its commit object
	Tree    oid.ID     `json:"tree"`              // the git tree
	Overlay oid.ID     `json:"overlay,omitzero"`  // what a git tree cannot hold
	Umask   tree.Mode  `json:"umask"`             // permissions of what the overlay does not name
	Time    time.Time  `json:"time"`              // when the scan began
	Where   string     `json:"worktree"`          // the worktree's key in the store: "." is the main one; "": not known
	Branch  string     `json:"branch,omitempty"`  // full ref name; empty when detached or without git
	Head    oid.ID     `json:"head,omitzero"`     // the commit HEAD named
	Rules   Rules      `json:"rules"`             // what the snapshot could have contained
	Skipped []Note     `json:"skipped,omitempty"` // paths that are not, or not wholly, in it
	Nested  []NestedAt `json:"nested,omitempty"`  // repositories inside the worktree

	// SkippedIn is a blob of the store with the skipped paths in JSON, where they
	// are many. Whoever gives a snapshot out has filled them in.
	SkippedIn oid.ID `json:"skipped_in,omitzero"`

	Points []Point `json:"points,omitempty"` // what it was taken for, oldest first
	Source *Source `json:"source,omitempty"` // set where rewind did not record it, or the record was lost
	Limits *Limits `json:"limits,omitempty"` // what it could not have contained for that reason
	Held   string  `json:"held,omitempty"`   // in a repository: "store", or "git" where some contents are in git alone, kept by our ref
	Lost   string  `json:"lost,omitempty"`   // why it cannot be restored as a whole any more; "" as far as is known
}

// State returns what the snapshot holds, as a tree with its overlay.
func (s *Snapshot) State() tree.State {
	return tree.State{Tree: s.Tree, Overlay: s.Overlay, Umask: s.Umask}
}

// Label returns the newest label given to the snapshot, or "".
func (s *Snapshot) Label() string {
	for i := len(s.Points) - 1; i >= 0; i-- {
		if s.Points[i].Label != "" {
			return s.Points[i].Label
		}
	}
	return ""
}

// A Point says what a snapshot was taken for. All fields are the caller's.
type Point struct {
	Label   string    `json:"label,omitempty"`
	Session string    `json:"session,omitempty"`
	Entry   string    `json:"entry,omitempty"`
	Trigger string    `json:"trigger,omitempty"`
	Time    time.Time `json:"time"`
}

// same reports whether two points say the same, whenever they were made.
func (p Point) same(q Point) bool {
	p.Time, q.Time = time.Time{}, time.Time{}
	return p == q
}

// Rules are the ignore rules outside the tree that were in force, and the
// version of the tree function: what a later restore must know to tell what
// this snapshot could have contained.
type Rules struct {
	Function int      `json:"function"`         // the version of the tree function; 1 so far
	Fold     bool     `json:"fold,omitempty"`   // names were compared without regard to case
	Ignore   []oid.ID `json:"ignore,omitempty"` // blobs in gitignore syntax, lowest precedence first
	Exclude  oid.ID   `json:"exclude,omitzero"` // blob: the repository's info/exclude, above the others
}

// NestedAt names a repository inside the worktree and its own info/exclude.
type NestedAt struct {
	Path    Path   `json:"path"`
	Exclude oid.ID `json:"exclude,omitzero"` // blob; zero: none
}

// A Note names a path and says why it was left out, kept or not restored.
type Note struct {
	Path   Path   `json:"path"`
	Reason string `json:"reason"`
	Kept   bool   `json:"kept,omitempty"` // of a skipped path: only the git tree lacks it, the overlay has it
}

// A Path is a slash-separated path below the worktree, bytes as on disk. In
// JSON a path that is not UTF-8 is an object {"b64": …}, so that no byte is
// lost.
type Path string

// MarshalJSON keeps bytes that are not UTF-8.
func (p Path) MarshalJSON() ([]byte, error) {
	if s := string(p); utf8.ValidString(s) {
		return json.Marshal(s)
	}
	return json.Marshal(struct {
		B64 []byte `json:"b64"`
	}{[]byte(p)})
}

// UnmarshalJSON accepts what [Path.MarshalJSON] gives.
func (p *Path) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw struct {
			B64 []byte `json:"b64"`
		}
		err := json.Unmarshal(data, &raw)
		*p = Path(raw.B64)
		return err
	}
	return json.Unmarshal(data, (*string)(p))
}

var errRecord = errors.New("malformed snapshot record")

// decodeSnapshot reads a record of the snapshots table and checks it.
func decodeSnapshot(data []byte) (*Snapshot, error) {
	s := new(Snapshot)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: %v", errRecord, err)
	}
	if s.ID.IsZero() || s.Tree.IsZero() || s.Umask&^tree.PermMask != 0 {
		return nil, errRecord
	}
	return s, nil
}
