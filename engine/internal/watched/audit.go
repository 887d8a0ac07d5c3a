package watched

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/watch"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// The audit compares what is kept with the disk, between turns: all of it after
// each turn, as far as there is time, for auditSlice in each auditEvery.
const (
	auditSlice = time.Millisecond
	auditEvery = 20 * auditSlice

	// A busy tree is compared after its next turn: more than so many changes are
	// not kept for that.
	pendingMax = 10_000
)

// flushAfter is how long after a turn the stat table is written: not between two
// that follow each other.
const flushAfter = 200 * time.Millisecond

// later rests when no turn has begun for a while.
func (t *Tree) later() {
	if t.idle == nil {
		t.idle = time.AfterFunc(flushAfter, t.rest)
	}
	t.idle.Reset(flushAfter)
}

// flush writes what the stat table lacks. If it is another process's by now the
// next turn begins with that.
func (t *Tree) flush() {
	if t.table != nil && t.table.Flush() != nil {
		t.table, t.armed = nil, false
	}
}

// rest is what is done when no turn has begun for a while.
func (t *Tree) rest() {
	t.mu.Lock()
	t.flush()
	begin := !t.auditing
	t.auditing = true
	t.mu.Unlock()
	if !begin {
		return
	}
	for {
		begun := time.Now()
		missed, more := t.slice(begun.Add(auditSlice))
		if missed != "" && t.Missed != nil {
			t.Missed(missed)
		}
		if !more {
			return
		}
		time.Sleep(time.Since(begun) * (auditEvery - auditSlice) / auditSlice)
	}
}

// slice audits for a while. It returns what the watcher missed, and whether there
// is more to do.
func (t *Tree) slice(until time.Time) (missed string, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() { t.auditing = more }()
	if t.closed || !t.armed || !t.standing || t.table == nil || t.pending.Len() > pendingMax {
		return "", false
	}
	root, err := dirfd.Open(t.root)
	if err != nil {
		return "", false // the next turn will say so
	}
	defer root.Close()
	for time.Now().Before(until) {
		if t.unaudited == 0 {
			return "", false
		}
		t.unaudited--
		t.cursor++
		if t.cursor >= t.table.Len() {
			t.cursor = 0
		}
		if missed, ok := t.compare(root); !ok {
			return missed, false
		}
	}
	return "", t.unaudited > 0
}

// compare audits one directory. Not ok: the watching has ended, and if something
// was missed, why.
func (t *Tree) compare(root *dirfd.Dir) (missed string, ok bool) {
	differences := worktree.Audit(t.table, root, t.cursor)
	if len(differences) == 0 {
		return "", true
	}
	// What was done before it was seen is told by now.
	changes, err := t.watcher.Take(context.Background())
	if err != nil {
		t.stop(err.Error())
		return "", false
	}
	t.pending.AddAll(changes)
	for _, d := range differences {
		switch {
		case t.pending.Has(d.Dir, d.Name):
		case d.Slight:
			t.pending.Add(d.Dir, d.Name)
		case d.Name != "" && watch.Late: // who writes to it has it open, and may go on
			t.pending.Add(d.Dir, d.Name)
			t.watcher.Open(path.Join(d.Dir, d.Name))
		default:
			t.missed = fmt.Sprintf("a change of %q went unnoticed", path.Join(d.Dir, d.Name))
			t.giveUp(t.missed)
			return t.missed, false
		}
	}
	return "", true
}
