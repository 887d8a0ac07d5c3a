//go:build linux

package watched_test

import (
	"strings"
	"testing"
	"time"
)

// The kernel tells of a change after it can be seen: on a busy machine the audit may come
// in between.
func TestWhatIsToldAMomentLaterWasNotMissed(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.file("d/f", "one")
	w.settle()
	w.tree.Untold("d", "f")
	w.file("d/f", "two")
	if missed := w.tree.Audit(); missed != "" {
		t.Error(missed)
	}
	w.compare()
	w.tree.Untold("d", "f")
	if missed := w.tree.Audit(); !strings.Contains(missed, `"d/f" went unnoticed`) {
		t.Errorf("nothing told of it, and the audit says %q", missed)
	}
}

// A process to which a turn is lent may be stopped.
func TestTheStateIsToldWhileATurnIsLent(t *testing.T) {
	t.Parallel()
	w := plain(t)
	w.file("d/f", "one")
	w.settle()
	e := w.engine(nil)
	defer e.Close()
	_, back, ok := w.tree.Lend(w.ctx, e.Root())
	if !ok {
		t.Fatal("nothing is lent")
	}
	if watched, why := w.tree.State(); !watched {
		t.Errorf("not watched: %s", why)
	}
	w.tree.Stirred()
	back(nil)
	w.compare()
}

// The audit finds it, and the next turn looks.
func TestTurnsThatFollowEachOtherDoNotKeepTheAuditAway(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path := w.file("d/e/f", "one")
	w.settle()
	before := w.snapshot()
	end := hide(t, path)
	defer end()
	for range 2000 {
		time.Sleep(10 * time.Millisecond)
		if r := w.snapshot(); r.ID != before.ID {
			return
		}
	}
	t.Error("what nobody told is not found")
}
