package bisect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The conditions a caller may want to tell apart.
var (
	ErrNone = errors.New("no bisect stands open here")         // there is nothing to go on with
	ErrOpen = errors.New("a bisect stands open here")          // begin another one when it has ended
	ErrBusy = errors.New("another process is bisecting here")  // it may be testing at this moment
	errKind = errors.New("what stands open here is no bisect") // a later version may know it
)

// A Tested is a snapshot with its verdict, and what was found beside it.
type Tested struct {
	ID      oid.ID  `json:"id"`
	Verdict Verdict `json:"verdict,omitempty"` // "": none was given, but something was changed meanwhile
	Exit    *int    `json:"exit,omitempty"`    // of the command; nil: a person told the verdict
	Why     string  `json:"why,omitempty"`     // it was skipped by itself
	Left    oid.ID  `json:"left,omitzero"`     // a snapshot of what was changed during the test; zero: nothing was
}

// state is what is kept of a bisect while it stands open.
type state struct {
	Bisect  bool     `json:"bisect"` // always
	Good    oid.ID   `json:"good"`
	Bad     oid.ID   `json:"bad"`
	Paths   []string `json:"paths,omitempty"`
	Command []string `json:"command,omitempty"` // nil: a person tells the verdicts
	Tested  []Tested `json:"tested,omitempty"`
	At      oid.ID   `json:"at,omitzero"` // the snapshot that is being tested
	Tree    stateID  `json:"tree"`        // what was there when the test began: the snapshot, and what no restore takes away
}

// A stateID tells whether two states of the files are the same.
type stateID struct {
	Tree    oid.ID `json:"tree,omitzero"`
	Overlay oid.ID `json:"overlay,omitzero"`
}

// A Bisect stands open in a worktree. It is for one goroutine; others are kept out
// until Release.
type Bisect struct {
	e      *engine.Engine
	home   oid.ID // the present before
	state  state
	search *search
	lock   *durable.Held
}

// Options of [Start].
type Options struct {
	Good, Bad *engine.Snapshot
	Paths     []string // search only among the snapshots that changed one of them; empty: all
	Command   []string // what tells the verdicts; nil: a person
}

