package gitbridge

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The link is one of the objects that get a file of their own: with it they may be one
// too many, which must not become a pack that nobody notes.
func TestASnapshotOfAsManyObjectsAsGetFilesMakesNoPack(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	r.bridge(b, r.snapshot(b, 1, map[string]string{"x": "x"}))
	packs := func() int { return len(r.packFiles("*.pack")) }
	met := false
	for n := looseMax - 4; n <= looseMax; n++ {
		files := map[string]string{"x": "x"}
		for i := range n {
			files[fmt.Sprintf("f%d", i)] = fmt.Sprint(n, "/", i)
		}
		was := packs()
		report := r.bridge(b, r.snapshot(b, n, files))
		if now := packs(); !report.Packed && now != was {
			t.Errorf("%d objects, not packed says the report: there were %d packs, and are %d", report.Written, was, now)
		}
		met = met || report.Written == looseMax && !report.Packed
	}
	if !met {
		t.Errorf("no snapshot had %d objects", looseMax)
	}
	r.Clean()
}

// Many processes wait for their records behind one that has the store for long. One
// whose record is there is not kept from the ref by them, and neither are they when
// theirs come.
func TestManyJobsWhoseRecordsComeLateHinderNoOther(t *testing.T) {
	patiently(t)
	const many = 28
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.bridge(b, r.snapshot(b, 1, map[string]string{"x": "x"}))
	release := make(chan struct{})
	var waiting, all sync.WaitGroup
	waiting.Add(many)
	jobs := make([]Job, many)
	for n := range jobs {
		jobs[n] = r.snapshot(b, 2+n, map[string]string{"x": fmt.Sprint(n)})
		tries := 0
		jobs[n].Recorded = func(ctx context.Context) error {
			if tries++; tries == 2 {
				waiting.Done() // now without the lock
			}
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	mine := r.snapshot(b, 100, map[string]string{"x": "mine"})
	mine.Recorded = func(context.Context) error { return nil }
	for n, j := range jobs {
		o := r.openNoted()
		all.Go(func() {
			if _, err := o.Bridge(t.Context(), j); err != nil {
				t.Errorf("job %d: %v", n, err)
			}
		})
	}
	began := time.Now()
	if _, err := r.openNoted().Bridge(t.Context(), mine); err != nil {
		t.Errorf("the one whose record is there: %v after %v", err, time.Since(began))
	}
	waiting.Wait()
	close(release)
	all.Wait()
	r.Clean()
}
