package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/capture"
	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Do carries out an operation: it makes the worktree what it was at a snapshot, takes
// that back, or merges.
//
// The order is the guarantee. First one durable transaction records the present
// as a snapshot, and the operation with its plan. Then the changes are made. Each
// is checked against what the plan expects: an edit that was made meanwhile is a
// conflict, and survives. Then comes one sync, and last the operation's end. After
// a crash anywhere the next command finishes what was begun, and an undo takes it
// back.
//
// If nothing has to change, nothing is recorded, and an undo has no step to take
// back. After a restore the files stand at the snapshot all the same.
//
// An undo does not finish a restore or redo that was interrupted: it takes it back.
// If an undo was interrupted, an undo finishes it and does no more: whoever says undo
// again after an interruption means the same undo. So it is with redo. If an undo was
// interrupted, a redo finishes it and then takes it back.
func (e *Engine) Do(ctx context.Context, op Op) (*Restored, error) {
	if op.takesBack() {
		return e.takeBack(ctx, &op)
	}
	to, err := e.goal(ctx, &op)
	if err != nil {
		return nil, err
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	finished, err := e.recoverFirst(ctx, lock)
	if err != nil {
		return nil, err
	}
	to.agreed = op.Agreed
	r, err := e.operate(ctx, running{&Operation{Kind: op.kind()}, lock}, to)
	if err == nil {
		r.Recovered = finished
	}
	return r, err
}

// operate carries out an operation: it plans, records the present and the
// operation, makes the changes, and records the end. The caller gives the kind of
// the operation, and what an undo or a redo takes back.
func (e *Engine) operate(ctx context.Context, op running, to goal) (*Restored, error) {
	defer e.objects.KeepDecoded(ctx)()
	b, err := e.prepare(ctx, op, to)
	if err != nil {
		return nil, e.dropped(ctx, to.target, err)
	}
	var out outcome
	var bridged error
	if b.way == nil {
		err = e.standAtTarget(ctx, op, to)
	} else if out, bridged, err = e.carryOut(ctx, op, b); err != nil {
		err = unfinished(op.Kind, op.Operation, err)
	}
	if err != nil {
		return nil, err
	}
	r := restored(op.Operation, out)
	r.Bridge = bridged
	return r.with(b.plan), nil
}

// A begun operation is recorded with its plan. It has what is needed to carry it
// out. Where no file has to change nothing was recorded, and there is only the plan.
type begun struct {
	plan *Diff
	way  *mirror.Way // of the snapshot of the present, which may be on its way into git; nil: nothing has begun
	ready
}

// What is ready to be carried out.
type ready struct {
	steps  []apply.Step
	sure   secured           // that what they replace can be brought back
	source *objects.Prefetch // of what they write
}

// prepare plans, and begins the operation with a snapshot of the present. If a
// sweep removed something in between, nothing was recorded, and it tries again.
func (e *Engine) prepare(ctx context.Context, op running, to goal) (begun, error) {
	op.To, op.Paths = to.target.ID, converted[Path](to.paths.Patterns())
	turn := e.beginTurn(ctx)
	defer turn.Close()
	for tries := 1; ; tries++ {
		b, err := e.tryPrepare(ctx, op, to, turn)
		if !errors.Is(err, cas.ErrSwept) || tries == sweptTries {
			return b, err
		}
		turn.Everything()
	}
}

// tryPrepare is prepare, once. What the operation changes from then on is told to a later
// turn like anything else.
func (e *Engine) tryPrepare(ctx context.Context, op running, to goal, turn *watched.Turn) (begun, error) {
	c, plan, err := e.planStaged(ctx, to, turn)
	if err != nil {
		return begun{}, err
	}
	defer c.Discard()
	if to.agreed != nil {
		plan.tell()
		if err := to.agreed(plan); err != nil {
			return begun{}, err
		}
	}
	if op.Reverts == 0 && len(plan.steps) == 0 { // an undo of nothing is a step back all the same
		c.wait()
		e.looked(c.present(), turn)
		return begun{plan: plan}, nil
	}
	if op.Contents, err = plan.stageTexts(ctx, c.Stage); err != nil {
		return begun{}, err
	}
	find := e.objects.PrefetchSteps(ctx, plan.steps)
	way, err := e.begin(ctx, op, to, c, plan.steps)
	source := find()
	if err != nil {
		return begun{}, err
	}
	sure := e.secure(ctx, c.Memory, plan.steps)
	_ = e.saveStatTable(op.From, c.Seen, turn) // a cancellation is met again, and reported, before the first step
	return begun{plan, way, ready{plan.steps, sure, source}}, nil
}

// planStaged stages the present and plans. Ignored files that the plan would
// overwrite or delete are to be in the snapshot of the present: if there are any,
// it stages them too, and plans once more. The caller commits or discards what is
// staged.
func (e *Engine) planStaged(ctx context.Context, to goal, turn *watched.Turn) (*staged, *Diff, error) {
	c, err := e.stage(ctx, turn)
	if err != nil {
		return nil, nil, err
	}
	c.hold(ctx, e.mirror)
	p, err := e.plan(ctx, c.present(), to)
	if err == nil && len(p.force) > 0 {
		c.wait()
		keepApart(c.Seen, turn)
		if c.Staged, err = c.Again(ctx, p.force); err != nil {
			return nil, nil, err
		}
		e.count(c.Seen)
		p, err = e.plan(ctx, c.present(), to)
	}
	if err != nil {
		c.Discard()
		return nil, nil, err
	}
	return c, p, nil
}

// begin records the operation, before any file is changed. The same transaction
// records the present as a snapshot, to which undo returns. If the present is as
// the last snapshot has it, that one is taken instead; if a prune has dropped it
// meanwhile, the error is [cas.ErrSwept]. If the target was dropped meanwhile, it
// is [ErrNoSnapshot]. From here on no prune drops either of them.
func (e *Engine) begin(ctx context.Context, op running, to goal, c *staged, steps []apply.Step) (way *mirror.Way, err error) {
	op.Where, op.Started, op.Key = e.key, e.now(), rand.Text()
	text, err := objects.EncodeSteps(steps)
	if err != nil {
		return nil, err
	}
	if op.Plan, err = c.Stage.Put(ctx, oid.Blob, text, oid.ID{}); err != nil {
		return nil, objects.StoreError(err)
	}
	done, err := e.commit(ctx, c, Point{Trigger: records.TriggerUndo}, func(u *records.Update, undo *Snapshot) error {
		op.From = undo.ID
		if err := to.checkTarget(&u.View); err != nil {
			return err
		}
		return u.Begin(op.Operation)
	})
	return done.way, err
}

// stageTexts stages the contents that the steps of a plan write and no snapshot has.
func (d *Diff) stageTexts(ctx context.Context, stage *cas.Stage) (ids []oid.ID, err error) {
	staged := map[oid.ID]bool{}
	for _, s := range d.steps {
		if text, ok := d.texts[s.Want.ID]; ok && !staged[s.Want.ID] {
			if _, err := stage.Put(ctx, oid.Blob, text, oid.ID{}); err != nil {
				return nil, objects.StoreError(err)
			}
			ids, staged[s.Want.ID] = append(ids, s.Want.ID), true
		}
	}
	return ids, nil
}

// carryOut makes the changes of an operation that has begun, and records its end.
// Bridged says why the snapshot of the present is not in git yet.
//
// The snapshot to which undo returns is recorded in the store now, so the files
// may be changed. It goes into git at the same time. If that fails, the next
// command tries again. The operation ends only when git is done. Somebody may
// kill an undo while it waits for git, and say undo again: if the first had
// ended, the second would take back one operation more than he meant.
func (e *Engine) carryOut(ctx context.Context, op running, b begun) (out outcome, bridged, err error) {
	var git sync.WaitGroup
	git.Go(func() { bridged = b.way.Finish(ctx) })
	out, err = e.apply(ctx, op, b.ready, false)
	git.Wait()
	if err == nil {
		err = e.end(ctx, op, out)
	}
	return out, bridged, err
}

// standAtTarget ends a restore that found nothing to change. The files stand at its
// target from now on, if it was of all of them.
func (e *Engine) standAtTarget(ctx context.Context, op running, to goal) error {
	if op.Kind != records.KindRestore || len(op.Paths) > 0 {
		return nil
	}
	here, err := e.Here(ctx)
	if err != nil || here != nil && here.ID == op.To {
		return err
	}
	return e.update(ctx, func(u *records.Update) error {
		return errors.Join(to.checkTarget(&u.View), u.Stand(op.To))
	})
}

// A secured waits until it is sure that what steps replace can be brought back.
type secured func() (*objects.Secured, error)

// secure begins to make sure of that, beside the caller, who waits for it. Memory has the
// trees that were made of the present; may be nil.
func (e *Engine) secure(ctx context.Context, memory *capture.Memory, steps []apply.Step) secured {
	k := &objects.Keeper{Root: e.root, Objects: e.objects}
	var out *objects.Secured
	var err error
	var work sync.WaitGroup
	work.Go(func() {
		if memory != nil {
			err = k.Trees(ctx, memory.Trees())
		}
		if err == nil {
			out, err = k.Steps(ctx, steps)
		}
	})
	return func() (*objects.Secured, error) {
		work.Wait()
		return out, err
	}
}

// apply carries out steps. Before that it waits until it is sure that all they replace
// can be brought back. Replay says that some of the steps may be done already.
func (e *Engine) apply(ctx context.Context, op running, what ready, replay bool) (out outcome, err error) {
	sure, err := what.sure()
	if err != nil {
		return out, err
	}
	out.renewed = sure.Renewed
	out.Outcome, err = apply.Apply(ctx, e.root, what.steps, what.source.Write, &apply.Options{
		Alg:       e.alg,
		Refuse:    sure.Refuse,
		Replay:    replay,
		Key:       op.Key,
		Protected: e.protected(),
		Progress:  e.progress("restore"),
	})
	return out, err
}

// end records that the operation is done.
func (e *Engine) end(ctx context.Context, op running, out outcome) error {
	err := e.update(ctx, func(u *records.Update) error {
		return errors.Join(u.End(op.Seq, len(out.Conflicts) > 0, converted[Path](out.There)...), u.Leftover(false, out.Left...))
	})
	if err == nil {
		noteEnd(op.lock, op.Key)
	}
	return err
}

// An outcome is what came of the steps of an operation.
type outcome struct {
	apply.Outcome
	renewed []Note
}

// unfinished makes the error of an operation that was begun and did not end. It
// says what the user can do. An undo can only be finished; a restore or a redo can
// be taken back too.
func unfinished(what string, op *Operation, err error) error {
	next := "the next command finishes it, undo takes it back"
	if op.Kind == records.KindUndo {
		next = "the next command finishes it"
	}
	return fmt.Errorf("%s %w: %s: %w", what, ErrUnfinished, next, err)
}

// restored makes the result of an operation from the outcome of its steps.
func restored(op *Operation, out outcome) *Restored {
	r := &Restored{Renewed: out.renewed, ID: op.To, Undo: op.From, Undid: op.Kind == records.KindUndo, Written: out.Written, Deleted: out.Deleted, Kept: notes(out.Kept), Conflicts: notes(out.Conflicts)}
	for _, c := range out.Conflicts {
		r.Damaged = r.Damaged || errors.Is(c.Err, ErrDamaged)
	}
	return r
}

// with adds what the plan says of paths that no step touches.
func (r *Restored) with(p *Diff) *Restored {
	r.Kept = append(lacks(p.Target), r.Kept...)
	r.Kept, r.Conflicts = append(p.Kept, r.Kept...), append(p.Conflicts, r.Conflicts...)
	r.Marked = p.Marked
	return r
}

// dropped replaces an error of reading the target if the target was pruned
// meanwhile: then that is the error.
func (e *Engine) dropped(ctx context.Context, target *Snapshot, err error) error {
	if errors.Is(err, ErrDamaged) || errors.Is(err, cas.ErrSwept) {
		if _, gone := e.lookup.Find(ctx, target.ID); errors.Is(gone, ErrNoSnapshot) {
			return fmt.Errorf("%w: it was dropped meanwhile", gone)
		}
	}
	return err
}

// notes takes over what a plan or its steps note.
func notes(from []apply.Note) (to []Note) {
	for _, n := range from {
		to = append(to, Note{Path: Path(n.Path), Reason: n.Reason})
	}
	return to
}

// lacks names what a snapshot had and nobody has any more. Which paths that was
// was in what is lost.
func lacks(s *Snapshot) []Note {
	if s.Limits == nil || s.Limits.Overlay.IsZero() {
		return nil
	}
	return []Note{{Path: ".", Reason: "what git cannot hold of the snapshot was in the store, which is gone: exact permissions, bytes before their conversion, empty directories, files kept out of git, such as secrets and large ones"}}
}
