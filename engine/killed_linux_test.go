package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"golang.org/x/sys/unix"
)

// TestALockLeftByAKilledSnapshotHoldsNobodyUp kills a process while it holds
// git's lock on our ref: it waits there to be allowed to open the reflog.
func TestALockLeftByAKilledSnapshotHoldsNobodyUp(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	p.write("file", "two")
	log := filepath.Join(p.dir, ".git", "logs", gitbridge.StoreRef)
	lock := filepath.Join(p.dir, ".git", gitbridge.StoreRef) + ".lock"
	p.must(os.MkdirAll(filepath.Dir(log), 0o755))
	p.must(os.WriteFile(log, nil, 0o644))
	let := hold(t, log)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHelperSnapshot$")
	cmd.Env = append(os.Environ(), "REWIND_TEST_SNAPSHOT="+p.dir, "HOME="+p.home)
	p.must(cmd.Start())
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(lock); err == nil {
			break
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal("the helper took no lock")
		}
	}

	// As long as it lives the lock is respected.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := e.mirror.Bridge(ctx); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("beside a living process: %v", err)
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Fatal("a living process has lost its lock")
	}

	p.must(cmd.Process.Kill())
	_ = cmd.Wait()
	let()
	p.must(os.Remove(log))
	if _, err := os.Lstat(lock); err != nil {
		t.Fatal("the killed process left no lock behind: this test proves nothing")
	}
	third := p.snap(p.open(), "three", nil)
	if got := p.inRef(e); len(got) != 3 || got[0] != third.ID {
		t.Errorf("the ref keeps %v", got)
	}
	p.wantClean(e)
}

// TestHelperSnapshot is not a test: it is the process that a test kills.
func TestHelperSnapshot(t *testing.T) {
	dir := os.Getenv("REWIND_TEST_SNAPSHOT")
	if dir == "" {
		t.Skip("only a helper of TestALockLeftByAKilledSnapshotHoldsNobodyUp")
	}
	e, err := Open(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Snapshot(context.Background(), nil)
	t.Fatalf("not killed: %v", err)
}

// hold makes everybody wait who opens a file, until the returned function is
// called, or he is killed. It needs root.
func hold(t *testing.T, path string) (let func()) {
	t.Helper()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	if err == nil {
		err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, path)
	}
	if err != nil {
		t.Skipf("SKIPPED: nobody can be made to wait for a file here (it takes root): %v", err)
	}
	let = sync.OnceFunc(func() { unix.Close(fd) })
	t.Cleanup(let)
	return let
}

// TestATemporaryFileThatCouldNotBeRemovedIsNotRecorded lets a restore make its
// files in a directory in which nothing may be removed or renamed.
func TestATemporaryFileThatCouldNotBeRemovedIsNotRecorded(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		p.write("d/a", "old")
		const like = "d/.rewind-tmp-0000000000000000w"
		p.write(like, "a user's own")
		e, ctx := p.open(), context.Background()
		first := p.snap(e, "one", nil)
		p.write("d/a", "new")
		p.snap(e, "two", nil)
		dir := filepath.Join(p.dir, "d")
		if out, err := exec.Command("chattr", "+a", dir).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no directory can be made append-only here (it takes root): %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("chattr", "-a", dir).Run() })
		r := p.do(e, Op{To: first.ID})
		if len(r.Conflicts) == 0 || p.read("d/a") != "new" || p.leftInD() != 1 {
			t.Fatalf("git %v: conflicts %v, d/a is %q, %d temporary files", git, r.Conflicts, p.read("d/a"), p.leftInD())
		}
		s := p.snap(e, "three", nil)
		p.onlyTheUsers(e, s.Snapshot, like)
		if len(s.Skipped) != 1 || s.Skipped[0].Reason != "a temporary file of an earlier restore that could not be removed" {
			t.Errorf("git %v: skipped %v", git, s.Skipped)
		}
		p.must(exec.Command("chattr", "-a", dir).Run())
		s = p.snap(e, "four", nil)
		p.onlyTheUsers(e, s.Snapshot, like)
		if p.leftInD() != 0 || len(s.Skipped) > 0 {
			t.Errorf("git %v: %d temporary files are there still, skipped %v", git, p.leftInD(), s.Skipped)
		}
		if k, err := e.before(ctx); err != nil || k.Wait() == nil || len(k.left) > 0 {
			t.Errorf("git %v: the store still knows %v, %v", git, k.left, err)
		}
	}
}

func (p *place) leftInD() (n int) {
	p.t.Helper()
	list, err := os.ReadDir(filepath.Join(p.dir, "d"))
	p.must(err)
	for _, f := range list {
		if strings.HasPrefix(f.Name(), ".rewind-tmp-") && !strings.Contains(f.Name(), "0000") {
			n++
		}
	}
	return n
}

// onlyTheUsers checks that of files of such names a snapshot has the user's.
func (p *place) onlyTheUsers(e *Engine, s *Snapshot, like string) {
	p.t.Helper()
	own := false
	for c, err := range tree.Walk(s.State(), e.alg, e.objects.Trees(context.Background(), objects.Reading{})) {
		p.must(err)
		if own = own || c.Path == like; strings.Contains(c.Path, ".rewind-tmp-") && c.Path != like {
			p.t.Errorf("%s is recorded", c.Path)
		}
	}
	if !own {
		p.t.Errorf("%s is not recorded", like)
	}
}
