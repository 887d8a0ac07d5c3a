// Package apply carries out the steps of a plan in a worktree: it writes,
// swaps and deletes the user's files.
//
// It promises:
//
//   - Nothing is lost. A step touches a path only while it holds what the plan
//     expects, which its maker has recorded; what changed since stays and is
//     reported. A file is never seen half-written under its own name.
//   - Nothing outside is touched. No step follows a symbolic link, leaves the
//     root, writes through a hard link, or writes below a ".git", whatever
//     other processes rename meanwhile (see internal/dirfd for what systems
//     other than Linux cannot promise, and for what is weaker below 64 levels).
//   - A plan that was cut short can be finished: [Apply] with
//     [Options.Replay] does what is left.
//   - A nil error means that everything done survives a loss of power.
//
// It knows no store, no snapshot and no git; and not why a step is wanted.
package apply

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// The reasons for which a step is not carried out; test with [errors.Is] on
// [Note.Err]. Any other error of a note is the system's or the Source's.
var (
	// ErrChanged: the path no longer holds what the plan expects.
	ErrChanged = errors.New("changed since the plan was made")
	// ErrUnsafe: the path could lead into a .git or out of the root.
	ErrUnsafe = errors.New("unsafe path")
	// ErrBlocked: a directory must go and holds what the plan does not delete.
	ErrBlocked = errors.New("directory holds files that are not part of the plan")
	// ErrPrivilege: the path holds what is wanted but for the bits setuid and
	// setgid. They let whoever runs the file act as its owner, and the owner is
	// whoever restores: nobody gets them who does not have them now.
	ErrPrivilege = errors.New("without its setuid and setgid bits, which only chmod gives")
	// ErrOpen: others could read what would be written below a directory.
	ErrOpen = errors.New("the directory around it could not be closed to others")
	// ErrContent: the Source gave something else than was asked for.
	ErrContent = errors.New("content does not have its id")
)

// A Source writes the whole content with an id, that of a file or the target
// of a symbolic link, to w. It is called by several goroutines at once. If it
// fails after it wrote, what it wrote is thrown away. Checked says that it has compared
// what it wrote with the id; what it has not is compared here.
type Source func(ctx context.Context, id oid.ID, w io.Writer) (checked bool, err error)

// Options of [Apply]. Alg is required; otherwise the zero value is
// recommended.
type Options struct {
	Alg oid.Algorithm // of the ids in the plan

	// Key makes the names of temporary files. Journal a random one with the
	// plan and pass it to every run of it: then a run with Replay recognises,
	// by name, what an earlier one left behind. Empty: a random key.
	Key string

	// Replay finishes a plan whose earlier run was cut short. A path that
	// holds what is wanted is done, one that holds what was there is carried
	// out, and anything else is a conflict; contents decide, because stat data
	// may not have survived.
	Replay bool

	// Refuse names paths that must stay as they are although the plan expects
	// what is there, and why: it could not be kept.
	Refuse map[string]error

	// Progress is told, by one goroutine at a time, how many steps are done.
	Progress func(done, total int)

	// Protected are directories (the store's, say) that nothing is written
	// into, by whatever path they are reached.
	Protected []string

	// For tests: hook is called before each change to the file system and
	// makes it fail; workers and uid are this process's if zero; noExchange
	// plays a file system without it; noSync saves time where a test does not
	// play a loss of power.
	hook       func(op, path string) error
	workers    int
	uid        int
	noExchange bool
	noSync     bool
}

// A Note says why a path was left as it is.
type Note struct {
	Path   string
	Reason string
	Err    error `json:"-"` // what Reason was made of
}

// An Outcome is what became of the steps; notes are in path order. Every step that was reached is in
// exactly one of its fields, unless it changes nothing; a directory that was made but could not be given
// its permissions is in two.
type Outcome struct {
	Written   int      // steps that put at their path what was wanted there; of a replay also what was there before
	Deleted   int      // steps whose path is now free
	There     []string // where somebody else had put what was wanted, so that nothing was done; sorted
	Kept      []Note   // deletions not carried out because a directory holds other files
	Conflicts []Note   // steps not carried out
	Left      []string // temporary names of ours that could not be removed, sorted
}

