// Package watched lets who looks at a worktree look only where something changed: it
// keeps, between two turns of one worktree, what the last scan saw, and watches the
// directories of which that is known.
//
// It only suggests where to look. What changed is looked at as by a scan of all,
// and what it suggests is a full scan wherever there is doubt. Who overwrites files
// compares each with what was seen, at the moment at which it is replaced.
//
// It knows neither the store nor git, and nothing of what is recorded.
package watched

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/watch"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// A Tree is one worktree between its turns. The zero Tree is ready. It holds no
// lock that another process could wait for. Close it when done.
type Tree struct {
	// Missed is told what the audit found that the watcher had missed. The watching
	// has ended, and a snapshot looks at everything again. It is set before the first
	// turn; nil: nobody is told at once.
	Missed func(what string)

	// Any says that a worktree is watched however few files it has.
	Any bool

	mu       sync.Mutex // held during a turn, and by what is done between turns
	root     string
	table    *stattable.Table // in memory, what the last scan saw; nil: nothing is kept
	watcher  *watch.Watcher   // nil: nothing is watched
	standing bool             // all directories are watched
	armed    bool             // the table was made by a scan that began when they were
	why      string           // it looks at everything; "" if it does not
	off      bool             // and will go on doing so
	refused  bool             // because the last turn said so
	closed   bool
	idle     *time.Timer
	latest   time.Time // when it rests at the latest; zero: nothing is to be done then
	shown    shown     // what is told while a turn is under way

	pending   worktree.Changes // taken from the watcher by the audit, for the next turn
	auditing  bool
	cursor    int                     // the directory that was audited last
	unaudited int                     // since the last turn
	untold    map[[2]string]time.Time // differences that the watcher has not told of yet: directory, name, and since when
	missed    string                  // what the audit found, until a turn has it
}

// A Turn is one look at a Tree. Only one is under way at a time; Close ends it.
type Turn struct {
	Table *stattable.Table // in memory, on which to scan; nil: on the one in the file

	// Missed is what the audit found since the turn before; "" if nothing. To watch
	// this worktree again would be to trust what has failed.
	Missed string

	tree    *Tree // nil: nothing is watched
	least   int
	off     string
	changes worktree.Changes
	taking  chan taken // what the watcher is asked for; nil: nothing, or it has answered
	only    *worktree.Changes
	ended   bool

	back func([]byte) // ends a turn that another process lends; nil: it is not one, or was given back
}

// taken is a watcher's answer.
type taken struct {
	changes *worktree.Changes
	err     error
	late    bool // the turn has ended before it
}

// Begin begins a turn, in which everything that was done before is seen. The
// worktree is watched from so many files on, and not at all if off says why.
// Without a Tree nothing is watched. The watcher answers while the caller does other
// things, until [Turn.Only] is called.
func (t *Tree) Begin(ctx context.Context, root string, least int, off string) *Turn {
	if t == nil {
		return &Turn{}
	}
	t.mu.Lock()
	if t.root != root {
		t.stop("")
		t.root, t.off, t.table, t.missed = root, false, nil, ""
	}
	if t.refused = off != ""; t.refused {
		t.stop(off)
		t.table = nil
	}
	turn := t.begin(ctx)
	turn.least, turn.off = least, off
	turn.Missed, t.missed = t.missed, ""
	return turn
}

// begin begins a turn under the mutex, which that ends.
func (t *Tree) begin(ctx context.Context) *Turn {
	turn := &Turn{tree: t, Table: t.table}
	if !t.standing {
		return turn
	}
	w := t.watcher
	turn.taking = make(chan taken, 1)
	go func() {
		changes, err := w.Take(ctx)
		turn.taking <- taken{changes, err, ctx.Err() != nil}
	}()
	return turn
}

// Only says where to look; nil: everywhere.
func (u *Turn) Only() *worktree.Changes {
	u.take()
	return u.only
}

// take waits for what the watcher answers.
func (u *Turn) take() {
	if u.taking == nil {
		return
	}
	t, got := u.tree, <-u.taking
	u.taking = nil
	if got.err != nil {
		if !got.late {
			t.stop(got.err.Error())
		}
		return
	}
	u.changes = *got.changes
	t.explain(&u.changes)
	u.changes.AddAll(&t.pending)
	t.pending = worktree.Changes{}
	if t.table != nil && t.armed {
		u.only = &u.changes
	}
}

// Everything makes it a turn that looks everywhere, on the stat table.
func (u *Turn) Everything() {
	u.take()
	u.giveBack(stale)
	if u.tree != nil {
		u.tree.table, u.tree.armed = nil, false
	}
	u.Table, u.only = nil, nil
}

// Close ends a turn. What changed before one that did not come to its end is left to
// the next.
func (u *Turn) Close() {
	u.giveBack(nil)
	t := u.tree
	if t == nil {
		return
	}
	u.take()
	if !u.ended {
		t.leave(&u.changes)
	}
	u.tree = nil
	if t.table != nil && !t.closed {
		t.later()
	}
	t.show()
	t.mu.Unlock()
}

const tooMuch = "more has changed than is kept"

