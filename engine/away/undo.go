package away

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// What undo and redo take back goes with the snapshots: each has the operations that began with it, and the key of the
// one that had begun last when it was taken. From that key a resume finds both stacks, however many machines have gone
// on with the history side by side.

// A trail has the operations that came with snapshots.
type trail struct {
	last  map[oid.ID]string       // of a snapshot: the key of the operation that had begun last
	all   map[string]operation    // by key
	plans map[oid.ID]*restic.Node // where the plans are
	read  map[restic.ID]bool      // the files of snapshots whose records were read
}

func newTrail() trail {
	return trail{last: map[oid.ID]string{}, all: map[string]operation{}, plans: map[oid.ID]*restic.Node{}, read: map[restic.ID]bool{}}
}

// add takes over what a record says of operations. Beside is the directory that the record lies in.
func (t *trail) add(d *Distant, r *record, beside map[string]*restic.Node) {
	t.read[d.ID] = true
	if r.Last != "" {
		t.last[d.Of] = r.Last
	}
	for _, op := range r.Operations {
		op.from = d.Of
		t.all[op.Key] = op
		if n := beside[blobPrefix+op.Plan.String()]; n != nil {
			t.plans[op.Plan] = n
		}
	}
}

// plans stores the plans of the operations of a record. One that is not whole any more is left out: nobody gets to undo
// with it what it does not say.
func (p *push) plans(nodes *[]restic.Node, of []operation) error {
	done := map[oid.ID]bool{}
	for _, op := range of {
		if done[op.Plan] {
			continue
		}
		done[op.Plan] = true
		err := p.object(nodes, blobPrefix+op.Plan.String(), op.Plan, p.payloads(oid.Blob))
		if err != nil && (!errors.Is(err, records.ErrDamaged) || p.ctx.Err() != nil) {
			return err
		}
	}
	return nil
}

// inherit gives the worktree, which is what a snapshot is, what undo and redo took back when that was taken. List are
// the snapshots that came with it. The notes say where damage ends that.
func (v *receiver) inherit(list []*Distant, d *Distant) (left []records.Note, err error) {
	for tries := 1; ; tries++ {
		left, err = v.tryInherit(list, d)
		if !errors.Is(err, cas.ErrSwept) || tries == sweptTries {
			return left, err
		}
		v.anew()
	}
}

func (v *receiver) tryInherit(list []*Distant, d *Distant) (left []records.Note, err error) {
	w := stacks{v: v, list: list, met: map[string]bool{}}
	if err := w.begin(d); err != nil {
		return w.left, err
	}
	last, err := w.find(v.p.trail.last[d.Of])
	if err != nil || last == nil {
		return w.left, err
	}
	undo, err := w.down(last.Key)
	if err != nil {
		return nil, err
	}
	redo, err := w.down(last.Beside)
	if err != nil {
		return nil, err
	}
	if last.Kind == records.KindUndo {
		undo, redo = redo, undo
	}
	err = v.p.stage.Commit(v.p.ctx, func(u *cas.Update) error { return records.Change(u, v.r.Owner).Inherit(undo, redo) })
	return w.left, objects.StoreError(err)
}

// stacks are the ways down from the operations that undo and redo take back.
type stacks struct {
	v    *receiver
	list []*Distant
	met  map[string]bool
	left []records.Note
}

// begin reads what a snapshot says that had come before, or the first of its copies that can be read. Where none can,
// the worktree begins with nothing to undo.
func (w *stacks) begin(d *Distant) (err error) {
	p := w.v.p
	copies := append([]*Distant{d}, d.Copies...)
	if slices.ContainsFunc(copies, func(d *Distant) bool { return p.trail.read[d.ID] }) {
		return nil
	}
	for _, d := range copies {
		if err = p.readTrail(d); err == nil || !leavable(err) || p.ctx.Err() != nil {
			return err
		}
	}
	w.left = append(w.left, records.Note{Path: records.Path(d.Of.String()), Reason: fmt.Sprintf("nothing can be undone of what came before it: %v", err)})
	return nil
}

// down returns an operation and what lies below it, as far as that came, with their plans in the stage.
func (w *stacks) down(key string) (stack []*records.Operation, err error) {
	for key != "" && !w.met[key] {
		w.met[key] = true
		op, err := w.find(key)
		if err != nil || op == nil {
			return stack, err
		}
		if err = op.check(); err == nil {
			err = w.v.p.plan(op.Plan)
		}
		if err != nil && (!leavable(err) || w.v.p.ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			w.left = append(w.left, records.Note{Path: records.Path(op.from.String()), Reason: fmt.Sprintf("undo and redo go no further than to what came after it: the plan of a %s: %v", op.Kind, err)})
			return stack, nil
		}
		stack = append(stack, op.here())
		key = op.Below
	}
	return stack, nil
}

// find returns an operation, nil if none came. It reads the records of snapshots that were here before, too, and of
// their copies. Where one cannot be read and the operation is in no other, that is named.
func (w *stacks) find(key string) (*operation, error) {
	t := &w.v.p.trail
	if op, ok := t.all[key]; ok {
		return &op, nil
	}
	if key == "" {
		return nil, nil
	}
	var unread []records.Note
	for _, d := range w.list {
		for _, d := range append([]*Distant{d}, d.Copies...) {
			if t.read[d.ID] || len(d.Said(operationsTag)) == 0 {
				continue
			}
			t.read[d.ID] = true
			err := w.v.p.readTrail(d)
			if err != nil && (!leavable(err) || w.v.p.ctx.Err() != nil) {
				return nil, err
			}
			if err != nil {
				unread = append(unread, records.Note{Path: records.Path(d.Of.String()), Reason: fmt.Sprintf("what undo and redo take back may be missing: %v", err)})
			}
		}
	}
	if op, ok := t.all[key]; ok {
		return &op, nil
	}
	w.left = append(w.left, unread...)
	return nil, nil
}

// readTrail reads what the record of a snapshot says of operations.
func (p *pull) readTrail(d *Distant) error {
	top, err := p.byName(d.Tree)
	if err != nil {
		return err
	}
	at, err := dirOf(top, besideName)
	if err != nil {
		return err
	}
	beside, err := p.byName(at)
	if err != nil {
		return err
	}
	r, _, err := p.record(beside, d.Of)
	if err == nil {
		p.trail.add(d, r, beside)
	}
	return err
}

// plan stages the plan of an operation. An undo reads there what that has made, and takes it away.
func (p *pull) plan(id oid.ID) error {
	n := p.trail.plans[id]
	if n == nil {
		return tampered("it is missing")
	}
	name := blobPrefix + id.String()
	payload, err := p.object(map[string]*restic.Node{name: n}, name, oid.Blob, id)
	if err != nil {
		return err
	}
	steps, err := objects.DecodeSteps(payload)
	if errors.Is(err, cas.ErrNewerFormat) {
		return p.put(oid.Blob, payload)
	}
	if err != nil || slices.ContainsFunc(steps, outside) {
		return tampered("it is no plan: %v", err)
	}
	return p.put(oid.Blob, payload)
}

// outside reports whether a step is of a path that is not below the worktree.
func outside(s apply.Step) bool { return !filepath.IsLocal(filepath.FromSlash(s.Path)) }
