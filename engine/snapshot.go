package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/capture"
	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
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
	Agent   string // the agent that keeps the conversation, if it is one that has no ledger; empty: Pi, or none
	Prompt  string // how the prompt begins that the entry belongs to
	Layout  string // also write it as this system lays out its checkpoints, one of [ImportKinds]; empty: none
	DryRun  bool   // tell what tree it would have, and write nothing
}

// A Recorded is the outcome of a snapshot.
type Recorded struct {
	*Snapshot
	Reused      bool   // the worktree was as the last snapshot has it; nothing new was made
	First       bool   // there is nothing to compare with: Changed counts what was recorded
	Looked      int    // files and links that were looked at; beside a watcher only what may have changed
	Changed     int    // paths that differ from the snapshot at which the files stood ([Engine.Here]); of the first, files and links
	Unstable    []Note // files that kept changing while they were read; the last whole read was kept
	Exposed     []Path // files that look like secrets and are in git objects now; told once
	Bridge      error  // not nil: the snapshot is in the store, but is not in git yet
	Uncounted   error  // not nil: why Changed and Exposed are not known
	Ref         string // what keeps it in the layout of the other system that was asked for
	LayoutError error  // not nil: it could not be written in that layout

	// Cost is not nil if history takes more than a tenth of the disk's free space
	// and that is to be told: once, and again when it has doubled. It has bytes: Store,
	// of its file, Git, of what rewind wrote there, and Free.
	Cost *cost

	// Of the skipped paths, those that are to be told. One that the worktree's
	// snapshot before had skipped for the same reason was told then.
	Unexpected []Note // left out, and no setting says so
	Aside      []Note // recorded in the store alone: git's tree cannot hold them
	Excluded   int    // how many a setting leaves out, told before or not

	Recovered  *Restored // what was done before, to finish an interrupted operation; nil: there was none
	Unfinished error     // not nil: an interrupted operation that could not be finished, and is left as it is
}

// Snapshot records the state of the worktree.
//
// The order is the guarantee. Contents and trees come first. Then one durable
// transaction writes the last of them and the record: that makes the snapshot.
// Then come the stat table and git's ref. A crash before the record leaves only
// contents that nobody refers to, in the store or among git's objects. If git
// cannot be reached, the snapshot is in the store, and the next command tries
// again.
//
// If the worktree is as its last snapshot has it, that snapshot is the result.
//
// A dry run does not finish an interrupted operation: Unfinished names it.
func (e *Engine) Snapshot(ctx context.Context, opt *SnapshotOptions) (*Recorded, error) {
	if opt == nil {
		opt = &SnapshotOptions{}
	}
	if opt.DryRun {
		return e.preview(ctx)
	}
	p := Point{Label: opt.Label, Session: opt.Session, Entry: opt.Entry, Trigger: opt.Trigger, Agent: opt.Agent, Prompt: opt.Prompt}
	if p.Same(Point{Trigger: records.TriggerUndo}) {
		return nil, fmt.Errorf("%w: the trigger %q alone is what restores record the present with; choose another word", ErrRefused, p.Trigger)
	}
	kind, err := e.layoutKind(opt.Layout)
	if err != nil {
		return nil, err
	}
	recovered, left, err := e.recoverIfPossible(ctx, e.recoverAlone)
	if err != nil {
		return nil, err
	}
	turn := e.beginTurn(ctx)
	defer func() { turn.Close() }()
	t, err := e.recordPresent(ctx, Recorded{Recovered: recovered, Unfinished: left}, p, &turn)
	if err != nil {
		return nil, err
	}
	r, c := t.result, t.present
	defer c.Close()
	r.Skipped, r.Looked = c.Skipped, int(c.Result.Counters.Stats)
	var git sync.WaitGroup
	git.Go(func() { r.Bridge = t.way.Finish(ctx) })
	// The snapshot is recorded: nothing from here on makes it fail.
	_ = e.saveStatTable(r.ID, c.Seen, turn)
	r.Uncounted = e.compare(context.WithoutCancel(ctx), r, c)
	git.Wait()
	if !r.Reused {
		r.Cost = e.toldCost(context.WithoutCancel(ctx))
	}
	if kind != "" {
		r.Ref, r.LayoutError = e.writeLayout(ctx, kind, r.Snapshot, p)
	}
	if e.opt.AutoPush != nil && e.conf.AutoPush != "" {
		e.opt.AutoPush(e, e.conf.AutoPush)
	}
	return r, nil
}

// A taken present is recorded. Whoever has it closes it, and finishes the way into git.
type taken struct {
	result  *Recorded
	present *present
	way     *mirror.Way
}