// Start begins a bisect: it records the present. No file is changed yet. Ends
// between which there is nothing to search are [ErrRange].
func Start(ctx context.Context, e *engine.Engine, opt *Options) (b *Bisect, err error) {
	b = &Bisect{e: e, state: state{Bisect: true, Good: opt.Good.ID, Bad: opt.Bad.ID, Paths: opt.Paths, Command: opt.Command}}
	if b.search, err = newSearch(ctx, e, opt.Good, opt.Bad, opt.Paths); err != nil {
		return nil, err
	}
	if err := b.hold(ctx); err != nil {
		return nil, err
	}
	open, err := e.Bisecting(ctx)
	if err == nil && open != nil {
		err = ErrOpen
	}
	var home *engine.Snapshot
	if err == nil {
		home, err = e.StartBisect(ctx, b.encode())
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	b.home = home.ID
	return b, nil
}

// Open returns the bisect that stands open in the worktree, [ErrNone] if there is
// none. What is needed to go on is not looked at before [Bisect.Load].
func Open(ctx context.Context, e *engine.Engine) (*Bisect, error) {
	open, err := e.Bisecting(ctx)
	if err != nil {
		return nil, err
	}
	if open == nil {
		return nil, ErrNone
	}
	b := &Bisect{e: e, home: open.Home}
	if err := b.decode(open.State); err != nil {
		return nil, err
	}
	return b, b.hold(ctx)
}

// Load prepares for going on: it looks up the snapshots between the ends.
func (b *Bisect) Load(ctx context.Context) error {
	good, err := b.e.Find(ctx, b.state.Good.String())
	if err != nil {
		return err
	}
	bad, err := b.e.Find(ctx, b.state.Bad.String())
	if err != nil {
		return err
	}
	if b.search, err = newSearch(ctx, b.e, good, bad, b.state.Paths); err != nil {
		return err
	}
	for _, t := range b.state.Tested {
		if s, err := b.e.Find(ctx, t.ID.String()); err == nil && t.Verdict != "" { // else it was pruned
			_ = b.search.mark(s.ID, t.Verdict) // it agreed when it was given
		}
	}
	return nil
}

// hold keeps other processes from bisecting in the worktree.
func (b *Bisect) hold(ctx context.Context) error {
	st, err := b.e.Status(ctx)
	if err != nil {
		return err
	}
	name := sha256.Sum256([]byte(st.Root)) // worktrees share the store's directory
	b.lock, err = durable.TryLock(filepath.Join(filepath.Dir(st.Store), "bisect-"+hex.EncodeToString(name[:8])+".lock"), durable.Exclusive)
	if errors.Is(err, durable.ErrLocked) {
		err = ErrBusy
	}
	return err
}

// Release lets others go on with the bisect, or begin one.
func (b *Bisect) Release() {
	if b.lock != nil {
		b.lock.Unlock() // its end has nothing to tell
	}
}

func (b *Bisect) save(ctx context.Context) error { return b.e.SetBisect(ctx, b.home, b.encode()) }

// Home returns the snapshot of the present as it was.
func (b *Bisect) Home() oid.ID { return b.home }

// At returns the snapshot that is being tested, zero before the first one.
func (b *Bisect) At() oid.ID { return b.state.At }

// Command returns what tells the verdicts, nil if a person does.
func (b *Bisect) Command() []string { return b.state.Command }

// Tested returns what was tested, in that order.
func (b *Bisect) Tested() []Tested { return b.state.Tested }

// Left returns how many snapshots are still to be told of, and in about how many
// tests.
func (b *Bisect) Left() (left, tests int) {
	_, left = b.search.next()
	return left, steps(left)
}

// Next puts the snapshot that is to be tested next in place of the files; nil: the
// search has ended, and they are as before it. What was changed during the last
// test is taken back first. A snapshot that cannot be restored wholly is skipped.
func (b *Bisect) Next(ctx context.Context) (*engine.Snapshot, error) {
	for {
		if err := b.back(ctx); err != nil {
			return nil, err
		}
		at, _ := b.search.next()
		if at < 0 {
			return nil, nil
		}
		s := b.search.list[at]
		why, err := b.place(ctx, s)
		if err != nil || why == "" {
			return s, err
		}
		if err := b.Mark(ctx, Tested{ID: s.ID, Verdict: Skipped, Why: why}); err != nil {
			return nil, err
		}
	}
}

// place restores a snapshot to be tested. Why says of one that cannot be tested
// what hinders it.
func (b *Bisect) place(ctx context.Context, s *engine.Snapshot) (why string, err error) {
	b.state.At, b.state.Tree = s.ID, stateID{}
	if err := b.save(ctx); err != nil {
		return "", err
	}
	done, err := b.e.Do(ctx, engine.Op{To: s.ID})
	if err != nil {
		return "", err
	}
	now, err := b.e.Snapshot(ctx, &engine.SnapshotOptions{DryRun: true})
	if err != nil {
		return "", err
	}
	if len(done.Conflicts) > 0 {
		why = fmt.Sprintf("%q could not be restored: %s", done.Conflicts[0].Path, done.Conflicts[0].Reason)
	}
	b.state.Tree = stateID{now.Tree, now.Overlay}
	return why, b.save(ctx)
}

// back takes back the snapshot that was tested, and what was changed meanwhile. A
// snapshot of the latter is noted with the test.
func (b *Bisect) back(ctx context.Context) error {
	if b.state.At.IsZero() {
		return nil
	}
	done, err := b.putBack(ctx)
	if err != nil {
		return err
	}
	if len(done.Conflicts) > 0 {
		return fmt.Errorf("the files cannot be put back: %q: %s", done.Conflicts[0].Path, done.Conflicts[0].Reason)
	}
	if b.changed(ctx, done.Undo) {
		b.leave(done.Undo)
	}
	b.state.At = oid.ID{}
	return b.save(ctx)
}

// leave notes what was changed during a test with it, also where no verdict was given.
func (b *Bisect) leave(left oid.ID) {
	last := len(b.state.Tested) - 1
	if last < 0 || b.state.Tested[last].ID != b.state.At {
		b.state.Tested = append(b.state.Tested, Tested{ID: b.state.At})
		last++
	}
	b.state.Tested[last].Left = left
}

// putBack puts the present back: it takes back what was restored since, one after
// the other, and then what else is not as it was, ignored files included, which an
// undo leaves alone. Undo of the result is the snapshot of what was there; zero if
// nothing had to change.
func (b *Bisect) putBack(ctx context.Context) (all *engine.Restored, err error) {
	sure := false // that nothing else was changed
	for {
		open, err := b.e.Bisecting(ctx)
		if err == nil && open == nil {
			err = ErrNone
		}
		if err != nil {
			return nil, err
		}
		if !open.Moved && !open.Unfinished {
			break
		}
		step, err := b.e.Do(ctx, engine.Op{Verb: engine.Undo})
		if err != nil {
			return nil, err
		}
		sure = !open.Unfinished && len(step.Kept)+len(step.Conflicts) == 0
		all = then(all, step)
	}
	if sure && all.ID == b.home {
		return all, nil
	}
	last, err := b.e.Do(ctx, engine.Op{To: b.home, Ignored: true})
	return then(all, last), err
}

// then joins two operations, one after the other, into one result.
func then(r, next *engine.Restored) *engine.Restored {
	if r == nil || next == nil {
		return next
	}
	next.Written, next.Deleted = r.Written+next.Written, r.Deleted+next.Deleted
	next.Renewed, next.Undo = append(r.Renewed, next.Renewed...), r.Undo
	return next
}

// changed reports whether a snapshot of the files after a test differs from what
// they were before it.
func (b *Bisect) changed(ctx context.Context, left oid.ID) bool {
	after, err := b.e.Find(ctx, left.String())
	return err == nil && b.state.Tree != (stateID{after.Tree, after.Overlay})
}

// Mark takes the verdict on a snapshot, usually [Bisect.At].
func (b *Bisect) Mark(ctx context.Context, t Tested) error {
	if err := b.search.mark(t.ID, t.Verdict); err != nil {
		return err
	}
	b.state.Tested = append(b.state.Tested, t)
	return b.save(ctx)
}

// A Found is what a search has come to.
type Found struct {
	First    *engine.Snapshot   // the first that is bad; nil: it is not known which
	Possible []*engine.Snapshot // then it is one of these, oldest first: all but the last were skipped
	Before   *engine.Snapshot   // the snapshot that was recorded on purpose before First; nil if there is none
}

// Found returns what the search has come to so far.
func (b *Bisect) Found(ctx context.Context) (f Found, err error) {
	good, bad := b.search.bounds()
	if bad-good > 1 {
		f.Possible = b.search.list[good+1 : bad+1]
		return f, nil
	}
	f.First = b.search.list[bad]
	f.Before, err = b.e.Before(ctx, f.First)
	return f, err
}

// Close puts the present back, and ends the bisect. Where a file could not be put
// back it stays open, unless anyway says that it is to end all the same.
func (b *Bisect) Close(ctx context.Context, anyway bool) (*engine.Restored, error) {
	done, err := b.putBack(ctx)
	if err == nil && len(done.Conflicts) > 0 && !anyway {
		return done, nil
	}
	if err != nil && (!anyway || ctx.Err() != nil) {
		return done, err
	}
	return done, errors.Join(err, b.e.SetBisect(ctx, oid.ID{}, nil))
}
