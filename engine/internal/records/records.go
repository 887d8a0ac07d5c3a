// Package records is what the store says of snapshots: their records, the
// history of undo and redo, the worktrees that share the store, names, and what
// git still has to learn. It alone knows the store's tables and the form of
// their rows.
//
// What is read is checked: a row that cannot be understood is [ErrDamaged] and
// named by its key, never a wrong value. What an [Update] writes is durable when
// its transaction is over, all of it or nothing. The package knows no file of a
// worktree and nothing of git, but that there is one.
package records

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
)

// ErrDamaged is reported of what the store has and cannot be read.
var ErrDamaged = errors.New("damaged")

// ErrRefused is reported of what is not done, here or in any other package, although it could be.
var ErrRefused = errors.New("refused")

// The tables of the store.
const (
	tableSnapshots  = "snapshots"    // sequence → Snapshot
	tableByID       = "snapshot-ids" // id → sequence
	tableOperations = "operations"   // sequence → Operation
	tableHistories  = "histories"    // key of a worktree → historyRow
	tableWorktrees  = "worktrees"    // key → Worktree
	tablePending    = "pending"      // sequence → id of a snapshot that may not be in git yet
	tablePins       = "pins"         // name → snapshot id
	tableDropped    = "dropped"      // id of a snapshot that the store dropped and the ref still has → 1
	tableRenamed    = "renamed"      // id that a snapshot had before a purge → its id now
	tableNotices    = "notices"      // what was said once → of which paths
	tableLost       = "lost"         // id of a snapshot that is not whole any more → why
	tableLeftovers  = "leftovers"    // worktree and path of a temporary file that a restore could not remove → 1
	tableChanges    = "changes"      // sequence of a snapshot → Changed
	tablePlaces     = "places"       // directory in which an agent's sessions lie → what it is
	tableKept       = "kept"         // the ref → up to where it was found to keep everything
)

// set is the value of a row whose key says all.
var set = []byte{1}

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// An Owner is the worktree for which the store is read and written.
type Owner struct {
	Key   string           // names it in the store
	Birth string           // tells its directory from others that have or had that name; "" where the system does not tell
	Root  Path             // where it is
	Git   bool             // its snapshots go into git
	Now   func() time.Time // for what is ended without its own doing
}

// A View is the store at one moment, with its records. It is for one goroutine,
// and ends with the function that it was made in.
type View struct {
	*cas.View
	owner *Owner
}

// In returns the records of a store that is open for reading.
func In(v *cas.View, owner *Owner) *View { return &View{View: v, owner: owner} }

// Read returns what a function reads of the records. View opens the store; without one it
// calls nothing, and nothing is returned.
func Read[T any](ctx context.Context, view func(context.Context, func(*View) error) error, f func(*View) (T, error)) (out T, err error) {
	err = view(ctx, func(v *View) error {
		out, err = f(v)
		return err
	})
	return out, err
}

// An Update is a View that also writes. It sees what it has written.
type Update struct{ View }

// Change returns the records of a store that is open for writing.
func Change(u *cas.Update, owner *Owner) *Update {
	return &Update{View{View: &u.View, owner: owner}}
}