// recordPresent scans and commits. If a sweep took meanwhile what the snapshot needs, or a
// restore changed files, nothing was recorded, and it begins again, in another turn: who
// restores holds the lock of operations when its turn begins.
func (e *Engine) recordPresent(ctx context.Context, begun Recorded, p Point, turn **watched.Turn) (t taken, err error) {
	e.objects.TrustAgain()
	for tries := 1; ; tries++ {
		c, err := e.stage(ctx, *turn)
		if err != nil {
			return t, err
		}
		c.Unlocked, begun.Unstable = tries == 1, c.Unstable()
		r := begun
		if err := e.sortSkipped(ctx, &r, c.present()); err != nil {
			c.Discard()
			return t, err
		}
		done, err := e.commit(ctx, c, p, nil)
		if err == nil {
			c.Stage.Discard() // of a state that was recorded already
			r.Snapshot, r.Reused = done.snapshot, done.reused
			return taken{&r, c.present(), done.way}, nil
		}
		c.Discard()
		if !errors.Is(err, cas.ErrSwept) || tries == sweptTries {
			return t, err
		}
		if (*turn).Everything(); tries > 1 {
			continue
		}
		(*turn).Close()
		lock, err := e.lockOperations(ctx) // no restore comes in between again
		if err != nil {
			return t, err
		}
		defer lock.Unlock()
		again, left, err := e.recoverIfPossible(ctx, func(ctx context.Context) (*Restored, error) { return e.recoverFirst(ctx, lock) })
		if err != nil {
			return t, err
		}
		begun.Recovered, begun.Unfinished = cmp.Or(again, begun.Recovered), left
		*turn = e.beginTurn(ctx)
		(*turn).Everything()
	}
}

// stage scans the worktree, in a turn, into a stage, which the caller commits or discards.
func (e *Engine) stage(ctx context.Context, turn *watched.Turn) (*staged, error) {
	o := capture.Open(e.place(turn))
	store, err := e.needStore(ctx)
	if err != nil {
		o.Close()
		return nil, err
	}
	k, err := e.before(ctx)
	defer e.scanned(&k)
	if err == nil && k.new {
		err = e.adopt(ctx)
	}
	var how capture.How
	if err == nil {
		how, err = e.how(ctx, k, false)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	scan, err := o.Stage(ctx, how, store.Stage())
	if err != nil {
		return nil, err
	}
	e.count(scan.Seen)
	return &staged{Staged: scan, known: k}, nil
}

// A committed snapshot has a durable record. Whoever has it finishes the way into git.
type committed struct {
	snapshot *Snapshot
	reused   bool // it was there before
	way      *mirror.Way
}

// commit records a staged present as a snapshot. If the last snapshot is of the same
// state, it is reused, and only the point is added to it. If also is not nil, it is
// called within the same transaction.
func (e *Engine) commit(ctx context.Context, c *staged, p Point, also func(*records.Update, *Snapshot) error) (done committed, err error) {
	p.Time = c.time
	if c.recorded() {
		return committed{c.Last, true, e.mirror.NoWay()}, e.again(ctx, c, p, also)
	}
	wait := c.held
	if wait == nil {
		wait = func() (*mirror.Held, error) { return e.mirror.Hold(ctx, c.unheld(), c.Known) }
	}
	held, err := wait()
	if err != nil {
		return done, err
	}
	summed := e.lookup.Summing(ctx, c.Memory, c.at, c.here, c.present().newRecord(e.key)) // in memory, for Hold has read the trees
	defer summed()                                                                        // also after an error nothing of it goes on
	c.Last = held.Last()
	s, reused := c.present().newRecord(e.key), false
	s.Points = []Point{p}
	if err := s.PackSkipped(putSkipped(ctx, c.Stage)); err != nil {
		return done, err
	}
	payload := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: s.Tree, Overlay: s.Overlay, Time: s.Time, Identity: e.identity()}, e.alg)
	if s.ID, err = c.Stage.Put(ctx, oid.Commit, payload, oid.ID{}); err != nil {
		return done, objects.StoreError(err)
	}
	way, err := held.Begin(ctx, s.ID, payload)
	if err != nil {
		return done, err
	}
	s.Held = held.By()
	row := summed()
	err = c.Stage.Commit(ctx, e.changing(func(u *records.Update) error {
		if s, reused, err = e.writeRecord(u, held, way, s); err == nil && !reused {
			s.Changed, err = row, u.PutChanged(s.ID, row)
		}
		if err != nil || also == nil {
			return err
		}
		return also(u, s)
	}))
	if err != nil {
		s = &Snapshot{}
	}
	if err = errors.Join(err, way.Recorded(ctx, s.ID)); err != nil {
		return done, objects.StoreError(err)
	}
	return committed{s, reused, way}, nil
}

