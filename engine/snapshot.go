package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// SnapshotOptions say what a snapshot is taken for.
type SnapshotOptions struct {
	Label   string // a name for people; empty: none
	Session string // the conversation it belongs to
	Entry   string // the conversation's entry
	Trigger string // what caused it: "turn", "prompt", …
	Layout  string // also write it in the form of this system, one of [ImportKinds]; empty: none
}

// A Recorded is the outcome of a snapshot.
type Recorded struct {
	*Snapshot
	Reused    bool   // the worktree was as the last snapshot has it; nothing new was made
	Changed   int    // paths that differ from the worktree's last snapshot
	Unstable  []Note // files that kept changing while they were read; the last whole read was kept
	Exposed   []Path // files that look like secrets and are in git objects now; told once
	Bridge    error  // not nil: the snapshot stands in the store, but is not in git yet
	Uncounted error  // not nil: why Changed and Exposed are not known
	Ref       string // what keeps it in the form of the other system that was asked for
	Layout    error  // not nil: it could not be written in that form

	Recovered  *Restored // what was done before, to finish an interrupted operation; nil: there was none
	Unfinished error     // not nil: an interrupted operation that could not be finished, and is left as it is
}

// Snapshot records the state of the worktree.
//
// The order is the guarantee: contents and trees, then the record that makes
// the snapshot, in one durable transaction with the last of the contents;
// then the stat table and git's ref. A crash before the record leaves contents
// that nobody refers to, in the store or among git's objects, and nothing else;
// a failure to reach git leaves the snapshot in the store, and the next command
// tries again.
//
// A worktree that is as its last snapshot has it gives that snapshot.
func (e *Engine) Snapshot(ctx context.Context, opt *SnapshotOptions) (*Recorded, error) {
	if opt == nil {
		opt = &SnapshotOptions{}
	}
	kind, err := e.layoutKind(opt.Layout)
	if err != nil {
		return nil, err
	}
	recovered, left, err := e.recoverIfPossible(ctx)
	if err != nil {
		return nil, err
	}
	p := Point{Label: opt.Label, Session: opt.Session, Entry: opt.Entry, Trigger: opt.Trigger}
	r, c, err := e.record(ctx, captureOptions{}, p)
	if err != nil {
		return nil, err
	}
	defer c.discard()
	r.Skipped = c.skipped
	r.Recovered, r.Unfinished = recovered, left
	var git sync.WaitGroup
	git.Go(func() { r.Bridge = c.finishMirror(ctx) })
	// The snapshot stands: nothing from here on makes it fail.
	_ = c.saveTable(r.ID)
	r.Uncounted = e.compare(context.WithoutCancel(ctx), r, c)
	git.Wait()
	if kind != "" {
		r.Ref, r.Layout = e.writeLayout(ctx, kind, r.Snapshot, p)
	}
	return r, nil
}

// compare fills in what differs from the worktree's last snapshot.
func (e *Engine) compare(ctx context.Context, r *Recorded, c *capture) (err error) {
	if r.Changed, err = e.changed(ctx, c); err != nil || r.Reused {
		return err
	}
	r.Exposed, err = e.exposed(ctx, c)
	return err
}

// Preview tells what tree a snapshot would have now, and writes nothing.
func (e *Engine) Preview(ctx context.Context) (*Recorded, error) {
	c, err := e.capture(ctx, captureOptions{dry: true})
	if err != nil {
		return nil, err
	}
	defer c.discard()
	r := &Recorded{Snapshot: c.snapshot(), Unstable: c.unstable()}
	if c.unchanged(c.last) {
		r.ID, r.Reused = c.last.ID, true
	}
	r.Changed, err = e.changed(ctx, c)
	return r, err
}

// record captures and commits. If a sweep removed something in between, it
// begins again: then nothing was recorded. The caller discards the capture.
func (e *Engine) record(ctx context.Context, opt captureOptions, p Point) (r *Recorded, c *capture, err error) {
	e.objects.TrustAgain()
	for range sweptTries {
		if c, err = e.capture(ctx, opt); err != nil {
			return nil, nil, err
		}
		r = &Recorded{Unstable: c.unstable()}
		r.Snapshot, r.Reused, err = e.commit(ctx, c, p, nil)
		if err == nil {
			return r, c, nil
		}
		c.discard()
		if !errors.Is(err, cas.ErrSwept) {
			break
		}
	}
	return nil, nil, err
}

// sweptTries is how often a snapshot begins again because of a sweep. One
// sweep can hit it once; a second at the same moment is already unlikely.
const sweptTries = 5

