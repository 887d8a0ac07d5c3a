package watched

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/watch"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/stattable"
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

const (
	// flushAfter is how long after a turn the stat table is written: not between two
	// that follow each other.
	flushAfter = 200 * time.Millisecond

	// flushLatest is how long after a turn it is written all the same, and what is kept is
	// compared with the disk, if others follow without an end.
	flushLatest = 10 * flushAfter

	// flushWait is how long who reads the file is waited for between turns: a process that
	// was stopped may have it for long.
	flushWait = 50 * time.Millisecond

	// toldWithin is how long after a change the kernel may tell of it. It does so after the
	// change can be seen, and whoever makes the change may lose the processor in between.
	toldWithin = 3 * time.Second
)

// later rests when no turn has begun for a while.
func (t *Tree) later() {
	now := time.Now()
	if t.idle == nil {
		t.idle = time.AfterFunc(flushAfter, t.rest)
	}
	if t.latest.IsZero() {
		t.latest = now.Add(flushLatest)
	}
	t.idle.Reset(min(flushAfter, max(t.latest.Sub(now), 0)))
}

// flush writes what the stat table lacks. If it is another process's by now the
// next turn begins with that. Where somebody reads it for longer it lacks that still.
func (t *Tree) flush(wait time.Duration) {
	if t.table == nil {
		return
	}
	if err := t.table.Flush(wait); err != nil && !errors.Is(err, stattable.ErrBusy) {
		t.table, t.armed = nil, false
	}
}

// rest is what is done when no turn has begun for a while.
func (t *Tree) rest() {
	t.mu.Lock()
	t.latest = time.Time{}
	t.flush(flushWait)
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
		time.Sleep(max(time.Since(begun)*(auditEvery-auditSlice)/auditSlice, auditEvery-auditSlice))
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
	if missed, ok := t.judge(); !ok {
		return missed, false
	}
	for time.Now().Before(until) {
		if t.unaudited == 0 {
			return "", len(t.untold) > 0
		}
		t.unaudited--
		t.cursor++
		if t.cursor >= t.table.Len() {
			t.cursor = 0
		}
		if !t.compare(root) {
			return "", false
		}
	}
	return "", t.unaudited > 0 || len(t.untold) > 0
}

// told takes what the watcher tells between turns. Not ok: the watching has ended.
func (t *Tree) told() (ok bool) {
	changes, err := t.watcher.Take(context.Background())
	if err != nil {
		t.stop(err.Error())
		return false
	}
	t.explain(changes)
	t.pending.AddAll(changes)
	return true
}

// explain forgets the differences of which changes tell by now.
func (t *Tree) explain(changes *worktree.Changes) {
	for at := range t.untold {
		if changes.Has(at[0], at[1]) {
			delete(t.untold, at)
		}
	}
}

// judge looks whether differences were told of since. Not ok: the watching has ended, and
// if one was missed, why.
func (t *Tree) judge() (missed string, ok bool) {
	if len(t.untold) == 0 {
		return "", true
	}
	if !t.told() {
		return "", false
	}
	for at, since := range t.untold {
		if time.Since(since) > toldWithin {
			t.missed = fmt.Sprintf("a change of %q went unnoticed", path.Join(at[0], at[1]))
			t.giveUp(t.missed)
			return t.missed, false
		}
	}
	return "", true
}

// compare audits one directory. Of what differs and is not told of the next turn looks all
// the same, and it is judged later. Not ok: the watching has ended.
func (t *Tree) compare(root *dirfd.Dir) (ok bool) {
	differences := worktree.Audit(t.table, root, t.cursor)
	if len(differences) == 0 {
		return true
	}
	if !t.told() {
		return false
	}
	for _, d := range differences {
		switch {
		case t.pending.Has(d.Dir, d.Name):
		case d.Slight:
			t.pending.Add(d.Dir, d.Name)
		case d.Name != "" && watch.Late: // who writes to it has it open, and may go on
			t.pending.Add(d.Dir, d.Name)
			t.watcher.Open(path.Join(d.Dir, d.Name))
		default:
			t.pending.Add(d.Dir, d.Name)
			if t.untold == nil {
				t.untold = map[[2]string]time.Time{}
			}
			t.untold[[2]string{d.Dir, d.Name}] = time.Now()
		}
	}
	return true
}
