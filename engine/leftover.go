package engine

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// Temporary files of a restore that could not be removed are not the user's.
// Their paths are in the store, and nothing goes by a pattern: each later
// capture tries to remove them, and leaves out what stays.

const leftoverReason = "a temporary file of an earlier restore that could not be removed"

func (e *Engine) leftoverKey(path string) []byte { return []byte(e.key + "\x00" + path) }

// noteLeftovers records the temporary files that an operation left behind.
func (e *Engine) noteLeftovers(u *cas.Update, left []string) error {
	for _, path := range left {
		if err := u.Table(tableLeftovers).Put(e.leftoverKey(path), []byte{1}); err != nil {
			return err
		}
	}
	return nil
}

// leftovers returns the temporary files that are still there. Unless nothing
// may be changed it tries to remove them first.
func (e *Engine) leftovers(ctx context.Context, dry bool) (stay []string, err error) {
	var known []string
	err = e.view(ctx, func(v *cas.View) error {
		prefix := string(e.leftoverKey(""))
		for key := range v.Table(tableLeftovers).Prefix([]byte(prefix)) {
			known = append(known, strings.TrimPrefix(string(key), prefix))
		}
		return nil
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
	return stay, storeError(e.opened().Update(ctx, func(u *cas.Update) error {
		for _, path := range known {
			if slices.Contains(stay, path) {
				continue
			}
			if err := u.Table(tableLeftovers).Delete(e.leftoverKey(path)); err != nil {
				return err
			}
		}
		return nil
	}))
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
