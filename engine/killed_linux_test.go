package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
)

// TestALockLeftByAKilledSnapshotHoldsNobodyUp kills a process while it holds
// git's lock on our ref: it waits there for somebody to read its line of the
// reflog, which is a pipe.
func TestALockLeftByAKilledSnapshotHoldsNobodyUp(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	p.write("file", "two")
	log := filepath.Join(p.dir, ".git", "logs", gitbridge.StoreRef)
	lock := filepath.Join(p.dir, ".git", gitbridge.StoreRef) + ".lock"
	p.must(os.MkdirAll(filepath.Dir(log), 0o755))
	p.must(syscall.Mkfifo(log, 0o644))
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
	if err := e.bridge(ctx); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("beside a living process: %v", err)
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Fatal("a living process has lost its lock")
	}

	p.must(cmd.Process.Kill())
	_ = cmd.Wait()
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