// commit makes the capture a snapshot, or finds that it is the last one, for
// which nothing is written but what it was taken for. What also records, if it
// is not nil, stands in the same transaction.
func (e *Engine) commit(ctx context.Context, c *capture, p Point, also func(*records.Update, *Snapshot) error) (s *Snapshot, reused bool, err error) {
	p.Time = c.time
	if c.unchanged(c.last) && !c.rechecked {
		if also == nil {
			return c.last, true, e.addPoint(ctx, c.last, p)
		}
		return c.last, true, objects.StoreError(c.stage.Commit(ctx, e.changing(func(u *records.Update) error {
			if err := c.relies(&u.View); err != nil {
				return err
			}
			return also(u, c.last)
		})))
	}
	if err := c.rest(ctx); err != nil {
		return nil, false, err
	}
	s = c.snapshot()
	s.Points = []Point{p}
	if err := s.PackSkipped(putSkipped(ctx, c.stage)); err != nil {
		return nil, false, err
	}
	payload := c.commitObject()
	if s.ID, err = c.stage.Put(ctx, oid.Commit, payload, oid.ID{}); err != nil {
		return nil, false, objects.StoreError(err)
	}
	mine := s.ID
	done, older := e.bridged(ctx, c.owed.Pending)
	if c.way = nil; c.borrows && !c.unchanged(c.last) {
		c.way, err = c.borrow(ctx, s.ID, payload, older)
		s.Held = c.held
	} else {
		c.way = c.mirror(ctx, s.ID, payload, older)
	}
	if err != nil {
		return nil, false, err
	}
	err = c.stage.Commit(ctx, e.changing(func(u *records.Update) error {
		if s, reused, err = e.recordIn(u, c, s, done); err != nil || also == nil {
			return err
		}
		return also(u, s)
	}))
	if err != nil {
		s = &Snapshot{}
	}
	c.recorded = s.ID
	c.way.goOn(s.ID)
	if c.kept && s.ID != mine { // the ref has what nobody recorded
		err = errors.Join(err, e.letGo(context.WithoutCancel(ctx), mine))
	}
	if err != nil {
		return nil, false, objects.StoreError(err)
	}
	return s, reused, nil
}

// rest sees to it that everything the capture names will be held. Where the ref
// does not keep any more what it kept, what was read again goes into the store
// first, and git is mended with it: what still lacks then is copied.
func (c *capture) rest(ctx context.Context) error {
	if c.adrift {
		if err := c.stage.Flush(ctx); err != nil {
			return objects.StoreError(err)
		}
		_ = c.e.mend(ctx) // what hinders it is met again, and told, when git gets this snapshot
		if err := c.lookAgain(ctx); err != nil {
			return err
		}
	}
	if err := c.hold(ctx); err != nil {
		return err
	}
	if c.borrows && c.unchanged(c.last) && !c.e.repo.Keeps(ctx, c.last.ID) {
		return c.holdAll(ctx) // no new commit will keep it
	}
	return nil
}

// lookAgain takes up what became of the last snapshot when git was mended.
func (c *capture) lookAgain(ctx context.Context) error {
	if c.last == nil {
		return ctx.Err()
	}
	return c.e.view(ctx, func(v *records.View) error {
		now, err := v.Find(c.last.ID)
		if now != nil && now.ID == c.last.ID {
			c.last = now
		}
		return err
	})
}

// commitObject encodes the commit that the capture's snapshot is named after.
func (c *capture) commitObject() []byte {
	return gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: c.state.Tree, Overlay: c.state.Overlay, Time: c.time, Identity: c.e.identity()}, c.e.alg)
}

// recordIn records a capture as the snapshot s, unless another process has
// recorded the same state meanwhile, and settles the rows that are done.
func (e *Engine) recordIn(u *records.Update, c *capture, s *Snapshot, done []records.Pending) (*Snapshot, bool, error) {
	last, err := u.Last()
	if err != nil {
		return nil, false, err
	}
	if c.unchanged(last) {
		return last, true, errors.Join(u.AddPoint(last, s.Points[0]), e.sessions().Remember(u))
	}
	if err := c.relies(&u.View); err != nil {
		return nil, false, err
	}
	for _, row := range done {
		if err := u.Settle(row); err != nil {
			return nil, false, err
		}
	}
	return s, false, e.append(u, s, !c.kept)
}

// append writes the record of a new snapshot and what points to it; pending
// says that git, if there is one, does not have the snapshot yet.
func (e *Engine) append(u *records.Update, s *Snapshot, pending bool) error {
	if err := u.Record(s, pending); err != nil {
		return err
	}
	if err := e.sessions().Remember(u); err != nil {
		return err
	}
	return u.SetLast(s)
}

// addPoint says of an existing snapshot what else it was taken for, if that is
// anything new.
func (e *Engine) addPoint(ctx context.Context, s *Snapshot, p Point) error {
	if s.Knows(p) {
		return nil
	}
	return e.update(ctx, func(u *records.Update) error {
		current, err := u.Find(s.ID)
		if err != nil {
			return err
		}
		if current == nil {
			return fmt.Errorf("%w: %v was pruned meanwhile", ErrNoSnapshot, s.ID)
		}
		*s = *current
		return errors.Join(u.AddPoint(s, p), e.sessions().Remember(u))
	})
}

// changed counts the paths that differ from the worktree's last snapshot
// before the capture.
func (e *Engine) changed(ctx context.Context, c *capture) (int, error) {
	if c.last == nil || c.last.Lost != "" { // there is nothing to compare with
		return c.files(), nil
	}
	n := 0
	for _, err := range tree.Diff(c.last.State(), c.state, e.alg, c.trees) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// needStore returns the store, made if it is not there yet.
func (e *Engine) needStore() (*cas.Store, error) {
	if err := e.openStore(true); err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("the store cannot be made in %s: %w: %s", e.dir, err, e.elsewhere())
		}
		return nil, err
	}
	return e.opened(), nil
}

// putSkipped keeps a long list of skipped paths in a stage.
func putSkipped(ctx context.Context, stage *cas.Stage) func([]byte) (oid.ID, error) {
	return func(list []byte) (oid.ID, error) {
		id, err := stage.Put(ctx, oid.Blob, list, oid.ID{})
		return id, objects.StoreError(err)
	}
}
