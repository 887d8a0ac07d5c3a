package durable

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWriteFileReplacesTheWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, want := range []string{"a long first version", "", "short"} {
		must(t, WriteFile(path, []byte(want), 0o640))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Fatalf("read %q, %v; want %q", got, err, want)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left in the directory, want 1", len(entries))
	}
}

func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "d")
	must(t, os.MkdirAll(filepath.Join(path, "in"), 0o755))
	if err := WriteFile(path, []byte("x"), 0o600); err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d entries are left, want 1", len(entries))
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory gives %v", err)
	}
}

func TestExclusiveMeansAloneAmongGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	var n atomic.Int64 // an update is lost if two hold the lock at once
	for range 20 {
		wg.Go(func() {
			for range 20 {
				held, err := Lock(t.Context(), path, Exclusive)
				if err != nil {
					t.Error(err)
					return
				}
				seen := n.Load()
				runtime.Gosched()
				n.Store(seen + 1)
				if err := held.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n.Load() != 400 {
		t.Errorf("counted %d, want 400", n.Load())
	}
}

func TestSharedHoldersDoNotExcludeEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, err := Lock(t.Context(), path, Shared)
	must(t, err)
	b, err := TryLock(path, Shared)
	must(t, err)
	if _, err := TryLock(path, Exclusive); !errors.Is(err, ErrLocked) {
		t.Fatalf("exclusive beside shared gives %v", err)
	}
	a.Unlock()
	b.Unlock()
	c, err := TryLock(path, Exclusive)
	must(t, err)
	if _, err := TryLock(path, Shared); !errors.Is(err, ErrLocked) {
		t.Fatalf("shared beside exclusive gives %v", err)
	}
	c.Unlock()
}

func TestAWaiterGivesUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Lock(t.Context(), path, Exclusive)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path, Exclusive); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting gives %v", err)
	}
	held.Unlock()
	again, err := Lock(t.Context(), path, Exclusive) // the given-up waiter lets go
	must(t, err)
	again.Unlock()
}

func TestARemovedLockFileIsNotTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Lock(t.Context(), path, Exclusive)
	must(t, err)
	waiting := make(chan *Held)
	go func() {
		h, err := Lock(context.Background(), path, Exclusive)
		if err != nil {
			t.Error(err)
		}
		waiting <- h
	}()
	time.Sleep(5 * time.Millisecond)
	if err := os.Remove(path); err != nil {
		t.Skip("an open file cannot be removed here:", err)
	}
	held.Unlock()
	h := <-waiting
	defer h.Unlock()
	if _, err := TryLock(path, Exclusive); !errors.Is(err, ErrLocked) {
		t.Fatalf("the waiter holds a lock of a file that is gone: %v", err)
	}
}

// What a wait leaves behind that was given up has to end with the lock: a directory
// is removed by then, as at the end of a test, and a new lock file would stay in it.
// Windows renames and removes no directory in which a file is open.
func TestADirectoryIsRenamedAndRemovedWithItsLocks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o700))
	held, err := TryLock(filepath.Join(dir, "lock"), Exclusive)
	must(t, err)
	must(t, LetGo(held))
	must(t, Rename(dir, dir+"2"))
	if runtime.GOOS != "windows" {
		if _, err := TryLock(filepath.Join(dir+"2", "lock"), Shared); !errors.Is(err, ErrLocked) {
			t.Errorf("others are let in meanwhile: %v", err)
		}
	}
	must(t, os.RemoveAll(dir+"2"))
	must(t, held.Unlock())
}

func TestAWaitThatIsGivenUpMakesNoLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Lock(t.Context(), path, Exclusive)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, err := Lock(ctx, path, Exclusive)
		waited <- err
	}()
	waits := func() bool {
		stacks := make([]byte, 1<<20)
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("durable.acquire("))
	}
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Skip("SKIPPED: an open file cannot be removed here:", err)
	}
	held.Unlock()
	for waits() {
		time.Sleep(time.Millisecond)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a lock file again: %v", err)
	}
}

// TestMain lets the test binary play the other process.
func TestMain(m *testing.M) {
	if path := os.Getenv("DURABLE_HOLD"); path != "" {
		if _, err := Lock(context.Background(), path, Exclusive); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAProcessHoldsItsLockUntilItDies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DURABLE_HOLD="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	buf := make([]byte, 16)
	n, err := out.Read(buf)
	if err != nil || !bytes.Equal(buf[:n], []byte("held\n")) {
		t.Fatalf("the child says %q, %v", buf[:n], err)
	}
	if _, err := TryLock(path, Exclusive); !errors.Is(err, ErrLocked) {
		t.Errorf("beside another process: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	held, err := Lock(t.Context(), path, Exclusive)
	must(t, err)
	held.Unlock()
}

func TestSyncingAFileSystemWorksOrSaysItCannot(t *testing.T) {
	dir := t.TempDir()
	if err := SyncFS(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := SyncFS(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing directory was synced")
	}
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
}

// A lock file that cannot be looked at is not one that was replaced: to try
// again would be to try for ever.
func TestALockFileThatCannotBeLookedAtIsAnError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows removes no file that is open, and a path below a file is not there")
	}
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	must(t, err)
	if yes, err := current(f, path); !yes || err != nil {
		t.Errorf("it is current: %v, %v", yes, err)
	}
	if yes, err := current(f, path+"/below"); yes || err == nil {
		t.Errorf("a path through a file: %v, %v", yes, err)
	}
	must(t, os.Remove(path))
	if yes, err := current(f, path); yes || err != nil {
		t.Errorf("it was removed: %v, %v", yes, err)
	}
	f.Close()
	if yes, err := current(f, path); yes || err == nil {
		t.Errorf("fstat fails: %v, %v", yes, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
