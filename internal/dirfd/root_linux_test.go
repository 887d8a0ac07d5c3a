package dirfd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deepRoot makes directories that lie in one another.
func deepRoot(t *testing.T, path string, levels int) (root *Root, deepest string) {
	t.Helper()
	root, err := OpenRoot(path)
	must(t, err)
	for range levels {
		d, err := root.OpenDir(deepest)
		must(t, err)
		must(t, d.Mkdir("d", 0o755))
		must(t, d.Close())
		deepest = strings.TrimPrefix(deepest+"/d", "/")
	}
	return root, deepest
}

// The bound is linear: to open each directory from the root goes through millions.
func TestDirectoriesThousandsDeepAreNotOpenedFromTheRoot(t *testing.T) {
	const levels = 3000
	handles, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	root, _ := deepRoot(t, t.TempDir(), levels)
	if n := root.walked.Load(); n > 2*levels*levelsBetween {
		t.Errorf("%d directories gone through to make %d", n, levels)
	}
	if _, err := root.OpenDir(""); err != nil {
		t.Error(err)
	}
	must(t, root.Close())
	if now, err := os.ReadDir("/proc/self/fd"); err != nil || len(now) > len(handles) {
		t.Errorf("%d files are open, %d were before: %v", len(now), len(handles), err)
	}
}

// A handle that is kept leads where the path led before. It serves few times.
func TestADeepDirectoryThatWasMovedAwayIsOpenedFewTimes(t *testing.T) {
	const levels, movedAt = 200, 100
	path := t.TempDir()
	root, deepest := deepRoot(t, path, levels)
	defer root.Close()
	at := filepath.Join(path, strings.Repeat("d/", movedAt))
	must(t, os.Rename(at, filepath.Join(t.TempDir(), "moved")))
	must(t, os.Mkdir(at, 0o755))
	for times := 0; ; times++ {
		d, err := root.OpenDir(deepest)
		if Gone(err) {
			break
		}
		must(t, err)
		must(t, d.Close())
		if times == keptUses {
			t.Fatalf("it was opened %d times where it is now", times+1)
		}
	}
	root.Forget()
	if _, err := root.OpenDir(deepest); !Gone(err) {
		t.Errorf("after all was forgotten: %v", err)
	}
}
