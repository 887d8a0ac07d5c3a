//go:build !linux && !windows && !darwin

package watch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// Late says that the system tells of a write only when the file is closed.
const Late = false

// A Watcher watches directories. There is none on this system yet.
type Watcher struct{}

// New reports that directories cannot be watched on this system.
func New(string) (*Watcher, error) {
	return nil, unable("on this system rewind looks at all files each time", errors.ErrUnsupported)
}

// Add begins to watch a directory.
func (w *Watcher) Add(string) error { return nil }

// Watches reports whether a directory was added and has not been deleted since.
func (w *Watcher) Watches(string) bool { return false }

// Remove ends that.
func (w *Watcher) Remove(string) {}

// Open notes that somebody has a file open for writing.
func (w *Watcher) Open(string) {}

// Last returns when something was last told.
func (w *Watcher) Last() time.Time { return time.Time{} }

// Stirs is sent to when something was told.
func (w *Watcher) Stirs() <-chan struct{} { return nil }

// Take returns what may have changed.
func (w *Watcher) Take(context.Context) (*worktree.Changes, error) { return nil, doubt("not watched") }

// Close ends the watching.
func (w *Watcher) Close() {}