// again adds a point to the last snapshot, which is of the staged state.
func (e *Engine) again(ctx context.Context, c *staged, p Point, also func(*records.Update, *Snapshot) error) error {
	if also == nil {
		return e.addPoint(ctx, c, p)
	}
	return objects.StoreError(c.Stage.Commit(ctx, e.changing(func(u *records.Update) error {
		if err := c.CheckLast(&u.View); err != nil {
			return err
		}
		return also(u, c.Last)
	})))
}

// writeRecord writes the record of s, and settles the pending snapshots that git has now.
// If another process has recorded the same state meanwhile, that snapshot is reused.
func (e *Engine) writeRecord(u *records.Update, held *mirror.Held, way *mirror.Way, s *Snapshot) (*Snapshot, bool, error) {
	last, err := u.Last()
	if err != nil {
		return nil, false, err
	}
	if err := held.Relies(&u.View); err != nil {
		return nil, false, err
	}
	if held.Same(last) {
		if !s.OfRestore() {
			err = u.Stand(last.ID)
		}
		return last, true, errors.Join(err, u.AddPoint(last, s.Points[0]), e.sessions().Remember(u))
	}
	if err := way.Settle(u); err != nil {
		return nil, false, err
	}
	return s, false, e.addRecord(u, s, !way.GitFirst())
}

// addRecord writes the record of a new snapshot and what points to it; pending
// says that git, if there is one, does not have the snapshot yet.
func (e *Engine) addRecord(u *records.Update, s *Snapshot, pending bool) error {
	if err := u.Record(s, pending); err != nil {
		return err
	}
	if err := e.sessions().Remember(u); err != nil {
		return err
	}
	return u.SetLast(s)
}

// addPoint adds a point to the last snapshot, which is of the staged state, unless
// it has that point already. The files stand at it from then on.
func (e *Engine) addPoint(ctx context.Context, c *staged, p Point) error {
	s := c.Last
	if s.Knows(p) && c.at == s.ID {
		return nil
	}
	return e.update(ctx, func(u *records.Update) error {
		current, err := u.Find(s.ID)
		if err = errors.Join(err, c.CheckLast(&u.View)); err != nil {
			return err
		}
		*s = *current
		return errors.Join(u.AddPoint(s, p), u.Stand(s.ID), e.sessions().Remember(u))
	})
}

// compare fills in what differs from where the files stood.
func (e *Engine) compare(ctx context.Context, r *Recorded, c *present) (err error) {
	if row := r.Snapshot.Changed; row != nil && row.Known && c.here != nil && c.here.Lost == "" && !r.Reused {
		r.Changed = row.Files + row.Dirs // counted as it was recorded
	} else if r.Changed, r.First, err = e.changed(ctx, c); err != nil || r.Reused {
		return err
	}
	r.Exposed, err = e.exposed(ctx, c)
	return err
}

// changed counts the paths that differ from where the files stood before the capture.
// Where they stood nowhere, first is true, and all files and links are counted.
func (e *Engine) changed(ctx context.Context, c *present) (n int, first bool, err error) {
	here := c.here
	if here == nil && !c.at.IsZero() {
		if here, err = e.lookup.Find(ctx, c.at); err != nil && !errors.Is(err, ErrNoSnapshot) {
			return 0, false, err
		}
	}
	if here == nil {
		here = c.Last
	}
	if here == nil || here.Lost != "" {
		if n, known := c.Result.Recorded(); known {
			return n, true, nil
		}
		n, err = tree.Count(tree.Walk(c.State, e.alg, c.Trees), func(at tree.Change) bool { return !at.To.Mode.IsDir() })
		return n, true, err
	}
	n, err = tree.Count(tree.Diff(here.State(), c.State, e.alg, c.Trees), func(tree.Change) bool { return true })
	return n, false, err
}

// putSkipped keeps a long list of skipped paths in a stage.
func putSkipped(ctx context.Context, stage *cas.Stage) func([]byte) (oid.ID, error) {
	return func(list []byte) (oid.ID, error) {
		id, err := stage.Put(ctx, oid.Blob, list, oid.ID{})
		return id, objects.StoreError(err)
	}
}

// preview is the dry run of a snapshot.
func (e *Engine) preview(ctx context.Context) (*Recorded, error) {
	op, left, err := e.openOperation(ctx)
	if err != nil {
		return nil, err
	}
	turn := e.beginTurn(ctx)
	defer turn.Close()
	c, err := e.look(ctx, turn)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	e.looked(c, turn)
	c.Skipped = slices.DeleteFunc(c.Skipped, func(n Note) bool { return left[string(n.Path)] })
	r := &Recorded{Snapshot: c.newRecord(e.key), Unstable: c.Unstable(), Unfinished: shownUnfinished(op)}
	if c.Same(c.Last) {
		r.ID, r.Reused = c.Last.ID, true
	}
	if err := e.sortSkipped(ctx, r, c); err != nil {
		return nil, err
	}
	r.Changed, r.First, err = e.changed(ctx, c)
	return r, err
}
