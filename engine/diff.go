package engine

import (
	"cmp"
	"context"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Diff is the list of changes between two states, and a way to read the bytes of
// both sides: of what differs ([Engine.Diff]), or of what an operation will change,
// from the worktree as it is now ([Engine.Plan]). A side that is the worktree is read
// from disk.
type Diff struct {
	Changes []Change // in path order

	// Unfinished, if it is not nil, says that the worktree is as an interrupted
	// operation left it, which is finished first.
	Unfinished error

	// Ignored are, where the worktree is compared with nothing, the files that are
	// recorded although they are ignored (decision 0017).
	Ignored map[Path]bool

	// Most is how many bytes of a file Read gives; 0: 512 MiB.
	Most int

	// Of a plan: the snapshot that will be restored, the paths that stay although it
	// does not have them, or has something else, those that cannot be restored from
	// what it has, and those that will have conflicts between markers.
	Target                  *Snapshot
	Kept, Conflicts, Marked []Note

	e     *Engine
	live  liveSide
	steps []apply.Step
	told  int               // how many of them are changes to tell
	force []string          // ignored files that lie where the target has a file
	texts map[oid.ID][]byte // contents that are nowhere but here
}

// A liveSide says which side of a difference is the worktree.
type liveSide int

const (
	liveNone liveSide = iota
	liveFrom
	liveTo
)

// Diff compares two snapshots; with to nil, a snapshot with the worktree as it
// is now. With from nil it compares from nothing. Only the given paths, if any.
//
// What a snapshot left out is neither deleted nor added: nothing is known of
// it. In the worktree whatever the snapshot has is looked at, also where the
// rules of today leave it out. A path that neither side has is an [ErrNoSnapshot].
func (e *Engine) Diff(ctx context.Context, from, to *Snapshot, paths []string) (*Diff, error) {
	sel, err := plan.Select(paths, e.existsIn(ctx, from, to))
	if err != nil {
		return nil, err
	}
	d := &Diff{e: e, Ignored: map[Path]bool{}}
	if to != nil {
		o := plan.Objects{Algorithm: e.alg, Tree: e.objects.Trees(ctx, objects.Reading{})}
		if err := checkChosen(sel, o, from, side{to.State(), "snapshot " + to.ID.Short()}); err != nil {
			return nil, err
		}
		found, err := plan.Compare(e.target(from), e.target(to), sel, o)
		d.Changes = changesOf(found)
		return d, err
	}
	d.live = liveTo
	op, _, err := e.openOperation(ctx)
	if err != nil {
		return nil, err
	}
	d.Unfinished = shownUnfinished(op)
	err = e.lookFor(ctx, func(seen *present) ([]string, error) {
		o := plan.Objects{Algorithm: e.alg, Tree: seen.Trees}
		if err := checkChosen(sel, o, from, side{seen.State, whatIsNow}); err != nil {
			return nil, err
		}
		found, hidden, err := plan.CompareWith(e.target(from), seen.forPlan(), sel, o)
		d.Changes = changesOf(found)
		for i := 0; from == nil && i < len(found); i++ {
			if _, unasked, _ := seen.Class(found[i].Path); unasked {
				d.Ignored[Path(found[i].Path)] = true
			}
		}
		return hidden, err
	})
	return d, err
}

// A side is what a snapshot is compared with, and what it is called.
type side struct {
	state tree.State
	name  string
}

// checkChosen is an error if somebody chose a path that neither side has.
func checkChosen(sel *plan.Selection, o plan.Objects, from *Snapshot, to side) error {
	if from == nil {
		return nil
	}
	names, err := sel.Unknown(o, from.State(), to.state)
	if err != nil || len(names) == 0 {
		return objects.TreeError(err)
	}
	var nowhere []Note
	for _, name := range names {
		nowhere = append(nowhere, Note{Path: Path(name)})
	}
	return lookup.NotThere{Snapshot: from.ID, Paths: nowhere, Other: to.name}
}

// A Side is what one side of a change holds at its path.
type Side struct {
	Mode uint32 `json:"mode,omitempty"` // type and permission bits as stat(2) has them; 0: nothing
	ID   ID     `json:"id,omitzero"`    // of the content; zero for directories
}

// Dir reports whether the side holds a directory.
func (s Side) Dir() bool { return tree.Mode(s.Mode).IsDir() }

// Link reports whether the side holds a symbolic link, whose content is its target.
func (s Side) Link() bool { return tree.Mode(s.Mode).Type() == tree.Symlink }

// A Change is one path at which two states differ.
type Change struct {
	Path Path `json:"path"`
	From Side `json:"from,omitzero"`
	To   Side `json:"to,omitzero"`
}

// Status returns git's letter: A added, D deleted, M modified (content or
// permissions), T another type.
func (c Change) Status() byte {
	from, to := tree.Mode(c.From.Mode), tree.Mode(c.To.Mode)
	switch {
	case from == 0:
		return 'A'
	case to == 0:
		return 'D'
	case from.Type() != to.Type():
		return 'T'
	}
	return 'M'
}

// Renames says of paths that came what they were called before, and which names are
// such: what went has the same content, and is of the same kind. Of several the one
// with the same last name is taken, else the first; each once before the first is taken
// again. What is empty is never renamed.
func (d *Diff) Renames() (renames map[Path]Path, old map[Path]bool) {
	var either []changes.Change
	for _, c := range d.Changes {
		if status := c.Status(); status == 'A' || status == 'D' {
			from, to := changes.Side{Mode: tree.Mode(c.From.Mode), ID: c.From.ID}, changes.Side{Mode: tree.Mode(c.To.Mode), ID: c.To.ID}
			either = append(either, changes.Change{Path: string(c.Path), Status: status, From: from, To: to})
		}
	}
	renames, old = map[Path]Path{}, map[Path]bool{}
	for i, from := range changes.Renames(either) {
		renames[Path(either[i].Path)], old[Path(either[from].Path)] = Path(either[from].Path), true
	}
	return renames, old
}

func changesOf(list []plan.Change) []Change {
	if len(list) == 0 {
		return nil
	}
	out := make([]Change, 0, len(list))
	for _, c := range list {
		out = append(out, changeOf(c.Path, c.From, c.To))
	}
	return out
}

func changeOf(path string, from, to apply.Node) Change {
	return Change{Path: Path(path), From: Side{Mode: uint32(from.Mode), ID: from.ID}, To: Side{Mode: uint32(to.Mode), ID: to.ID}}
}

// tell makes the changes of a plan from its steps. A million are a list of their own, which
// an operation that nobody looks at does without.
func (d *Diff) tell() {
	for i := range d.steps[:d.told] {
		s := &d.steps[i]
		d.Changes = append(d.Changes, changeOf(s.Path, s.Have, s.Want))
	}
}

// diffBytesMax is how much of a file is read to compare its lines. git calls
// larger files binary.
const diffBytesMax = 512 << 20

// Read returns the bytes of one side of a change: the To side if new is set.
// The target of a symbolic link is its content; a side that holds a directory
// or nothing has no bytes. A file of the worktree is read as it is now, and an
// error if it is gone. Not whole: it is larger than Most, and these are its first
// bytes.
func (d *Diff) Read(ctx context.Context, c Change, new bool) (data []byte, whole bool, err error) {
	side := c.From
	if new {
		side = c.To
	}
	if side.Mode == 0 || side.Dir() {
		return nil, true, nil
	}
	if d.live == liveTo && new || d.live == liveFrom && !new {
		return dirfd.ReadBelow(d.e.root, string(c.Path), side.Link(), cmp.Or(d.Most, diffBytesMax))
	}
	if text, ok := d.texts[side.ID]; ok {
		return text, true, nil
	}
	return d.e.objects.Beginning(ctx, side.ID, cmp.Or(d.Most, diffBytesMax))
}

// A differ compares snapshots as a restore would.
type differ struct{ e *Engine }

func (d differ) Compare(base, s *Snapshot, trees tree.Loader) (list []changes.Change, err error) {
	found, err := plan.Compare(d.e.target(base), d.e.target(s), new(plan.Selection), plan.Objects{Algorithm: d.e.alg, Tree: trees})
	for i, change := range changesOf(found) {
		from, to := found[i].From, found[i].To
		list = append(list, changes.Change{Path: found[i].Path, Status: change.Status(), From: changes.Side(from), To: changes.Side(to)})
	}
	return list, objects.TreeError(err)
}

func (d differ) Touches(base, s *Snapshot, paths lookup.Selection, trees tree.Loader) (bool, error) {
	yes, err := plan.Touches(d.e.target(base), d.e.target(s), paths.(*plan.Selection), plan.Objects{Algorithm: d.e.alg, Tree: trees})
	return yes, objects.TreeError(err)
}
