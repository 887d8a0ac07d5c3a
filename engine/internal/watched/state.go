package watched

import (
	"sync/atomic"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/watch"
)

// A shown state is what is told of a tree while a turn is under way: one that is lent to
// another process may take as long as that likes.
type shown struct {
	watched atomic.Bool
	why     atomic.Pointer[string]
	watcher atomic.Pointer[watch.Watcher]
}

// show notes the state, under the mutex.
func (t *Tree) show() {
	t.shown.watched.Store(t.armed && t.standing)
	why := t.why
	t.shown.why.Store(&why)
	t.shown.watcher.Store(t.watcher)
}

// stateWait is how long the state waits for a turn. The audit takes less.
const stateWait = 50 * time.Millisecond

// look brings what is shown up to date, unless a turn takes longer than that.
func (t *Tree) look() {
	for end := time.Now().Add(stateWait); !t.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return
		}
	}
	t.show()
	t.mu.Unlock()
}

// Stirred returns when something was last done in the worktree, as far as that is
// known; the zero time where nothing is watched, or nothing was done.
func (t *Tree) Stirred() time.Time {
	t.look()
	w := t.shown.watcher.Load()
	if w == nil {
		return time.Time{}
	}
	return w.Last()
}

// Stirs is sent to when something was done in the worktree; nil where nothing is watched.
func (t *Tree) Stirs() <-chan struct{} {
	w := t.shown.watcher.Load()
	if w == nil {
		return nil
	}
	return w.Stirs()
}

// Hopeless reports whether the worktree will not be watched, whatever is done.
func (t *Tree) Hopeless() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.off || t.refused
}

// State says whether the next turn will look only where something changed, and if
// not, why. While a turn is under way it is how it was before that.
func (t *Tree) State() (watched bool, why string) {
	if t == nil {
		return false, ""
	}
	t.look()
	if t.shown.watched.Load() {
		return true, ""
	}
	if why := t.shown.why.Load(); why != nil {
		return false, *why
	}
	return false, ""
}
