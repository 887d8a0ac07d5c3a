package gitbridge

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestARewriteDropsWhatItIsToldAndKeepsTheRest(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		b := r.open()
		var jobs []Job
		for n := range 6 {
			files := many(5)
			files["own"] = string(rune('a' + n))
			jobs = append(jobs, r.snapshot(b, n, files))
			r.bridge(b, jobs[n])
		}
		drop := map[oid.ID]bool{jobs[1].Snapshot: true, jobs[4].Snapshot: true}
		keep := func(s StoreSnapshot) bool { return !drop[s.ID] }
		dropped, err := b.Rewrite(context.Background(), keep)
		if err != nil || len(dropped) != 2 {
			t.Fatalf("%v, %v", dropped, err)
		}
		r.wantChain(b, jobs[0], jobs[2], jobs[3], jobs[5])
		r.Git("gc", "-q", "--prune=now")
		r.Clean()
		if out, err := r.Try("cat-file", "-e", jobs[1].Snapshot.String()); err == nil {
			t.Errorf("the dropped snapshot is still there: %s", out)
		}
		tip := r.Git("rev-parse", StoreRef)
		for _, keep := range []func(StoreSnapshot) bool{keep, func(StoreSnapshot) bool { return false }} {
			if dropped, err := b.Rewrite(context.Background(), keep); err != nil || dropped != nil || r.Git("rev-parse", StoreRef) != tip {
				t.Errorf("%v, %v", dropped, err)
			}
		}
	})
}

func TestARewriteKeepsWhatCameMeanwhile(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	first, second := r.snapshot(b, 1, many(1)), r.snapshot(b, 2, many(2))
	third := r.snapshot(b, 3, many(3))
	r.bridge(b, first)
	r.bridge(b, second)
	done := false
	_, err := b.Rewrite(context.Background(), func(s StoreSnapshot) bool {
		if !done {
			done = true
			r.bridge(r.open(), third)
		}
		return s.ID != first.Snapshot
	})
	if err != nil {
		t.Fatal(err)
	}
	r.wantChain(b, second, third)
}

func TestASnapshotThatRacesARewriteIsWhole(t *testing.T) {
	// While the second snapshot's objects are loaded, the first, from which
	// they differ little, is dropped from the chain and collected.
	r := newRepo(t, oid.SHA1)
	b := r.open()
	files := many(20)
	zero := r.snapshot(b, 0, map[string]string{"z": "z"})
	first := r.snapshot(b, 1, files)
	r.bridge(b, zero)
	r.bridge(b, first)
	files["new"] = "n"
	second := r.snapshot(b, 2, files)
	load, blob := second.Load, r.alg.Sum(oid.Blob, []byte("n"))
	done := false
	second.Load = func(id oid.ID) (oid.Kind, []byte, error) {
		if id == blob && !done {
			done = true
			if _, err := r.open().Rewrite(context.Background(), func(s StoreSnapshot) bool { return s.ID == zero.Snapshot }); err != nil {
				t.Error(err)
			}
			r.Git("gc", "-q", "--prune=now")
		}
		return load(id)
	}
	r.bridge(b, second)
	r.wantChain(b, zero, second)
	r.Clean()
}

func TestABrokenStoreIsNamedAndRepairedOnRequest(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	first, second := r.snapshot(b, 1, many(4)), r.snapshot(b, 2, many(5))
	r.bridge(b, first)
	report := r.bridge(b, second)
	empty := func(id oid.ID) { // as a loss of power leaves it
		t.Helper()
		path := r.Path(".git", "objects", id.String()[:2], id.String()[2:])
		if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	empty(report.Link)
	empty(second.Snapshot)
	empty(r.alg.Sum(oid.Blob, []byte("text 4")))
	third := r.snapshot(b, 3, many(6))
	if _, err := r.open().Bridge(context.Background(), third); !errors.Is(err, ErrBroken) {
		t.Errorf("%v, want ErrBroken", err)
	}
	if _, err := r.open().Rewrite(context.Background(), func(StoreSnapshot) bool { return false }); !errors.Is(err, ErrBroken) {
		t.Errorf("%v, want ErrBroken", err)
	}
	r.rebuild(first, second, third)
	tip := r.Git("rev-parse", StoreRef)
	r.rebuild(first, second, third)
	if now := r.Git("rev-parse", StoreRef); now != tip {
		t.Errorf("a whole chain was made anew: %s, then %s", tip, now)
	}
	r.wantChain(b, first, second, third)
	r.Git("rev-list", "--objects", StoreRef)
}
