package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Record is a snapshot as list and show tell it.
type Record struct {
	ID       string         `json:"id"`
	Tree     string         `json:"tree"`
	Overlay  string         `json:"overlay,omitempty"`
	Time     time.Time      `json:"time"`
	Worktree string         `json:"worktree"`
	Branch   string         `json:"branch,omitempty"`
	Head     string         `json:"head,omitempty"`
	Label    string         `json:"label,omitempty"`
	Points   []engine.Point `json:"points"`
	Skipped  []Note         `json:"skipped"`
	Source   *source        `json:"source,omitempty"`
	Lost     string         `json:"lost,omitempty"`   // why it is not whole any more: git lost what it alone had
	Limits   []string       `json:"limits,omitempty"` // what it could not have contained

	OfRestore bool     `json:"of_restore,omitempty"` // it is an undo snapshot
	Names     []string `json:"names,omitempty"`      // those of the form undo:N
	Here      bool     `json:"here,omitempty"`       // the files stand at it
	Pins      []string `json:"pins,omitempty"`       // the names of its pins

	Changed *changed `json:"changed,omitempty"` // what it changed since `base`; not there: not known
}

// A changed says how much a snapshot changed since its base, the snapshot at which
// the files stood before it.
type changed struct {
	Base  string `json:"base,omitempty"` // where the files stood before it; none of the first of a history
	Files int    `json:"files"`
	Dirs  int    `json:"dirs,omitempty"`
	Lines
	Opaque int           `json:"uncounted,omitempty"` // files of which the lines, `added` and `removed`, are not counted
	Names  []changedName `json:"names"`               // with `coarse` of directories, with how many files changed in each
	Coarse bool          `json:"coarse,omitempty"`
}

// A changedName is a path that a snapshot changed or, of a coarse [changed], a
// directory in which it changed so many files.
type changedName struct {
	Path
	Status string `json:"status,omitempty"`
	From   *Path  `json:"from,omitempty"` // what it was called before, with the same content: the old name is a change of its own
	Dir    bool   `json:"dir,omitempty"`
	Files  int    `json:"files,omitempty"`
	*Lines
}

func newChanged(c *engine.Changed) *changed {
	if c == nil || !c.Known {
		return nil
	}
	out := &changed{
		Base: c.Base.String(), Files: c.Files, Dirs: c.Dirs, Lines: Lines{c.Added, c.Removed}, Opaque: c.Opaque,
		Names: []changedName{}, Coarse: c.Coarse,
	}
	for _, n := range c.Names {
		name := changedName{Path: NewPath(engine.Path(n.Path)), Dir: n.Dir, Files: n.Files}
		name.From = pathOf(engine.Path(n.From))
		if n.Status != 0 {
			name.Status = string(n.Status)
		}
		if n.Counted {
			name.Lines = &Lines{n.Added, n.Removed}
		}
		out.Names = append(out.Names, name)
	}
	return out
}

// A source is where a snapshot comes from that has no record of the usual kind.
type source struct {
	Kind   string `json:"kind"`
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit"`
}

func newRecord(s *engine.Snapshot) Record {
	r := Record{
		ID: s.ID.String(), Tree: s.Tree.String(), Overlay: s.Overlay.String(), Time: s.Time, Worktree: s.Where,
		Branch: s.Branch, Head: s.Head.String(), Label: s.Label(), Points: s.Points, Skipped: Notes(s.Skipped),
		Limits: Limits(s), Lost: s.Lost, OfRestore: s.OfRestore(), Changed: newChanged(s.Changed),
	}
	if r.Points == nil {
		r.Points = []engine.Point{}
	}
	if from := s.Source; from != nil {
		r.Source = &source{Kind: from.Kind, Ref: from.Ref, Commit: from.Commit.String()}
	}
	return r
}

func newRecords(list []*engine.Snapshot) []Record {
	out := make([]Record, 0, len(list))
	for _, s := range list {
		out = append(out, newRecord(s))
	}
	return out
}

