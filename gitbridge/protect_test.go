package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// collects has git collect from now on, as other programs see it, and returns what
// makes it end.
func (r *repo) collects() (end func()) {
	r.T.Helper()
	host, err := os.Hostname()
	if err != nil {
		r.T.Fatal(err)
	}
	r.Write(".git/gc.pid", fmt.Sprintf("%d %s", os.Getpid(), host))
	return func() {
		if err := os.Remove(r.Path(".git", "gc.pid")); err != nil {
			r.T.Error(err)
		}
	}
}

// unnamed are the files of objects that a collection would remove now.
func (r *repo) unnamed() (files []string) {
	r.T.Helper()
	for _, path := range r.looseFiles() {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		if !slices.Contains(r.reachable(), id) {
			files = append(files, path)
		}
	}
	return files
}

func (r *repo) reachable() []string {
	r.T.Helper()
	return strings.Fields(r.Git("rev-list", "--objects", "--no-object-names", "--all"))
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
			if r.Clean(); begins == "before" && !report.Packed {
				t.Errorf("%v: not in a pack: %+v", alg, report)
			}
			end()
			r.Git("gc", "-q", "--prune=now") // nothing is held any more
			more := r.turns(b, 3, 5)
			r.Clean()
			r.wantChain(b, append(jobs, more...)...)
			if held := r.packFiles("*.keep"); len(held) > 0 {
				t.Errorf("still held: %v", held)
			}
		}
	}
}

func (r *repo) packFiles(pattern string) []string {
	list, err := filepath.Glob(r.Path(".git/objects/pack", pattern))
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// A ref in another system's form, made while git collects, holds no pack for ever.
func TestARefThatIsMadeWhileGitCollectsLeavesNoPackHeld(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 2)
	end := r.collects()
	tree, err := b.tip()
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.ReadCommit(tree)
	if err != nil {
		t.Fatal(err)
	}
	commit := fmt.Appendf(nil, "tree %v\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n", c.Tree)
	if _, err := b.CreateRef(t.Context(), "refs/other/one", []Loose{{Kind: oid.Commit, Payload: commit}}); err != nil {
		t.Fatal(err)
	}
	end()
	if held := r.packFiles("*.keep"); len(held) > 0 {
		t.Errorf("still held after it was made: %v", held)
	}
	r.turns(b, 2, 4)
	if held := r.packFiles("*.keep"); len(held) > 0 {
		t.Errorf("still held turns later: %v", held)
	}
}

// Nothing of ours is written into a repository of unknown form but by the git program.
func TestARepositoryOfUnknownFormGetsNoPackOfOurs(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	known := r.openNoted()
	jobs := r.turns(known, 0, 2)
	l := *known.layout
	l.UnknownExtensions = []string{"somethingnew"}
	b, err := Open(&l, &Options{Own: r.Path(".git", "own")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	defer r.collects()()
	job := r.snapshot(b, 3, map[string]string{"a/b/c": "3"})
	job.After = jobs[len(jobs)-1].Snapshot
	if _, err := b.Bridge(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if packs := r.packFiles("*"); len(packs) > 0 {
		t.Errorf("packs of ours: %v", packs)
	}
}

// A job whose pack cannot be written has its objects in files: the ref can move.
func TestAPackThatCannotBeWrittenKeepsNoSnapshotFromGit(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 2)
	pack := r.Path(".git/objects/pack")
	if err := errors.Join(os.RemoveAll(pack), os.WriteFile(pack, nil, 0o444)); err != nil {
		t.Fatal(err)
	}
	r.bridge(b, r.snapshot(b, 3, map[string]string{"a/b/c": "3"}))
	defer r.collects()()
	if _, err := b.Bridge(t.Context(), r.snapshot(b, 4, map[string]string{"a/b/c": "4"})); err != nil {
		t.Errorf("a few objects, which had room as files: %v", err)
	}
}

// When the ref has moved the snapshot is in git, whatever comes of a pack afterwards.
func TestASnapshotThatTheRefNamesIsNotSaidToBeMissing(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 2)
	job := r.snapshot(b, 3, map[string]string{"a/b/c": "3"})
	reads := map[oid.ID]int{}
	var mu sync.Mutex
	no := errors.New("no room")
	job.Source = func([]oid.ID) gitodb.Source {
		return func(id oid.ID) (Object, error) {
			mu.Lock()
			defer mu.Unlock()
			if reads[id]++; reads[id] > 1 {
				return Object{Kind: oid.Blob, Size: 1, Data: broken1{no}}, nil
			}
			kind, p, err := r.load(id)
			return gitodb.Payload(kind, p), err
		}
	}
	c, err := DecodeSnapshot(job.Commit, r.alg)
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.writer(&job)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	began := false
	w.refs = b.refs(&gitref.Options{Patience: patience, Own: b.own, Committer: b.Identity(), Share: func(path string) error {
		if !began && strings.HasSuffix(path, ".lock") { // the moment before the ref is replaced
			began = true
			r.collects()
		}
		return nil
	}})
	_, _, err = w.bridge(t.Context(), c)
	if !began {
		t.Fatal("git did not begin to collect")
	}
	if in := b.Keeps(t.Context(), job.Snapshot); in && err != nil {
		t.Errorf("the ref keeps the snapshot, and the bridge says: %v", err)
	}
}

type broken1 struct{ err error }

func (b broken1) Read([]byte) (int, error) { return 0, b.err }
func (b broken1) Close() error             { return nil }

// What is to be written may take as long as it takes, and keeps nobody from the ref.
func TestWhatIsProtectedMayTakeLongerThanAnybodyWaitsForTheRef(t *testing.T) {
	was := patience
	patience = 300 * time.Millisecond
	if testing.Short() { // under Wine one try for the ref takes as long
		patience = 3 * time.Second
	}
	defer func() { patience = was }()
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 2)
	files := map[string]string{}
	for n := range 8 {
		files[fmt.Sprint("f", n)] = fmt.Sprint("big ", n)
	}
	job := r.snapshot(b, 3, files)
	var slow atomic.Bool
	started := make(chan struct{})
	var once sync.Once
	job.Source = func([]oid.ID) gitodb.Source {
		return func(id oid.ID) (Object, error) {
			if slow.Load() { // a large file that is compressed
				once.Do(func() { close(started) })
				time.Sleep(patience / 2)
			}
			kind, p, err := r.load(id)
			return gitodb.Payload(kind, p), err
		}
	}
	var end func()
	job.Recorded = func(context.Context) error { // git begins to collect while the store waits for the disk
		if end == nil {
			end = r.collects()
			slow.Store(true)
		}
		return nil
	}
	other, o := make(chan error, 1), r.openNoted()
	second := r.snapshot(o, 4, map[string]string{"a": "other"})
	go func() {
		<-started
		time.Sleep(20 * time.Millisecond)
		_, err := o.Bridge(context.Background(), second)
		other <- err
	}()
	if _, err := b.Bridge(t.Context(), job); err != nil {
		t.Errorf("no one has the ref: %v", err)
	}
	if err := <-other; err != nil {
		t.Errorf("another process, meanwhile: %v", err)
	}
}
