package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// unwatchedFile is beside the stat table, and says what the watcher missed in this
// worktree. While it is there nothing is watched.
const unwatchedFile = "watch.off"

const unwatchedBytesMax = 8 << 10

// A Watch is of a program that lives on. It opens the worktree anew for each turn, so
// that each sees the settings, the branch and the store as they are then, and lets
// snapshots look only where something changed: it watches the directories, and keeps
// what the last scan saw. What only keeps git's side in order is left to the time
// between two turns ([Watch.Rest]). Whoever records next does all of that as well, be
// it another process. It holds no lock that another process could wait for.
//
// The zero Watch is ready. Turns follow one another. Close it when done.
type Watch struct {
	// What is kept of the worktree between two turns. Any and Missed are set before the
	// first turn: that it is watched however few files it has, and who is told that the
	// watcher has missed something, and everything is looked at again. Stirred tells when
	// something last changed, Hopeless that it will not be watched any more. Lend lends a
	// turn to another process ([Options]).
	watched.Tree

	upkeep mirror.Upkeep
	last   *Engine // nil: nothing is open
}

// Open is [Open] for a turn. It closes the engine of the turn before. What that one holds
// open is taken over where it still is what would be opened.
func (w *Watch) Open(ctx context.Context, dir string, opt *Options) (*Engine, error) {
	e, old := &Engine{watch: w}, &Engine{}
	if w.last.isOpen() {
		old = w.last
	}
	next, err := e.open(ctx, dir, opt, old)
	w.last = next
	go old.Close() // beside what comes next: to give back large packs takes some tenths of a millisecond
	return next, err
}

// State tells whether the next snapshot looks only where something changed, and if not,
// why.
func (w *Watch) State() (watched bool, why string) {
	if w == nil {
		return false, ""
	}
	return w.Tree.State()
}

// Due reports whether there is something to do for [Watch.Rest].
func (w *Watch) Due() bool { return w.last.isOpen() && w.upkeep.Due() }

// Rest does what turns have left. What fails is tried again after the next turn.
func (w *Watch) Rest(ctx context.Context) error {
	if !w.last.isOpen() {
		return nil
	}
	return w.upkeep.Run(ctx)
}

// Close ends the watching, and closes the engine of the last turn.
func (w *Watch) Close() error {
	w.Tree.Close()
	if w.last == nil {
		return nil
	}
	return w.last.Close()
}

// isOpen reports whether an engine, which may be nil, was not closed.
func (e *Engine) isOpen() bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.closed
}

// rest is what a turn leaves for later; nil: it leaves nothing.
func (w *Watch) rest() *mirror.Upkeep {
	if w == nil {
		return nil
	}
	return &w.upkeep
}

// beginTurn begins a turn of a worktree that may be watched. What the audit found
// since the last one is kept for all later ones.
func (e *Engine) beginTurn(ctx context.Context) *watched.Turn {
	if e.watch == nil {
		return e.borrowTurn(ctx)
	}
	turn := e.watch.Begin(ctx, e.root, e.conf.WatchFrom, e.unwatched())
	if turn.Missed != "" {
		note := filepath.Join(e.ownDir, unwatchedFile)
		if err := errors.Join(durable.MakeDir(e.ownDir), durable.WriteFile(note, []byte(turn.Missed+"\n"), 0o600)); err != nil {
			e.conf.Warn("what the watcher missed cannot be noted: " + err.Error())
		}
	}
	return turn
}

// borrowTurn is a turn that another process lends, if there is one that watches.
func (e *Engine) borrowTurn(ctx context.Context) *watched.Turn {
	if e.opt.Lend == nil || e.unwatched() != "" {
		return &watched.Turn{}
	}
	text, back, ok := e.opt.Lend(ctx, e.root)
	if !ok {
		return &watched.Turn{}
	}
	return watched.Borrow(filepath.Join(e.ownDir, statTableFile), text, back)
}

// Warm looks at everything, for a program that lives on: later on it looks only where
// something changed, as soon as the worktree is watched. It records nothing. Where there
// is no snapshot yet it is left to the first one.
func (e *Engine) Warm(ctx context.Context) error {
	turn := e.beginTurn(ctx)
	defer turn.Close()
	if turn.Only() != nil || e.conf.WatchFrom < 0 {
		return nil
	}
	c, err := e.look(ctx, turn)
	if err != nil {
		return err
	}
	defer c.Close()
	e.looked(c, turn)
	return nil
}

// missed says what a watcher missed in this worktree, and how to watch it again; ""
// if nothing.
func (e *Engine) missed() (string, error) {
	note := filepath.Join(e.ownDir, unwatchedFile)
	if _, err := os.Lstat(note); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	text, err := durable.ReadFile(note, unwatchedBytesMax)
	return strings.TrimSpace(string(text)) + "; delete " + note + " to watch again", err
}

// unwatched says why the worktree is not to be watched, "" if it is.
func (e *Engine) unwatched() string {
	if e.conf.WatchFrom < 0 {
		return "rewind.watch is false"
	}
	what, err := e.missed()
	if err != nil {
		return err.Error()
	}
	return what
}
