package engine

import (
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
)

// Temporary files of a restore that could not be removed are not the user's.
// Their paths are in the store, and nothing goes by a pattern: each later
// capture tries to remove them, and leaves out what stays.

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
