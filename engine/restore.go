package engine

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Restore makes the worktree what it was at a snapshot.
//
// The order is the guarantee. First one durable transaction records the present
// as a snapshot, and the operation with its plan. Then the changes are made. Each
// is checked against what the plan expects: an edit that was made meanwhile is a
// conflict, and survives. Then comes one sync, and last the operation's end. After
// a crash anywhere the next command finishes what was begun, and [Engine.Undo]
// takes it back.
//
// If nothing has to change, nothing is recorded, and Undo has no step to take
// back. The files stand at the snapshot all the same.
func (e *Engine) Restore(ctx context.Context, id oid.ID, opt *RestoreOptions) (*Restored, error) {
	to, err := e.aimAt(ctx, id, opt)
	if err != nil {
		return nil, err
	}
	to.chosen = true
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	finished, err := e.recoverFirst(ctx, lock)
	if err != nil {
		return nil, err
	}
	r, err := e.operate(ctx, running{&Operation{Kind: records.KindRestore}, lock}, to)
	if err == nil {
		r.Recovered = finished
	}
	return r, err
}

// An Edit gives a file another content than a snapshot has, in a restore of that
// snapshot: parts of it, for instance. Change is what a [Plan] of the same restore
// says of the path. If the file has something else when the restore begins, it
// stays, and is a conflict. The content was made for what was there.
type Edit struct {
	Change
	Content []byte
}

// checkEdits is an error if edits cannot be part of a restore.
func checkEdits(edits []Edit, opt *RestoreOptions) error {
	if len(edits) > 0 && (len(opt.Paths) == 0 || opt.KeepMine) {
		return fmt.Errorf("%w: a restore with edits has to name its paths, and is no merge", ErrRefused)
	}
	for _, ed := range edits {
		if tree.Mode(ed.To.Mode).Type() != tree.File {
			return fmt.Errorf("%w: %q becomes no file, so it cannot be edited", ErrRefused, ed.Path)
		}
	}
	return nil
}

// editsOf returns what the edits want at their paths, and their contents.
func editsOf(edits []Edit, alg oid.Algorithm) (wanted map[string]plan.Edit, texts map[oid.ID][]byte) {
	wanted, texts = map[string]plan.Edit{}, map[oid.ID][]byte{}
	for _, ed := range edits {
		id := alg.Sum(oid.Blob, ed.Content)
		texts[id] = ed.Content
		wanted[string(ed.Path)] = plan.Edit{
			Have: apply.Node{Mode: tree.Mode(ed.From.Mode), ID: ed.From.ID},
			Want: apply.Node{Mode: tree.Mode(ed.To.Mode), ID: id},
		}
	}
	return wanted, texts
}

// stageTexts stages the contents that the steps of a plan write and no snapshot has.
func (p *Plan) stageTexts(ctx context.Context, stage *cas.Stage) (ids []oid.ID, err error) {
	staged := map[oid.ID]bool{}
	for _, s := range p.steps {
		if text, ok := p.texts[s.Want.ID]; ok && !staged[s.Want.ID] {
			if _, err := stage.Put(ctx, oid.Blob, text, oid.ID{}); err != nil {
				return nil, objects.StoreError(err)
			}
			ids, staged[s.Want.ID] = append(ids, s.Want.ID), true
		}
	}
	return ids, nil
}
