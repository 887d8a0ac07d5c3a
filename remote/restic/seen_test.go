package restic

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// A fleeting place shows an empty folder once, as a share does that goes away for a moment.
type fleeting struct {
	depot.Place
	folder string
}

func (f *fleeting) List(ctx context.Context, folder string) ([]depot.File, error) {
	if folder == f.folder {
		f.folder = ""
		return nil, nil
	}
	return f.Place.List(ctx, folder)
}

func TestAPruneWhoseListWasNotWholeRemovesNothing(t *testing.T) {
	for _, folder := range []string{"snapshots", "index", "data"} {
		w := newWorld(t, 1)
		r, err := w.open(-1, 0)
		if err == nil {
			err = w.push(r, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		was := packsOf(t, w.dir)
		p, err := depot.Open(w.dir)
		if err == nil {
			r, err = Open(t.Context(), &fleeting{p, folder}, password, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.prune(r, false); folder == "snapshots" && !errors.Is(err, ErrLocked) {
			t.Errorf("without a list of snapshots it says %v", err)
		}
		w.check("without a list of " + folder)
		if now := packsOf(t, w.dir); folder != "index" && !maps.Equal(now, was) {
			t.Errorf("without a list of %s of the packs %v are left %v", folder, was, now)
		}
	}
}