// Limits says in sentences what a snapshot could not have contained.
func Limits(s *engine.Snapshot) (out []string) {
	g := s.Limits
	if g == nil {
		return nil
	}
	if g.Incomplete {
		out = append(out, "it may be the last commit instead of the files; a restore deletes nothing")
	}
	if g.GitOnly {
		out = append(out, "permissions, empty directories and nested repositories are not in it")
	}
	if !g.Overlay.IsZero() {
		out = append(out, "what git cannot hold of it was in the store, which is gone")
	}
	if g.FreshIndex {
		out = append(out, "tracked files that are ignored are not in it")
	}
	if len(g.Names) > 0 {
		out = append(out, "untracked paths with these names are not in it: "+strings.Join(g.Names, " "))
	}
	switch n := len(g.Paths); {
	case n == 1:
		out = append(out, "1 path may have been left out")
	case n > 1:
		out = append(out, fmt.Sprintf("%d paths may have been left out", n))
	}
	return out
}

// A List is the answer of list.
type List struct {
	Snapshots []Record `json:"snapshots"`
}

// NewList tells of snapshots: which one the files stand at, nil if at none, what the
// operations of the worktree, newest first, have replaced, and what is pinned.
func NewList(list []*engine.Snapshot, here *engine.Snapshot, ops []*engine.Operation, pins map[oid.ID][]string) List {
	out := newRecords(list)
	names := map[string][]string{}
	for i, op := range ops {
		names[op.From.String()] = append(names[op.From.String()], fmt.Sprintf("undo:%d", i+1))
	}
	for i := range out {
		out[i].Names, out[i].Here = names[out[i].ID], here != nil && list[i].ID == here.ID
		out[i].Pins = pins[list[i].ID]
	}
	return List{out}
}

// A Log is the answer of log.
type Log struct {
	Path Path    `json:"asked"`
	Log  []touch `json:"log"`
}

// A touch is one snapshot that changed a path.
type touch struct {
	Path
	Status   string   `json:"status"`            // git's letter
	From     *Path    `json:"from,omitempty"`    // what it was called before, where the status is R
	Changed  *changed `json:"changed,omitempty"` // at the path and below it
	Snapshot Record   `json:"snapshot"`
}

// NewLog tells of the snapshots that changed a path.
func NewLog(path string, list []engine.Touch) Log {
	out := Log{NewPath(engine.Path(path)), []touch{}}
	for _, t := range list {
		one := touch{Path: NewPath(engine.Path(t.Path)), Status: string(t.Status), From: pathOf(engine.Path(t.From)), Changed: newChanged(t.Sum), Snapshot: newRecord(t.Snapshot)}
		one.Snapshot.Changed = nil // what it changed elsewhere was not asked for
		out.Log = append(out.Log, one)
	}
	return out
}

// A Shown is the answer of show.
type Shown struct {
	Record
	Changes []Change `json:"changes"`
}

// NewShown tells of a snapshot, and what it changed.
func NewShown(s *engine.Snapshot, changes []engine.Change) Shown {
	return Shown{newRecord(s), newChanges(changes)}
}

// A Change is one path at which two states differ.
type Change struct {
	Path
	Status  letter `json:"status"`         // A added, D deleted, M modified, T of another type
	From    *Path  `json:"from,omitempty"` // what it was called before, with the same content: the old name is a change of its own
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	*Lines
	Binary bool `json:"binary,omitempty"`
}

// A letter is git's for what a change is: one of A, D, M and T.
type letter string

// Lines counts the lines that a change of a file adds and removes.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

func newChange(c engine.Change) Change {
	out := Change{Path: NewPath(c.Path), Status: letter(c.Status())}
	if c.From.Mode != 0 {
		out.OldMode = fmt.Sprintf("%06o", c.From.Mode)
	}
	if c.To.Mode != 0 {
		out.NewMode = fmt.Sprintf("%06o", c.To.Mode)
	}
	return out
}

func newChanges(list []engine.Change) []Change {
	out := make([]Change, 0, len(list))
	renames, _ := (&engine.Diff{Changes: list}).Renames()
	for _, c := range list {
		one := newChange(c)
		one.From = pathOf(renames[c.Path])
		out = append(out, one)
	}
	return out
}

// A Difference is the answer of diff.
type Difference struct {
	Changes []Change `json:"changes"`

	Unfinished string `json:"unfinished,omitempty"` // the worktree is as an interrupted restore left it
}

// NewDifference tells of changes. Count, if it is not nil, counts the lines of
// each; nil lines: it is binary.
func NewDifference(list []engine.Change, count func(engine.Change) (*Lines, error)) (Difference, error) {
	d := Difference{Changes: newChanges(list)}
	for i, c := range list {
		if count == nil {
			break
		}
		lines, err := count(c)
		if err != nil {
			return d, err
		}
		d.Changes[i].Lines, d.Changes[i].Binary = lines, lines == nil
	}
	return d, nil
}
