package watched

import (
	"errors"
	"time"
)

// Doubt makes the tree believe that something was missed, as after an overflow.
func (t *Tree) Doubt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop(errors.New("a test").Error())
}

// Audit compares everything that is kept with the disk, and says what was missed.
func (t *Tree) Audit() string {
	t.mu.Lock()
	if t.table != nil {
		t.unaudited = t.table.Len()
	}
	t.mu.Unlock()
	for {
		if missed, more := t.slice(time.Now().Add(auditSlice)); !more {
			return missed
		}
	}
}

// Pending is how many changes the audit has taken for the next turn.
func (t *Tree) Pending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending.Len()
}

// Standing reports whether all directories are watched, and a turn may begin that looks
// at everything for the last time.
func (t *Tree) Standing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.standing
}

// Untold makes the audit believe that something differs of which nothing was told yet.
func (t *Tree) Untold(dir, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.untold = map[[2]string]time.Time{{dir, name}: time.Now()}
}
