package gittest

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Links skips a test where no symbolic links can be made: Windows lets only some users
// make them, and Wine says that it made one.
func Links(t testing.TB) {
	t.Helper()
	if !HasLinks() {
		t.Skip("SKIPPED: no symbolic link can be made here")
	}
}

// HasLinks reports whether symbolic links can be made.
var HasLinks = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "links")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	link := filepath.Join(dir, "link")
	err = os.Symlink("x", link)
	if err == nil {
		_, err = os.Readlink(link)
	}
	return err == nil
})

// Modes skips a test where the system keeps no permissions of files.
func Modes(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows keeps no permissions but whether a file may be written")
	}
}
