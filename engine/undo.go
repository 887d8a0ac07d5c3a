package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Undo takes back the newest restore (or redo) that was not yet taken back: it
// restores the snapshot that was made just before it, within the same paths.
// Undo is an operation of its own: Redo takes it back, and what was there in
// between is recorded. [ErrNothing] if there is nothing to take back.
//
// An unfinished operation is rolled back by Undo, not finished first.
func (e *Engine) Undo(ctx context.Context) (*Restored, error) {
	return e.revert(ctx, "undo")
}

// Redo takes back the newest undo, if nothing was restored since. Otherwise
// it is [ErrNothing].
func (e *Engine) Redo(ctx context.Context) (*Restored, error) {
	return e.revert(ctx, "redo")
}

// PlanUndo tells what Undo would do now, and changes nothing; redo says that
// Redo is meant.
func (e *Engine) PlanUndo(ctx context.Context, redo bool) (*Plan, error) {
	kind := "undo"
	if redo {
		kind = "redo"
	}
	op, err := e.reverted(ctx, kind)
	if err != nil {
		return nil, err
	}
	target, err := e.Find(ctx, op.From)
	if err != nil {
		return nil, err
	}
	return e.preview(ctx, target, &RestoreOptions{Paths: texts(op.Paths)}, op.Seq)
}

func (e *Engine) revert(ctx context.Context, kind string) (*Restored, error) {
	op, err := e.reverted(ctx, kind)
	if err != nil {
		return nil, err
	}
	target, err := e.Find(ctx, op.From)
	if err != nil {
		return nil, err
	}
	return e.operate(ctx, &Operation{Kind: kind, Reverts: op.Seq}, target, &RestoreOptions{Paths: texts(op.Paths)})
}

// reverted returns the operation that an undo or redo takes back.
func (e *Engine) reverted(ctx context.Context, kind string) (*Operation, error) {
	h, err := e.history(ctx)
	if err != nil {
		return nil, err
	}
	list := h.undo
	if kind == "redo" {
		list = h.redo
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: there is no restore to %s", ErrNothing, kind)
	}
	return list[len(list)-1], nil
}

// Recover finishes an operation that a crash left unfinished. Every method
// that changes the worktree or records it does so first; nil if there was
// none. The snapshot ids of what was finished are returned.
func (e *Engine) Recover(ctx context.Context) (finished []oid.ID, err error) {
	h, err := e.history(ctx)
	if err != nil || h.open == nil {
		return nil, err
	}
	unlock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock.Unlock()) }()
	return []oid.ID{h.open.To}, e.recoverLocked(ctx)
}

// recoverLocked finishes what is unfinished; the operation lock is held, so
// whoever began it is dead.
func (e *Engine) recoverLocked(ctx context.Context) error {
	h, err := e.history(ctx)
	if err != nil || h.open == nil {
		return err
	}
	_, journal, err := e.object(ctx, h.open.Plan)
	if err != nil {
		return fmt.Errorf("unfinished %s: %w", h.open.Kind, err)
	}
	steps, err := decodeSteps(journal)
	if err != nil {
		return fmt.Errorf("unfinished %s: %w", h.open.Kind, err)
	}
	_, err = e.apply(ctx, h.open, steps, true)
	return err
}

func texts(paths []Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, string(p))
	}
	return out
}
