package engine

import (
	"cmp"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// The verbs of an [Op] that have a meaning of their own.
const (
	Undo = records.KindUndo // takes back the newest restore, redo or merge that was not taken back yet
	Redo = records.KindRedo // takes back the newest undo, if nothing was restored since
)

// An Op is a change of the files of a worktree: a restore, an undo, a redo, or a
// merge. [Engine.Plan] tells what it would do, [Engine.Do] does it.
//
// An undo takes back a restore, a redo or a merge: it restores the snapshot that was
// made just before it, within the same paths. It is an operation of its own, which
// a redo takes back. Where there is nothing to take back it is [ErrNothing].
//
// A merge brings to the present what changed in some ranges of history, one after the
// other: a three-way merge of each path, of which the base is what the beginning of
// the range has, theirs what its end has, and ours the present. What the present has
// already is no conflict. A path that cannot be merged stays as it is, and is a
// conflict with its reason; decision 0024 has the rules. The files stand where they
// stood before.
type Op struct {
	Verb string // [Undo], [Redo], or the name of a merge, such as "revert"; empty: a restore

	// To is the snapshot that is restored. Of an undo or a redo it is the one that has
	// to be restored by it, for a plan was of that; zero: whichever it is.
	To ID

	// Ranges are what is merged. Nothing else has any.
	Ranges []Range

	// Paths limit a restore or a merge to these paths, slash-separated below the
	// worktree, and to what lies below them; empty: everything. A path that exists, in
	// the snapshot or on disk, means itself. Another one with glob characters is a
	// pattern with the rules of gitignore(5): without a slash it matches a name in any
	// directory, and `**` any directories. Before a path ":(literal)" and
	// ":(glob)" say which it is, and ":(prefix:N)" that its first N bytes, a
	// directory with its slash, are no pattern and the pattern begins there.
	Paths []string

	// Ignored says that ignored files which are there, and differ, go back too. Else
	// those alone that are gone.
	Ignored bool

	// KeepMine, of a restore, says that what changed since the last snapshot of an
	// agent's turn stays, merged with what is restored.
	KeepMine bool

	// Markers, of a merge, says that a text which cannot be merged gets both versions,
	// between markers, and is named. Else it stays as it is. Label stands behind the
	// markers, for what is merged in.
	Markers bool
	Label   string

	// Edits, of a restore, give some of the files other contents than the snapshot has:
	// parts of it, for instance. Each change is what a plan of the same restore says of
	// the path. If the file has something else when the restore begins, it stays, and is a
	// conflict: the content was made for what was there. Then Paths may not be empty, for
	// the worktree as a whole does not become what the snapshot is.
	Edits map[Change][]byte

	// Agreed, if it is not nil, is given the plan that is about to be carried out, before
	// anything is recorded or changed. Its error ends the operation: whoever was
	// shown a plan agreed to no other. What finishes an interrupted undo or redo is not asked.
	Agreed func(*Diff) error
}

// A Range is what changed from one snapshot to another. With its ends exchanged it is what
// takes that back.
type Range struct{ From, To ID }

// kind is what the operation is called in the history.
func (op *Op) kind() string { return cmp.Or(op.Verb, records.KindRestore) }

// takesBack reports whether it is an undo or a redo.
func (op *Op) takesBack() bool { return op.Verb == Undo || op.Verb == Redo }

// merges reports whether it is a merge.
func (op *Op) merges() bool { return !op.takesBack() && op.kind() != records.KindRestore }

// check is an error if an operation cannot be meant.
func (op *Op) check() error {
	limited := len(op.Paths)+len(op.Edits) > 0 || op.Ignored || op.KeepMine || op.Markers
	switch {
	case op.merges() && len(op.Ranges) == 0:
		return fmt.Errorf("%w: nothing is to be merged", ErrRefused)
	case op.merges() && (len(op.Edits) > 0 || op.KeepMine):
		return fmt.Errorf("%w: a merge takes no edits, and keeps everybody's changes", ErrRefused)
	case op.takesBack() && limited:
		return fmt.Errorf("%w: an undo or a redo goes as far as what it takes back", ErrRefused)
	case !op.merges() && len(op.Ranges) > 0, op.merges() && !op.To.IsZero():
		return fmt.Errorf("%w: a merge is of ranges, and a restore of a snapshot", ErrRefused)
	}
	return op.checkEdits()
}

// checkEdits is an error if its edits cannot be part of a restore.
func (op *Op) checkEdits() error {
	if len(op.Edits) > 0 && (len(op.Paths) == 0 || op.KeepMine) {
		return fmt.Errorf("%w: a restore with edits has to name its paths, and is no merge", ErrRefused)
	}
	for ed := range op.Edits {
		if tree.Mode(ed.To.Mode).Type() != tree.File {
			return fmt.Errorf("%w: %q becomes no file, so it cannot be edited", ErrRefused, ed.Path)
		}
	}
	return nil
}

// editsOf returns what the edits want at their paths, and their contents.
func editsOf(edits map[Change][]byte, alg oid.Algorithm) (wanted map[string]plan.Edit, texts map[oid.ID][]byte) {
	wanted, texts = map[string]plan.Edit{}, map[oid.ID][]byte{}
	for ed, content := range edits {
		id := alg.Sum(oid.Blob, content)
		texts[id] = content
		wanted[string(ed.Path)] = plan.Edit{
			Have: apply.Node{Mode: tree.Mode(ed.From.Mode), ID: ed.From.ID},
			Want: apply.Node{Mode: tree.Mode(ed.To.Mode), ID: id},
		}
	}
	return wanted, texts
}
