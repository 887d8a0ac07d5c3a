package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// unwatchedFile is beside the stat table, and says what the watcher missed in this
// worktree. While it is there nothing is watched.
const unwatchedFile = "watch.off"

const unwatchedBytesMax = 8 << 10

// beginTurn begins a turn of a worktree that may be watched. What the audit found
// since the last one is kept for all later ones.
func (e *Engine) beginTurn(ctx context.Context) *watched.Turn {
	if e.opt.Watch == nil {
		return &watched.Turn{}
	}
	turn := e.opt.Watch.Begin(ctx, e.root, e.conf.WatchFrom, e.unwatched())
	if turn.Missed != "" {
		note := filepath.Join(e.ownDir, unwatchedFile)
		if err := errors.Join(durable.MakeDir(e.ownDir), durable.WriteFile(note, []byte(turn.Missed+"\n"), 0o600)); err != nil {
			e.conf.Warn("what the watcher missed cannot be noted: " + err.Error())
		}
	}
	return turn
}

// Warm looks at everything, for a program that lives on: later snapshots look only
// where something changed, as soon as the worktree is watched. It records nothing.
// What is in no snapshot yet is left to the first one.
func (e *Engine) Warm(ctx context.Context) error {
	turn := e.beginTurn(ctx)
	defer turn.Close()
	if turn.Only() != nil || e.conf.WatchFrom < 0 {
		return nil
	}
	place := e.place()
	place.Base = turn.Base
	c, err := e.lookAt(ctx, place, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if !c.Same(c.Last) || c.Rechecked {
		return nil
	}
	return e.saveStatTable(c.Last.ID, func(store string, id oid.ID) error { return turn.End(c, store, id) })
}

// Watching says what rewind.watch says: that the worktree is to be watched always,
// or never; neither: where that is worth it.
func (e *Engine) Watching() (always, never bool) { return e.conf.WatchFrom == 0, e.conf.WatchFrom < 0 }

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
