package gitbridge

import (
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

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestMain runs this binary as one of many processes that bring a snapshot into
// the same repository, when BRIDGE_DIR says which.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BRIDGE_DIR"); dir != "" {
		if err := bridgeOnce(dir, os.Getenv("BRIDGE_N")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	gittest.Alone()
	os.Exit(m.Run())
}

// processJob is the n-th process's snapshot: it shares most files with others.
func processJob(r *repo, b *Repo, n int) Job {
	files := many(30)
	files["own"] = strconv.Itoa(n)
	return r.snapshot(b, n, files)
}

func bridgeOnce(dir, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	l, err := gitconf.Discover(dir, nil)
	if err != nil {
		return err
	}
	b, err := Open(l, nil)
	if err != nil {
		return err
	}
	r := &repo{&gittest.Repo{Dir: dir}, b.Algorithm(), map[oid.ID]oid.Kind{}, map[oid.ID][]byte{}}
	_, err = b.Bridge(context.Background(), processJob(r, b, n))
	return errors.Join(err, b.Close())
}

func TestOfManyProcessesNoneFailsAndNoneIsLost(t *testing.T) {
	const processes = 32
	r := newRepo(t, oid.SHA1)
	r.Git("config", "core.fsync", "all")
	var all []*exec.Cmd
	for n := range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BRIDGE_DIR="+r.Dir, fmt.Sprint("BRIDGE_N=", n))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	b := r.open()
	found := map[oid.ID]int{}
	for s, err := range b.Snapshots(context.Background()) {
		if err != nil || s.Err != nil {
			t.Fatal(err, s.Err)
		}
		found[s.ID]++
	}
	for n := range processes {
		if id := processJob(r, b, n).Snapshot; found[id] != 1 {
			t.Errorf("snapshot %d is %d times in the chain, want once", n, found[id])
		}
	}
	r.Clean()
}

func TestASnapshotThatManyBringInAtOnceIsInTheChainOnce(t *testing.T) {
	const snapshots, hands = 8, 6
	r := newRepo(t, oid.SHA1)
	for n := range snapshots {
		job := processJob(r, r.open(), n)
		var all sync.WaitGroup
		for range hands {
			b := r.open()
			all.Go(func() {
				if _, err := b.Bridge(context.Background(), job); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	b, found := r.open(), map[oid.ID]int{}
	for s, err := range b.Snapshots(context.Background()) {
		if found[s.ID]++; err != nil || found[s.ID] > 1 {
			t.Errorf("snapshot %v is %d times in the chain, %v", s.ID, found[s.ID], err)
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
