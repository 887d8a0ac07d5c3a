package gitbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestOnlyTheDifferenceIsLookedUpAndWritten(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	files := many(200)
	first := r.snapshot(b, 1, files)
	report := r.bridge(b, first)
	if !report.Packed || report.Looked != 200+7+7+1 || report.Written != report.Looked+2 {
		t.Errorf("first: %+v", report)
	}
	r.Clean()
	files = maps.Clone(files)
	files["d3/e/f3"] = "changed"
	second := r.snapshot(b, 2, files)
	if report = r.bridge(b, second); report.Packed || report.Looked != 4 || report.Written != 5 {
		t.Errorf("second: %+v", report)
	}
	r.Clean()
	if report = r.bridge(b, second); report != (Report{}) {
		t.Errorf("again: %+v", report)
	}
	if report = r.bridge(r.open(), first); report != (Report{}) {
		t.Errorf("an earlier one again: %+v", report)
	}
	r.wantChain(b, first, second)
}

func TestTheRefWaitsForASnapshotOfWhichGitHasEveryObject(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	job := r.snapshot(b, 1, many(3))
	r.bridge(b, job)
	r.Git("update-ref", "-d", StoreRef)
	refused := errors.New("it was not recorded")
	job.Recorded = func(context.Context) error { return refused }
	if _, err := b.Bridge(t.Context(), job); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if out, err := r.Try("rev-parse", "--verify", "-q", StoreRef); err == nil {
		t.Errorf("the ref is at %s", out)
	}
}

func TestASnapshotWhoseCommitAloneWasLostKeepsItsPlaceInTheChain(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	first, second := r.snapshot(b, 1, many(3)), r.snapshot(b, 2, many(4))
	r.bridge(b, first)
	r.bridge(b, second)
	for _, lost := range []Job{first, second} {
		id := lost.Snapshot.String()
		if err := os.Remove(r.Path(".git", "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
		r.rebuild(lost)
	}
	r.Clean()
	r.wantChain(b, first, second)
}

func TestWhatAnEarlierSnapshotHasIsNotLookedUp(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	files := many(100)
	first := r.snapshot(b, 1, files)
	r.bridge(b, first)
	r.bridge(b, r.snapshot(b, 2, map[string]string{"of": "another worktree"}))
	files["new"] = "n"
	job := r.snapshot(b, 3, files)
	c, err := DecodeSnapshot(first.Commit, r.alg)
	if err != nil {
		t.Fatal(err)
	}
	job.Since = c.Tree
	if report := r.bridge(b, job); report.Looked != 2 {
		t.Errorf("%+v", report)
	}
	r.Clean()
}

func TestWhatHeadHasIsNotLookedUp(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	files := many(100)
	for name, text := range files {
		r.Write(name, text)
	}
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "m")
	r.Git("repack", "-q", "-a", "-d")
	files["new"] = "n"
	b := r.open()
	job := r.snapshot(b, 1, files)
	job.Durable = true
	if report := r.bridge(b, job); report.Looked != 2 {
		t.Errorf("%+v", report)
	}
	h, err := b.Head()
	if err != nil || h.Branch != "main" || h.Commit.String() != r.Git("rev-parse", "HEAD") || h.Tree.String() != r.Git("rev-parse", "HEAD^{tree}") {
		t.Errorf("%+v, %v", h, err)
	}
}

// A pending snapshot of before a loss of power is brought into git after it. HEAD names
// what git had not synced, and what is gone.
func TestWhatALossOfPowerTookOfHeadIsWritten(t *testing.T) {
	for _, begun := range []bool{false, true} {
		r := newRepo(t, oid.SHA1)
		b := r.open()
		if begun {
			r.bridge(b, r.snapshot(b, 1, many(3)))
		}
		files := many(10)
		for name, text := range files {
			r.Write(name, text)
		}
		r.Git("add", "-A")
		r.Git("commit", "-q", "-m", "m")
		for _, of := range []string{"HEAD:d5/e/f5", "HEAD:d6/e"} {
			id := r.Git("rev-parse", of)
			if err := os.Remove(r.Path(".git", "objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
		}
		b = r.open()
		r.bridge(b, r.snapshot(b, 2, files))
		r.Git("update-ref", "-d", "refs/heads/main")
		r.Clean()
	}
}

func TestGarbageCollectionBetweenSnapshotsLosesNothing(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		b := r.open()
		files := many(20)
		var jobs []Job
		for n := range 4 {
			files = maps.Clone(files)
			files[fmt.Sprintf("d%d/e/f%d", n, n)] = fmt.Sprint("gen ", n)
			files[fmt.Sprintf("new%d", n)] = "n"
			jobs = append(jobs, r.snapshot(b, n, files))
			r.bridge(b, jobs[n])
			r.Git("gc", "-q", "--prune=now")
			r.Clean()
		}
		r.wantChain(b, jobs...)
		for id, want := range r.objects {
			if _, p, err := b.Read(id); err != nil || !bytes.Equal(p, want) {
				t.Errorf("%v: %v", id, err)
			}
		}
	})
}

func TestADeletedRefAndItsGarbageAreMadeAgain(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	first := r.snapshot(b, 1, many(10))
	r.bridge(b, first)
	r.Git("update-ref", "-d", StoreRef)
	r.Git("gc", "-q", "--prune=now")
	second := r.snapshot(b, 2, many(11))
	r.bridge(b, second)
	r.bridge(b, first)
	r.Clean()
	r.wantChain(b, second, first)
}

func TestAMissingObjectIsNamedAndTheRefStays(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	for _, lose := range []func(job Job) oid.ID{
		func(Job) oid.ID { return r.alg.Sum(oid.Blob, []byte("text 3")) },
		func(job Job) oid.ID { c, _ := DecodeSnapshot(job.Commit, r.alg); return c.Tree },
	} {
		job := r.snapshot(b, 1, many(5))
		id := lose(job)
		delete(r.objects, id)
		_, err := b.Bridge(context.Background(), job)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), id.String()) {
			t.Errorf("%v, want ErrMissing and %v", err, id)
		}
		if out, err := r.Try("rev-parse", "-q", "--verify", StoreRef); err == nil {
			t.Errorf("the ref is %s", out)
		}
	}
	job := r.snapshot(b, 1, many(5))
	job.Snapshot = r.alg.Sum(oid.Commit, nil)
	if _, err := b.Bridge(context.Background(), job); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v, want ErrMalformed", err)
	}
}

func TestWritingMayTakeLongerThanTheRefIsFoughtFor(t *testing.T) {
	was := patience
	t.Cleanup(func() { patience = was })
	r := newRepo(t, oid.SHA1)
	b := r.open()
	job := r.snapshot(b, 1, many(20))
	load := job.Load
	job.Load = func(id oid.ID) (oid.Kind, []byte, error) {
		time.Sleep(2 * time.Millisecond) // 40 objects and more
		return load(id)
	}
	patience = 50 * time.Millisecond
	began := time.Now()
	if _, err := b.Bridge(t.Context(), job); err != nil {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	patience = was
	r.wantChain(b, job)
}
