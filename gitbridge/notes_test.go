package gitbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// turns bridges snapshots that differ in one file.
func (r *repo) turns(b *Repo, from, to int) (jobs []Job) {
	r.T.Helper()
	for n := from; n < to; n++ {
		jobs = append(jobs, r.snapshot(b, n, map[string]string{"a/b/c": fmt.Sprint(n)}))
		r.bridge(b, jobs[n-from])
	}
	return jobs
}

// looseFiles lists the objects that have files of their own.
func (r *repo) looseFiles() []string {
	r.T.Helper()
	list, err := filepath.Glob(r.Path(".git", "objects", "??", "*"))
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

func TestWhatACollectionTakesBeforeTheRefMovesComesBackAlthoughOthersPackedMeanwhile(t *testing.T) {
	for _, packed := range []bool{false, true} { // a second job writes enough to have all noted objects packed
		r := newRepo(t, oid.SHA1)
		b, other := r.openNoted(), r.openNoted()
		first := r.turns(b, 0, 1)
		job := r.snapshot(b, 1000, map[string]string{"mine": "slow", "a/b/c": "1000"})
		r.put(oid.Commit, job.Commit) // the store has it, as the engine's does
		job.Recorded = func(ctx context.Context) error {
			if at, ends := ctx.Deadline(); ends && time.Until(at) <= soon {
				<-ctx.Done() // till then no other job moves the ref
				return ctx.Err()
			}
			if packed {
				first = append(first, r.turns(other, 1, 80)...)
				if n := len(r.looseFiles()); n > looseFold+20 {
					t.Errorf("nothing was packed: %d files", n)
				}
			}
			r.Git("gc", "-q", "--prune=now")
			return nil
		}
		r.bridge(b, job)
		if out, err := r.Try("cat-file", "-e", job.Snapshot.String()); err == nil {
			t.Errorf("the collection took nothing: %s", out)
		}
		last := r.turns(r.openNoted(), 2000, 2001)
		r.Clean()
		r.wantChain(r.open(), append(append(first, job), last...)...)
	}
}

func TestACollectionDoesNotTakeAPackThatTheRefIsAboutToName(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	job := r.snapshot(b, 1, many(200))
	r.put(oid.Commit, job.Commit)
	calls := 0
	job.Recorded = func(context.Context) error {
		if calls++; calls == 2 { // the pack has its name, the ref is where it was
			if held := r.packFiles("*.keep"); len(held) != 1 {
				t.Errorf("held: %v", held)
			}
			r.Git("gc", "-q", "--prune=now")
		}
		return nil
	}
	if report := r.bridge(b, job); !report.Packed || calls != 2 {
		t.Errorf("%+v after %d calls", report, calls)
	}
	r.turns(b, 2, 3) // the commit alone had a file of its own
	r.Clean()
	if held := r.packFiles("*.keep"); len(held) > 0 {
		t.Errorf("still held: %v", held)
	}
	r.Git("gc", "-q", "--prune=now")
	r.Clean()
}

func TestAPackWhoseHolderDiedIsReleased(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.bridge(b, r.snapshot(b, 0, many(200)))
	packs := r.packFiles("*.pack")
	if len(packs) != 1 {
		t.Fatal(packs)
	}
	keep := strings.TrimSuffix(packs[0], ".pack") + ".keep"
	r.Write(strings.TrimPrefix(keep, r.Dir), "rewind: until the ref names it\n")
	future := time.Now().Add(24 * 365 * time.Hour) // a clock that was wrong
	if err := os.Chtimes(keep, future, future); err != nil {
		t.Fatal(err)
	}
	second := r.snapshot(b, 1, map[string]string{"f": "1"})
	r.bridge(b, second)
	if _, err := b.Rewrite(t.Context(), func(s StoreSnapshot) bool { return s.ID == second.Snapshot }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(keep); err == nil {
		t.Error("what the ref let go of stays in git")
	}
}

func TestARewriteWaitsForNobodyWhoPacks(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	jobs := r.turns(b, 0, 3)
	held, err := durable.TryLock(b.own+".tidy.lock", durable.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Rewrite(ctx, func(s StoreSnapshot) bool { return s.ID != jobs[1].Snapshot }); err != nil {
		t.Error(err)
	}
	r.wantChain(b, jobs[0], jobs[2])
}

func TestARewriteThatNobodyWaitsForIsNoBrokenRef(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.turns(b, 0, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Rewrite(ctx, func(StoreSnapshot) bool { return false })
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

func TestNothingIsPackedWhileGitCollects(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("git", "--version")
	if err := dead.Run(); err != nil {
		t.Skip("SKIPPED: the git program is not here")
	}
	old := time.Now().Add(-13 * time.Hour)
	for _, c := range []struct {
		text  string
		age   time.Time
		waits bool
		here  bool
	}{
		{fmt.Sprintf("%d %s", os.Getpid(), host), time.Now(), true, true},
		{fmt.Sprintf("%d %s", os.Getpid(), host), old, false, false},
		{fmt.Sprintf("%d %s", dead.Process.Pid, host), time.Now(), false, false},
		{"1 another.machine", time.Now(), true, false},
		{"", time.Now(), true, false},
	} {
		r := newRepo(t, oid.SHA1)
		b := r.openNoted()
		r.Write(".git/gc.pid", c.text)
		if err := os.Chtimes(r.Path(".git", "gc.pid"), c.age, c.age); err != nil {
			t.Fatal(err)
		}
		packs := 0
		for n := range 80 {
			if report := r.bridge(b, r.snapshot(b, n, map[string]string{"a/b/c": fmt.Sprint(n)})); report.Packed {
				packs++
			}
		}
		if n := len(r.looseFiles()); (n > 400-5*packs) != c.waits || (packs > 0) != c.here || packs > 2*packsMax {
			t.Errorf("%q: %d files, %d turns in packs of their own", c.text, n, packs)
		}
		r.Clean()
	}
}

func TestALinkThatTheChainHasNoMoreIsNotWrittenAgain(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	jobs := r.turns(b, 0, 5)
	link := r.Git("rev-parse", StoreRef)
	if err := b.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Git("gc", "-q", "--prune=now")
	jobs = append(jobs, r.turns(b, 5, 6)...)
	if out, err := r.Try("cat-file", "-e", link); err == nil {
		t.Errorf("it was: %s", out)
	}
	r.wantChain(r.open(), jobs...)
	r.Clean()
}

func TestNotesThatMeetARenameAreNotLost(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	var writers sync.WaitGroup
	const many, each = 4, 300
	for i := range many {
		writers.Go(func() {
			w := writer{r: b, db: b.db, name: jobName()}
			for n := range each {
				w.note([]oid.ID{r.alg.Sum(oid.Blob, []byte(fmt.Sprint(i, n)))}, nil)
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	seen := map[oid.ID]bool{}
	take := func(path string) {
		for _, x := range b.decodeNotes(readNotes(path)).list {
			seen[x.id] = true
		}
	}
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
		}
		if os.Rename(b.own+".loose", b.own+".loose.old") == nil {
			take(b.own + ".loose.old")
			_ = os.Remove(b.own + ".loose.old")
		}
	}
	take(b.own + ".loose")
	if len(seen) != many*each {
		t.Errorf("%d of %d notes", len(seen), many*each)
	}
}

func TestNotesOfADeadJobAreWorkedOffAfterAnHour(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	id := r.Git("hash-object", "-w", "--stdin") // of nothing
	for _, c := range []struct {
		began time.Time
		stay  bool
	}{{time.Now(), true}, {time.Now().Add(-2 * time.Hour), false}} {
		line := fmt.Sprintf("%s %s.x %s\n", noteWrote, strconv.FormatInt(c.began.Unix(), 36), id)
		r.Write(".git/own.loose", line)
		w, err := b.writer(&Job{Load: r.load})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.packLoose(t.Context(), false); err != nil {
			t.Error(err)
		}
		if got := readNotes(b.own + ".loose"); bytes.Equal(got, []byte(line)) != c.stay {
			t.Errorf("%v: %q", c.began, got)
		}
		_ = w.close()
	}
	if n := len(r.looseFiles()); n != 0 {
		t.Errorf("%d files", n)
	}
}

func FuzzNotes(f *testing.F) {
	r := &Repo{layout: &gitconf.Layout{Algorithm: oid.SHA1}}
	f.Add([]byte("wrote a 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nlink a 4b825dc642cb6eb9a060e54bf8d69288fbee4904 00ff\nended a\nfound"))
	f.Fuzz(func(t *testing.T, p []byte) {
		notes := r.decodeNotes(p)
		for _, x := range notes.list {
			if x.id.IsZero() && !bytes.Contains(p, []byte(strings.Repeat("0", 40))) || x.job == "" {
				t.Errorf("%+v", x)
			}
		}
		notes.chain(oid.ID{}, oid.SHA1)
	})
}
