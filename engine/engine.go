package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/blame"
	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// The conditions a caller may want to tell apart. Errors of the methods wrap
// them; test with [errors.Is].
var (
	ErrNoSnapshot = lookup.ErrNoSnapshot        // what was named is not there: a snapshot, or a path of one
	ErrAmbiguous  = lookup.ErrAmbiguous         // what was named may be several
	ErrDamaged    = records.ErrDamaged          // the store, git or an object cannot be read as it was written
	ErrRefused    = records.ErrRefused          // it could be done, and is not: the text says why, and what to do
	ErrNothing    = errors.New("nothing to do") // of an undo or a redo: there is nothing to take back
	ErrUnfinished = objects.ErrUnfinished       // of a restore: the next command finishes it, undo takes it back
)

// Options say how to open a worktree. The zero value is right for a person at
// a shell.
type Options struct {
	Force     bool                // also protect "/", the home directory, or a directory above the store
	NoGit     bool                // leave git out even inside a repository
	NoStore   bool                // open no store: what is about settings, and [Engine.Uninstall], need none
	Getenv    func(string) string // environment; nil: the process's
	Recovered func(*Restored)     // told when an operation that was interrupted has been finished on the way to what was asked for; may be nil
	Progress  func(Progress)      // told now and then how far a long step is; may be nil; called from one goroutine at a time

	// Lend asks a process that watches the worktree at root for one turn of its [Watch],
	// by Lend of that: what changed. Whatever goes wrong, everything is looked at; nil:
	// nobody is asked.
	Lend func(ctx context.Context, root string) (text []byte, back func([]byte), ok bool)

	// AutoPush is told the name of the remote when a snapshot was taken and rewind.autoPush names one. It must not wait. May be nil.
	AutoPush func(e *Engine, remote string)
}

// Progress says how far a long step is.
type Progress struct {
	Step        string // "scan", "restore", "verify"
	Done, Total int    // files; Total is 0 while unknown
	Bytes       int64  // read or written so far
}

// A Restored says what a restore did.
type Restored struct {
	ID        ID   // the snapshot that was restored
	Undo      ID   // the snapshot of the state before, to which Undo returns, or Redo; zero: nothing had to change, and there is nothing to take back
	Undid     bool // it was an undo: Redo returns
	Written   int  // files, links and directories made or changed
	Deleted   int
	Kept      []Note // paths that stay although the snapshot does not have them, or has something else, with the reason
	Conflicts []Note // paths that could not be restored; what was there is still there
	Marked    []Note // files that have conflicts between markers now: of a merge that was asked for them
	Damaged   bool   // among the conflicts are contents that could not be read back
	Bridge    error  // not nil: the snapshot of the state before is in the store, but is not in git yet

	// Renewed are paths of which the record was damaged; it was made anew from
	// what was on disk before that was replaced.
	Renewed []Note

	// Recovered is what was done before, to finish an operation that had been
	// interrupted; nil if there was none.
	Recovered *Restored
}

// An Engine is one worktree with its store. It may be used by many goroutines,
// and many processes may have one on the same worktree; it holds no lock
// between calls. Close it when done.
type Engine struct {
	root      string          // absolute, symbolic links resolved
	key       string          // names the worktree in the store
	birth     string          // tells its directory from others that have or had that name
	alg       oid.Algorithm   // of every id
	repo      *gitbridge.Repo // nil without git
	movedFrom string          // where the directory was when its store was last written; "": here
	aside     string          // says that git is left out of a directory that has it, and why; "": it is not
	dir       string          // where the store lies
	ownDir    string          // of this worktree alone: the stat table and the operation lock lie there
	opt       Options
	watch     *Watch  // of a program that lives on; may be nil
	beside    *Engine // the worktree of whose store this is a fork; nil: the store is where it belongs
	conf      *settings.Settings
	git       *gitconf.Config // the repository's configuration; nil without git
	now       func() time.Time
	seen      func()                          // a test's hook after a scan
	counted   func(worktree.Counters)         // and what that did
	free      func(dir string) (int64, error) // a test's free space; nil: the disk's

	objects *objects.Objects // of the store and of git
	mirror  *mirror.Mirror   // the way into git
	lookup  *lookup.Reader   // finds and lists snapshots

	mu     sync.Mutex // guards what follows
	store  *cas.Store // nil until it exists
	closed bool
}

// Root returns the worktree's directory, absolute and without symbolic links.
func (e *Engine) Root() string { return e.root }

// progress adapts the caller's progress function to a counting step.
func (e *Engine) progress(step string) func(done, total int) {
	if e.opt.Progress == nil {
		return nil
	}
	return func(done, total int) { e.opt.Progress(Progress{Step: step, Done: done, Total: total}) }
}

// The files beside one another in the store's directory.
const (
	storeFile     = locate.StoreFile
	statTableFile = locate.StatTableFile
	lockFile      = locate.LockFile
)

// What the engine hands out is made in packages below it.
type (
	// An ID names a content, a tree or a snapshot: String is its digits, Short the first
	// of them; the zero one, IsZero, names nothing.
	ID = oid.ID
	// A Snapshot is a recorded state of a worktree. It has an ID, a Time, the Branch and
	// the Head of git then, the Points that it was taken for, the Skipped paths with the
	// reason, and Changed, where that was asked for. Where another system made it Source
	// says which; Lost says why it cannot be restored as a whole any more. Label is its
	// newest label; OfRestore reports whether only restores have taken it.
	Snapshot = records.Snapshot
	// A Point says what a snapshot was taken for: Label, Session, Entry, Trigger, Agent,
	// Prompt, as [SnapshotOptions] have them, and at what Time.
	Point = records.Point
	// A Note names a Path, with the Reason why it was left out, kept or not restored.
	Note = records.Note
	// A Path is a slash-separated path below the worktree, bytes as on disk.
	Path = records.Path
	// An Operation is a restore, an undo, a redo or a merge, as Kind says: From what was
	// there To a snapshot, within Paths; when it Started and Ended, and whether it was
	// Partial.
	Operation = records.Operation
	// A Line is one of a file ([Engine.Blame]): its Number and Text, the snapshot that it
	// is From, nil if it is not recorded yet, and the Path of the file there. Older says
	// that it may be older than that.
	Line = blame.Line
	// A Changed sums up what a snapshot changed: how many Files and Dirs, lines that were
	// Added and Removed, and the Names of what changed; if they are Coarse, directories in
	// which it did. Of a name, From is what it was called before; Told counts a file that
	// was renamed once. Nothing of that is known unless Known is set.
	Changed = changes.Changed
	// A Touch is a Snapshot that changed a path ([Engine.Log]): its Base, the Path as it
	// was called there, git's letter as Status, R where it was called From before, and as
	// Sum what changed there.
	Touch = lookup.Touch
	// A Store is one of a directory without git: of which Directory, in what State that is,
	// how many Bytes and Snapshots it has. Remove removes it with all its history.
	Store = locate.Store
)