// Apply carries out the steps, in an order of their own, below root.
//
// A step that cannot be carried out is a note in the outcome and hinders no
// other, also where what is mounted below the root is full, read-only or
// damaged. An error means that not all steps were reached: the context was
// cancelled (its error is returned), or the root's file system has no space or
// is damaged. Then the outcome tells what was done so far, each path is whole,
// and Apply with Replay finishes the plan.
//
// What is on disk afterwards has the exact permissions, but for ErrPrivilege, and a modification
// time greater than before where content changed. Owner, extended attributes
// and access lists of a replaced file are carried over as far as the system
// lets us, if it was this user's own, or the user is root. A directory that is to
// be closed to others is so before anything is written below it. The last bytes that another process writes through a descriptor it
// opened before a file was replaced go to the old file, as with any rename.
//
// One Apply at a time may work in a root; other processes may do there what
// they like.
func Apply(ctx context.Context, root string, steps []Step, src Source, opt *Options) (Outcome, error) {
	a, err := newApplier(root, src, opt)
	if err != nil {
		return Outcome{}, err
	}
	defer a.root.Close()
	steps = asStored(steps)
	a.total, a.progress = len(steps), a.Progress
	err = a.run(ctx, steps)
	for _, j := range a.left {
		a.abandon(j) // by now the directory may be back
	}
	if err == nil { // else some were not reached
		a.oneName(steps)
	}
	a.out.Left = a.sweepLeft()
	slices.Sort(a.out.There)
	err = errors.Join(err, a.closeDirs())
	if err == nil {
		err = a.sync()
	}
	byPath := func(a, b Note) int { return strings.Compare(a.Path, b.Path) }
	slices.SortStableFunc(a.out.Kept, byPath)
	slices.SortStableFunc(a.out.Conflicts, byPath)
	return a.out, err
}

type applier struct {
	Options
	src   Source
	root  *dirfd.Root
	guard []dirfd.Stat

	device uint64 // of the root
	local  bool   // its file system is on a disk of this machine

	tally                       // its lock guards what follows too
	vetted map[string]vetted    // directories that are no .git, by path
	opened map[string]tree.Mode // directories made writable, and what they were
	synced map[string]uint64    // directories written to, and their devices
	left   []job                // jobs whose directory could not be reached for the last act
	litter map[string]bool      // temporary names of ours that could not be removed
}

// A tally counts what became of the steps.
type tally struct {
	total    int
	progress func(done, total int) // may be nil

	mu     sync.Mutex // guards what follows
	out    Outcome
	done   int
	failed map[string]bool // what could not be made
}

func newApplier(root string, src Source, opt *Options) (*applier, error) {
	a := &applier{src: src, vetted: map[string]vetted{},
		opened: map[string]tree.Mode{}, synced: map[string]uint64{}, litter: map[string]bool{}}
	if opt != nil {
		a.Options = *opt
	}
	if a.Alg == 0 {
		return nil, errors.New("no hash algorithm is given")
	}
	if a.Key == "" {
		a.Key = rand.Text()
	}
	if a.workers == 0 {
		a.workers = min(runtime.GOMAXPROCS(0), 8)
	}
	if a.uid == 0 {
		a.uid = os.Geteuid()
	}
	for _, path := range a.Protected {
		if st, err := dirfd.StatDir(path); err == nil {
			a.guard = append(a.guard, st)
		}
	}
	var err error
	if a.root, err = dirfd.OpenRoot(root); err != nil {
		return nil, err
	}
	st, err := a.root.Stat()
	if err != nil {
		a.root.Close()
		return nil, err
	}
	a.device, a.local = st.Dev, a.root.Local()
	return a, nil
}
