package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestMain leaves the user's configuration out.
func TestMain(m *testing.M) {
	gittest.Alone()
	os.Exit(m.Run())
}

// patiently lets each wait for the others as long as they take on a slow machine.
func patiently(t *testing.T) {
	was := patience
	patience = 2 * time.Minute
	t.Cleanup(func() { patience = was })
}

// Each hand has the repository open by itself, as a process would: locks of files tell
// them apart no less. Several may bring in the same snapshot.
func TestOfSnapshotsThatManyBringInAtOnceNoneFailsAndEachIsInTheChainOnce(t *testing.T) {
	patiently(t)
	const snapshots, hands = 16, 3
	r := newRepo(t, oid.SHA1)
	r.Git("config", "core.fsync", "all")
	var all sync.WaitGroup
	var jobs []Job
	want := map[oid.ID]bool{}
	for n := range snapshots {
		files := many(30)
		files["own"] = strconv.Itoa(n)
		jobs = append(jobs, r.snapshot(r.open(), n, files))
		want[jobs[n].Snapshot] = true
	}
	for _, job := range jobs {
		for hand := range hands {
			b := r.openAt(r.Dir, map[bool]string{true: r.Path(".git", "own")}[hand > 0]) // one of them without notes
			all.Go(func() {
				if _, err := b.Bridge(t.Context(), job); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	found := map[oid.ID]int{}
	for s, err := range r.open().Snapshots(t.Context()) {
		if found[s.ID]++; err != nil || s.Err != nil || found[s.ID] > 1 || !want[s.ID] {
			t.Errorf("snapshot %v is %d times in the chain, %v, %v", s.ID, found[s.ID], err, s.Err)
		}
	}
	if len(found) != snapshots {
		t.Errorf("%d snapshots are in the chain, want %d", len(found), snapshots)
	}
	r.Clean()
}

func TestALinkedWorktreeSharesTheStore(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Git("commit", "-q", "--allow-empty", "-m", "m")
	wt := filepath.Join(t.TempDir(), "wt")
	r.Git("worktree", "add", "-q", "-b", "side", wt)
	main, side := r.open(), r.openAt(wt, "")
	if h, err := side.Head(); err != nil || h.Branch != "side" {
		t.Errorf("%+v, %v", h, err)
	}
	first, second := r.snapshot(main, 1, many(3)), r.snapshot(side, 2, many(4))
	r.bridge(main, first)
	r.Git("pack-refs", "--all", "--prune")
	r.Git("gc", "-q")
	r.bridge(side, second)
	r.wantChain(main, first, second)
	r.Clean()
	r.Git("symbolic-ref", "HEAD", "refs/heads/none")
	if h, err := main.Head(); err != nil || h.Branch != "none" || !h.Commit.IsZero() || !h.Tree.IsZero() {
		t.Errorf("unborn: %+v, %v", h, err)
	}
	r.Git("-C", wt, "checkout", "-q", "--detach")
	if h, err := side.Head(); err != nil || h.Branch != "" || h.Commit.IsZero() {
		t.Errorf("detached: %+v, %v", h, err)
	}
}

func TestNothingButTheStoreRefIsTouchedAndNoHookRuns(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Write("f", "1")
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "m")
	r.Write("f", "2")
	r.Git("add", "-A")
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"reference-transaction", "pre-commit", "post-commit", "post-index-change", "pre-auto-gc", "update"} {
		r.Script(".git/hooks/"+hook, "echo "+hook+" >>'"+ran+"'")
	}
	state := func() string {
		t.Helper()
		var s strings.Builder
		for _, name := range []string{"HEAD", "index", "config", "logs/HEAD", "logs/refs/heads/main", "refs/heads/main"} {
			p, err := os.ReadFile(r.Path(".git", name))
			info, err2 := os.Stat(r.Path(".git", name))
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&s, "%s %v %q\n", name, info.ModTime(), p)
		}
		return s.String()
	}
	for n, peculiar := range []func(*gitconf.Layout){
		func(*gitconf.Layout) {},
		func(l *gitconf.Layout) { l.RefStorage = "reftable" },
		func(l *gitconf.Layout) { l.UnknownExtensions = []string{"x"} },
	} {
		b := r.open()
		peculiar(b.layout)
		before := state()
		t.Setenv("GIT_DIR", "/nowhere")
		t.Setenv("GIT_INDEX_FILE", "/nowhere")
		r.bridge(b, r.snapshot(b, n, many(n)))
		os.Unsetenv("GIT_DIR")
		os.Unsetenv("GIT_INDEX_FILE")
		if after := state(); after != before {
			t.Errorf("%d: before\n%safter\n%s", n, before, after)
		}
	}
	if p, err := os.ReadFile(ran); err == nil {
		t.Errorf("hooks ran: %s", p)
	}
	if got := r.Git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main\n"+StoreRef {
		t.Errorf("refs: %q", got)
	}
}

func TestTheGitProgramServesWhereFilesDoNot(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		for name, peculiar := range map[string]func(*gitconf.Layout){
			"reftable":          func(l *gitconf.Layout) { l.RefStorage = "reftable" },
			"unknown extension": func(l *gitconf.Layout) { l.UnknownExtensions = []string{"x"} },
		} {
			r := newRepo(t, alg)
			b := r.open()
			peculiar(b.layout)
			if h, err := b.Head(); err != nil || h.Branch != "main" || !h.Commit.IsZero() {
				t.Errorf("%s: unborn: %+v, %v", name, h, err)
			}
			r.Git("commit", "-q", "--allow-empty", "-m", "m")
			if h, err := b.Head(); err != nil || h.Commit.String() != r.Git("rev-parse", "HEAD") {
				t.Errorf("%s: %+v, %v", name, h, err)
			}
			r.Git("checkout", "-q", "--detach")
			if h, err := b.Head(); err != nil || h.Branch != "" || h.Commit.IsZero() {
				t.Errorf("%s: detached: %+v, %v", name, h, err)
			}
			first, second := r.snapshot(b, 1, many(100)), r.snapshot(b, 2, many(101))
			r.bridge(b, first)
			if report := r.bridge(b, second); report.Written > 5 {
				t.Errorf("%s: %+v", name, report)
			}
			r.bridge(b, first)
			r.wantChain(b, first, second)
			r.Clean()
		}
	})
}

func TestARepositoryThatNeedsAnAbsentProgramSaysSo(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	b.layout.RefStorage = "reftable"
	b.program = "no-such-program-as-git"
	_, err := b.Bridge(context.Background(), r.snapshot(b, 1, many(1)))
	if !errors.Is(err, ErrUnsupportedRepository) || !strings.Contains(err.Error(), "reftable") {
		t.Errorf("%v, want ErrUnsupportedRepository and why", err)
	}
	if _, err := b.Head(); !errors.Is(err, ErrUnsupportedRepository) {
		t.Errorf("Head: %v", err)
	}
}
