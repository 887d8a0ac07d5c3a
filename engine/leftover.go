package engine

import (
	"context"
	"hash/fnv"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// Temporary files of a restore that could not be removed are not the user's.
// Their paths are in the store, and nothing goes by a pattern: each later
// capture tries to remove them, and leaves out what stays.

const leftoverReason = "a temporary file of an earlier restore that could not be removed"

// leftovers returns the temporary files that are still there. Unless nothing
// may be changed it tries to remove them first.
func (e *Engine) leftovers(ctx context.Context, dry bool) (stay []string, err error) {
	var known []string
	err = e.view(ctx, func(v *records.View) (err error) {
		known, err = v.Leftovers()
		return err
	})
	if err != nil || len(known) == 0 || dry {
		return known, err
	}
	if stay, err = apply.Sweep(e.root, known, &apply.Options{Alg: e.alg, Protected: e.protected()}); err != nil {
		return known, nil // they stay, and are left out
	}
	if len(stay) == len(known) {
		return stay, nil
	}
	gone := slices.DeleteFunc(known, func(path string) bool { return slices.Contains(stay, path) })
	return stay, e.update(ctx, func(u *records.Update) error { return u.ForgetLeftovers(gone) })
}

// withoutLeftovers is a policy under which temporary files of ours are left
// out. The other policy may be nil.
func (e *Engine) withoutLeftovers(ctx context.Context, dry bool, other worktree.Policy) (worktree.Policy, error) {
	stay, err := e.leftovers(ctx, dry)
	if err != nil || len(stay) == 0 {
		return other, err
	}
	return &withoutLeftovers{Policy: other, paths: stay}, nil
}

type withoutLeftovers struct {
	worktree.Policy // nil: everything is usual
	paths           []string
}

// Place leaves out the paths.
func (w *withoutLeftovers) Place(path string, isDir, ignored bool, size int64) (worktree.Place, string) {
	switch {
	case slices.Contains(w.paths, path):
		return worktree.Nowhere, leftoverReason
	case w.Policy == nil:
		return worktree.Usual, ""
	}
	return w.Policy.Place(path, isDir, ignored, size)
}

// Full is the other policy's.
func (w *withoutLeftovers) Full(files int) string {
	if w.Policy == nil {
		return ""
	}
	return w.Policy.Full(files)
}

// Digest covers the paths too.
func (w *withoutLeftovers) Digest() uint64 {
	h := fnv.New64a()
	for _, path := range w.paths {
		_, _ = h.Write([]byte(path + "\x00"))
	}
	if w.Policy == nil {
		return h.Sum64()
	}
	return h.Sum64() ^ w.Policy.Digest()
}