// leave leaves changes to the next turn. One that looks at everything asks of them too:
// which directories are others than before, and so are to be watched anew.
func (t *Tree) leave(changes *worktree.Changes) {
	was := t.armed
	if t.armed = was && t.pending.Len()+changes.Len() <= pendingMax; t.armed {
		t.pending.AddAll(changes)
		return
	}
	if was {
		t.why = tooMuch
	}
	for dir := range changes.Below() {
		t.pending.AddBelow(dir)
	}
	if t.pending.Len() > pendingMax {
		t.stop(tooMuch)
	}
}

// lateWhy is why nothing is watched unasked where that would miss what a full scan sees.
const lateWhy = "this system tells of a write only when the file is closed, so that rewind looks at all files each time; with rewind.watch = true \"rewind serve\" watches all the same"

// End keeps what was seen, which is now durable under this snapshot.
func (u *Turn) End(seen *worktree.Result, store string, snapshot oid.ID) error {
	u.take()
	t := u.tree
	if u.back != nil {
		return u.give(seen, store, snapshot)
	}
	if t == nil || u.off != "" || t.off {
		return seen.SaveStatTable(store, snapshot)
	}
	if u.Table == nil {
		if !t.Any && int(seen.Counters.Stats) < u.least {
			t.stop(fmt.Sprintf("it has fewer than %d files", u.least))
			return seen.SaveStatTable(store, snapshot)
		}
		if watch.Late && u.least > 0 {
			t.stop(lateWhy)
			return seen.SaveStatTable(store, snapshot)
		}
		return u.keep(seen, store, snapshot)
	}
	changed, ok := seen.Update(store, snapshot)
	if !ok {
		t.armed = false
		return u.keep(seen, store, snapshot)
	}
	u.ended = true
	u.settle(seen.Writing, changed)
	return nil
}

// Looked ends a turn that has recorded nothing. What was seen is kept if it is what the
// last snapshot has; else what was there before, and where something differs from that: a
// later turn looks there again. The zero snapshot is another one.
func (u *Turn) Looked(seen *worktree.Result, store string, snapshot oid.ID) {
	u.take()
	t := u.tree
	switch {
	case u.back != nil && !seen.Partial():
		u.giveBack(stale)
		return
	case u.back != nil && !snapshot.IsZero():
		_ = u.give(seen, store, snapshot)
		return
	case t == nil || u.off != "" || t.off:
		return
	case !snapshot.IsZero():
		_ = u.End(seen, store, snapshot) // a cache
		return
	case seen.Partial(): // and what changed is left to the next turn
		return
	case !t.Any && int(seen.Counters.Stats) < u.least:
		t.stop(fmt.Sprintf("it has fewer than %d files", u.least))
		return
	}
	table, differs := seen.Before()
	if table == nil {
		return
	}
	t.table = table
	u.settle(seen.Writing, nil)
	u.changes = *differs
}

// keep keeps what was seen from here on.
func (u *Turn) keep(seen *worktree.Result, store string, snapshot oid.ID) error {
	t := u.tree
	table, err := seen.Keep(store, snapshot)
	t.table, u.ended = table, table != nil
	if err != nil {
		t.stop(err.Error())
		return err
	}
	if table == nil {
		t.stop(unkept(seen))
		return nil
	}
	u.settle(seen.Writing, nil)
	return nil
}

// unkept says why nothing of what was seen is kept.
func unkept(seen *worktree.Result) string {
	if seen.Closed() {
		return "a part of it cannot be looked at"
	}
	return "the last look was also at ignored files that a restore replaces, or another process has looked since"
}

// settle brings what is watched in line with what is known. Writing are the files that
// were met open for writing; changed is how the table differs from the one before; nil
// if that was none.
func (u *Turn) settle(writing []string, changed *worktree.Updated) {
	t := u.tree
	switch {
	case t.watcher == nil:
		t.start()
		return
	case !t.standing:
		return
	}
	if err := u.follow(writing, changed); err != nil {
		t.giveUp(err.Error())
		return
	}
	t.armed, t.why = true, ""
	t.unaudited = t.table.Len()
}

// start begins to watch every directory of the table, which goes on after the turn.
func (t *Tree) start() {
	w, err := watch.New(t.root)
	if err != nil {
		t.giveUp(err.Error())
		return
	}
	t.watcher, t.armed, t.why = w, false, "the watching begins"
	var dirs []string
	for dir := range t.table.Below("") {
		dirs = append(dirs, dir)
	}
	go func() {
		for _, dir := range dirs {
			if err = w.Add(dir); err != nil {
				break
			}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case t.watcher != w:
		case err != nil:
			t.giveUp(err.Error())
		default:
			t.standing = true
		}
	}()
}

// stop ends the watching, until the next turn begins it again.
func (t *Tree) stop(why string) {
	if t.watcher != nil {
		w := t.watcher
		go w.Close() // the kernel takes its time
	}
	t.watcher, t.standing, t.armed, t.pending, t.untold = nil, false, false, worktree.Changes{}, nil
	t.why = why
}

// giveUp ends the watching for good.
func (t *Tree) giveUp(why string) {
	t.stop(why)
	t.flush(flushWait)
	t.off, t.table = true, nil
}

// Close ends the watching, and writes the stat table.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.idle != nil {
		t.idle.Stop()
	}
	t.flush(stattable.LockWait)
	t.stop("")
	t.table = nil
}
