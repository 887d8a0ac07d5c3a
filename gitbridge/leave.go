package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Whose counts the snapshots that the store ref keeps, ours and another program's, and
// returns where the ref is: zero, there is none.
func (r *Repo) Whose(ctx context.Context) (tip oid.ID, ours, others int, err error) {
	if tip, err = r.tip(); err != nil || tip.IsZero() {
		return tip, 0, 0, err
	}
	for s, err := range r.Snapshots(ctx) {
		switch {
		case err != nil:
			return tip, ours, others, err
		case s.Err == nil && !s.Native:
			others++
		default:
			ours++
		}
	}
	return tip, ours, others, nil
}

// Leave takes away what is ours of the repository: the store ref, if it is where it was
// seen, or of one that keeps snapshots of another program ours alone; and these settings. Git itself does that, so its program is needed.
func (r *Repo) Leave(ctx context.Context, tip oid.ID, settings []string) error {
	now, ours, others, err := r.Whose(ctx)
	switch {
	case err != nil:
		return err
	case now != tip:
		return fmt.Errorf("%s has moved: something was recorded meanwhile", StoreRef)
	case others > 0 && ours > 0:
		_, err = r.Rewrite(ctx, func(s StoreSnapshot) bool { return !s.Native })
	case others == 0 && !tip.IsZero():
		_, err = r.git(ctx, nil, "update-ref", "-d", StoreRef, tip.String())
		// git keeps this one, once it is empty.
		if folder := filepath.Join(r.layout.CommonDir, filepath.Dir(filepath.FromSlash(StoreRef))); err == nil {
			if info, _ := os.Lstat(folder); info != nil && info.IsDir() {
				_ = os.Remove(folder)
			}
		}
	}
	for _, name := range settings {
		if err == nil {
			err = r.SetConfig(ctx, name, nil)
		}
	}
	return err
}

// NeedsProgram is an error where there is no git program.
func (r *Repo) NeedsProgram() error {
	if !r.hasProgram() {
		return errors.New("there is no git program, which alone takes a ref or a setting away")
	}
	return nil
}
