package records

import (
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Snapshot is a recorded state of a worktree. It is immutable but for its
// points: they are added to, and a label can be taken away.
type Snapshot struct {
	ID      oid.ID     `json:"id"`                // of its commit object
	Tree    oid.ID     `json:"tree"`              // the git tree
	Overlay oid.ID     `json:"overlay,omitzero"`  // what a git tree cannot hold
	Umask   tree.Mode  `json:"umask"`             // permissions of what the overlay does not name
	Time    time.Time  `json:"time"`              // when the scan began
	Where   string     `json:"worktree"`          // the worktree's key in the store: "." is the main one; "": not known
	Branch  string     `json:"branch,omitempty"`  // without refs/heads/; empty when HEAD is detached or without git
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
	Held   string  `json:"held,omitempty"`   // in a repository: [HeldByStore] or [HeldByGit]
	Lost   string  `json:"lost,omitempty"`   // why it cannot be restored as a whole any more; "" as far as is known

	Changed *changes.Changed `json:"-"` // what it changed, where that was asked for and is known; it has a table of its own
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

// InSession reports whether the snapshot has a point of the session; "" is any.
func (s *Snapshot) InSession(session string) bool {
	for _, p := range s.Points {
		if p.Session == session {
			return true
		}
	}
	return session == ""
}

// Foreign reports whether another system made the snapshot.
func (s *Snapshot) Foreign() bool { return s.Source != nil && s.Source.Kind != OwnKind }

// OfRestore reports whether only restores have taken the snapshot: nobody
// recorded that state on purpose. A label that it was given later changes nothing
// of that.
func (s *Snapshot) OfRestore() bool {
	onPurpose := func(p Point) bool { return !p.ofRestore() && !p.Later }
	return slices.ContainsFunc(s.Points, Point.ofRestore) && !slices.ContainsFunc(s.Points, onPurpose)
}

// Knows reports whether a point says nothing new. What merely triggered a
// snapshot of a state that was there already is not worth a record, but that
// somebody wanted it is, where until then only restores did.
func (s *Snapshot) Knows(p Point) bool {
	if p.ofRestore() {
		return true
	}
	if s.OfRestore() {
		return false
	}
	return p.Same(Point{Trigger: p.Trigger}) || slices.ContainsFunc(s.Points, p.Same)
}

// A Point says what a snapshot was taken for. All fields are the caller's.
type Point struct {
	Label   string    `json:"label,omitempty"`
	Session string    `json:"session,omitempty"`
	Entry   string    `json:"entry,omitempty"`
	Trigger string    `json:"trigger,omitempty"`
	Agent   string    `json:"agent,omitempty"`  // the program whose session it is, where no ledger of ours tells of it
	Prompt  string    `json:"prompt,omitempty"` // how the prompt begins that the entry belongs to
	Later   bool      `json:"later,omitempty"`  // the label was given after the snapshot was recorded; it says nothing else
	Time    time.Time `json:"time"`
}

// TriggerUndo is what a restore, undo or redo takes its snapshot of the present
// for. Alone in a point it is theirs: nobody else may use it so.
const TriggerUndo = "undo"

// ofRestore reports whether a restore made the point, not somebody who wanted
// the state recorded.
func (p Point) ofRestore() bool { return p.Same(Point{Trigger: TriggerUndo}) }

// Same reports whether two points say the same, whenever they were made.
func (p Point) Same(q Point) bool {
	p.Time, q.Time = time.Time{}, time.Time{}
	return p == q
}

// What holds the objects that a snapshot names, as its record says it. An
// object is held if it is durably in the store, or durably in git and reachable
// from the store ref. That git has it holds nothing: a collection or a loss of
// power may take what our ref does not reach (docs/decisions/0005-bridge.md).
const (
	HeldByStore = "store" // the store has all of it
	HeldByGit   = "git"   // some of its contents are in git alone, where our ref keeps them
)

// A Source says where a snapshot comes from that has no record of the usual
// kind: a checkpoint of another system, or a snapshot of ours of which git has
// the commit and the store nothing any more.
type Source struct {
	Kind   string `json:"kind"`          // the system; [OwnKind] for our own
	Ref    string `json:"ref,omitempty"` // one of those that keep it, or kept it
	Commit oid.ID `json:"commit"`        // in git
}

// OwnKind is the source of a snapshot whose record is lost.
const OwnKind = "rewind"

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

// lacksOverlay reports whether the record was made from the commit alone, after the
// store was lost that had the overlay.
func (s *Snapshot) lacksOverlay() bool { return s.Limits != nil && !s.Limits.Overlay.IsZero() }
