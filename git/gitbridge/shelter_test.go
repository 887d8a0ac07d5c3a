package gitbridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// collects has git collect from now on, as other programs see it, and returns what
// makes it end.
func (r *repo) collects() (end func()) {
	r.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(".git/gc.pid", fmt.Sprintf("%d %s", os.Getpid(), host))
	return func() {
		if err := os.Remove(filepath.Join(r.dir, ".git", "gc.pid")); err != nil {
			r.t.Error(err)
		}
	}
}

// unnamed are the files of objects that a collection would remove now.
func (r *repo) unnamed() (files []string) {
	r.t.Helper()
	for _, path := range r.looseFiles() {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		if !slices.Contains(r.reachable(), id) {
			files = append(files, path)
		}
	}
	return files
}

func (r *repo) reachable() []string {
	r.t.Helper()
	return strings.Fields(r.git("rev-list", "--objects", "--no-object-names", "--all"))
}

// A collection looks what the refs name, and removes later what they did not. A turn that
// comes in between loses nothing, at no moment: git stops in the middle of its work where
// it meets a ref whose objects it has removed, and leaves a lock that keeps it from all
// later collections, or a graph of commits that it refuses to read.
func TestACollectionThatLooksBeforeTheRefMovesAndRemovesAfterwardsTakesNothing(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		for _, begins := range []string{"before", "between"} { // the objects are written, and the ref moves
			r := newRepo(t, alg)
			b := r.openNoted()
			jobs := r.turns(b, 0, 2)
			r.loose("added once, and not any more")
			job := r.snapshot(b, 2, map[string]string{"a/b/c": "2", "found": "added once, and not any more"})
			var gone []string
			end := func() {}
			if begins == "before" {
				end = r.collects()
			}
			calls := 0
			job.Recorded = func(context.Context) error {
				if calls++; calls == 1 {
					if begins == "between" {
						end = r.collects()
					}
					gone = r.unnamed()
				}
				return nil
			}
			jobs = append(jobs, job)
			report := r.bridge(b, job)
			if calls == 0 || len(gone) == 0 {
				t.Errorf("%v, %s: waited %d times, %d files to remove", alg, begins, calls, len(gone))
			}
			for _, path := range gone {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}
			if r.wantClean(); begins == "before" && !report.Packed {
				t.Errorf("%v: not in a pack: %+v", alg, report)
			}
			end()
			r.git("gc", "-q", "--prune=now") // nothing is held any more
			more := r.turns(b, 3, 5)
			r.wantClean()
			r.wantChain(b, append(jobs, more...)...)
			if held, _ := filepath.Glob(filepath.Join(r.dir, ".git", "objects", "pack", "*.keep")); len(held) > 0 {
				t.Errorf("still held: %v", held)
			}
		}
	}
}

// Where no git collects, a turn makes no pack.
func TestATurnBesideNoCollectionMakesNoPack(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	for n := range 3 {
		if report := r.bridge(b, r.snapshot(b, n, map[string]string{"a": fmt.Sprint(n)})); report.Packed {
			t.Errorf("turn %d: %+v", n, report)
		}
	}
	if packs, _ := filepath.Glob(filepath.Join(r.dir, ".git", "objects", "pack", "*")); len(packs) > 0 {
		t.Errorf("%v", packs)
	}
}
