package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/watched"
	"github.com/seed-82afce7a/rewind/internal/durable"
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
