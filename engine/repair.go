package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// Repair takes a store that lacks what was recorded last, as after an older copy
// of its file was put in its place, for the one to go on with; and finishes what
// a crash left unfinished, as [Engine.Recover] does. What such a store has as
// unfinished may have ended since: it is given up, not finished.
func (e *Engine) Repair(ctx context.Context) (done *Restored, err error) {
	s := e.opened()
	if s == nil {
		return nil, nil
	}
	lock, err := e.lockOperations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	behind, err := s.Accept(ctx)
	if err != nil {
		return nil, objects.StoreError(err)
	}
	if behind {
		if err := e.update(ctx, (*records.Update).GiveUpAll); err != nil {
			return nil, err
		}
	}
	return e.recoverFirst(ctx, lock)
}

// mended is said where the store was found damaged and is whole again.
const mended = "the newest header of the store was damaged and was put back; nothing was lost, but the disk may lose more: \"rewind verify\" reads everything"

// Warnings returns one sentence for each setting that is unknown or malformed,
// and for damage that was mended.
func (e *Engine) Warnings() []string {
	out := e.conf.Warnings()
	if _, err := durable.Look(filepath.Join(e.table, tableFile)); errors.Is(err, durable.ErrForeign) {
		out = append(out, fmt.Sprintf("every file is read again at every snapshot: %v", err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store != nil && e.store.Mended() {
		out = append(out, mended)
	}
	return out
}
