//go:build linux && (amd64 || arm64)

package fuzz

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestManyProcessesAndTheUsersGitLoseNothing runs eight processes that record
// and restore in linked worktrees of one repository, while a user commits,
// stashes, packs refs, adds and removes worktrees and collects garbage in it.
// Each snapshot that a process acknowledged must be there afterwards, every
// byte of it; one ordinary snapshot later the ref keeps them all; and no process
// may have touched an index or HEAD.
func TestManyProcessesAndTheUsersGitLoseNothing(t *testing.T) {
	w := plain(t, kind{})
	w.write("f", "1")
	w.git("add", "-A")
	w.git("commit", "-qm", "one")
	const many = 8
	var trees []*world
	for i := range many {
		dir := filepath.Join(w.dir, "linked"+strconv.Itoa(i))
		w.git("worktree", "add", "-q", "--detach", dir)
		l := *w
		l.root = dir
		l.gitDir, _ = l.tryGit("", "rev-parse", "--absolute-git-dir")
		trees = append(trees, &l)
	}
	lasting := time.Duration(seed.Times(2)) * time.Second
	stop := make(chan struct{})
	var user sync.WaitGroup
	user.Go(func() { w.useGit(stop) })
	heard, before := make([]said, many), make([]string, many)
	var all sync.WaitGroup
	for i, l := range trees {
		before[i] = l.own()
		all.Go(func() {
			heard[i] = l.child("worker", "-1", strconv.Itoa(i), lasting.String())
		})
	}
	all.Wait()
	close(stop)
	user.Wait()
	for i, l := range trees {
		if l.own() != before[i] {
			t.Errorf("a process touched the index or HEAD of %s", l.root)
		}
	}
	w.allThere(heard)
}

// own is what git has of a worktree alone.
func (w *world) own() string {
	index, _ := os.ReadFile(filepath.Join(w.gitDir, "index"))
	head, _ := os.ReadFile(filepath.Join(w.gitDir, "HEAD"))
	return string(index) + string(head)
}

// useGit does what a user might, until it is stopped.
func (w *world) useGit(stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		w.write("f", strconv.Itoa(i))
		for _, args := range [][]string{
			{"commit", "-qam", "more"}, {"pack-refs", "--all"}, {"gc", "-q", "--prune=now"}, {"worktree", "add", "-q", "--detach", "../more"},
			{"worktree", "remove", "--force", "../more"}, {"stash", "-q", "-u"}, {"stash", "drop", "-q"},
		} {
			_, _ = w.tryGit("", args...)
		}
	}
}

// noGraph has git leave alone what it remembers of commits. A collection that meets a
// ref whose objects it has just removed stops in the middle: the graph it leaves names
// what is gone, is refused by git itself, or is never made anew (docs/limits.md).
// What counts here is the objects.
const noGraph = "core.commitGraph=false"

// allThere holds every snapshot that a process acknowledged.
func (w *world) allThere(heard []said) {
	w.t.Helper()
	ctx := w.t.Context()
	w.reopen()
	w.write("f", "the last")
	if r, err := w.long.Snapshot(ctx, nil); err != nil || r.Bridge != nil {
		w.t.Errorf("the last snapshot: %+v, %v", r, err)
	}
	reachable := map[string]bool{}
	kept, err := w.tryGit("", "-c", noGraph, "rev-list", "refs/pi-rewind/store")
	if err != nil {
		w.t.Errorf("the ref is broken: %v %.300s", err, kept[max(0, len(kept)-300):])
	}
	for id := range strings.FieldsSeq(kept) {
		reachable[id] = true
	}
	count, late := 0, 0
	for i, h := range heard {
		if h["error"] != nil {
			w.t.Errorf("process %d: %v", i, h["error"])
		}
		late += len(h["late"])
		for _, pair := range h["recorded"] {
			text, content, _ := strings.Cut(pair, "=")
			s, err := w.long.Find(ctx, text)
			if err != nil {
				w.t.Fatalf("process %d: %v", i, err)
			}
			if got := w.export(w.long, s).Digest(); got != content {
				w.t.Errorf("snapshot %v is %s, not %s", s.ID, got, content)
			}
			if !reachable[s.ID.String()] {
				w.t.Errorf("the ref does not keep snapshot %v", s.ID)
			}
			count++
		}
	}
	w.t.Logf("%d snapshots, each exported and compared, %d of them in git only later", count, late)
	if count == 0 {
		w.t.Error("nothing was recorded")
	}
	w.undamaged()
	if out, err := w.tryGit("", "-c", noGraph, "fsck", "--connectivity-only"); err != nil {
		w.t.Errorf("fsck: %v %.2000s", err, out)
	}
}

// workForAWhile is one of the processes: it records, restores and undoes in
// its worktree, and says what it has recorded.
func workForAWhile(ctx context.Context, args []string) {
	seed, err := strconv.Atoi(args[0])
	childExit(err)
	lasting, err := time.ParseDuration(args[1])
	childExit(err)
	rng := rand.New(rand.NewPCG(uint64(seed), 3))
	content := map[oid.ID]string{}
	var ids []oid.ID
	for end, i := time.Now().Add(lasting), 0; time.Now().Before(end); i++ {
		e, err := engine.Open(ctx, ".", nil)
		childExit(err)
		text := fmt.Sprintf("%d-%d", seed, i)
		childExit(os.WriteFile("mine", []byte(text), 0o644))
		childExit(os.WriteFile(fmt.Sprint("file", rng.IntN(9)), make([]byte, rng.IntN(90000)), 0o644))
		now, err := kit.Look(".", kit.Git)
		childExit(err)
		r, err := e.Snapshot(ctx, nil)
		childExit(err)
		fmt.Printf("recorded %v=%s\n", r.ID, now.Digest())
		if r.Bridge != nil {
			fmt.Println("late", r.ID)
		}
		ids, content[r.ID] = append(ids, r.ID), text
		if i%4 == 3 {
			back := ids[rng.IntN(len(ids))]
			r, err := e.Do(ctx, engine.Op{To: back})
			childExit(err)
			childExit(mustHold("mine", content[back]))
			if !r.Undo.IsZero() { // else nothing had to change, and there is nothing to take back
				_, err = e.Do(ctx, engine.Op{Verb: engine.Undo})
				childExit(err)
			}
			childExit(mustHold("mine", text))
		}
		childExit(e.Close())
	}
}

func mustHold(file, want string) error {
	got, err := os.ReadFile(file)
	if err == nil && string(got) != want {
		err = fmt.Errorf("%s holds %q, not %q", file, got, want)
	}
	return err
}
