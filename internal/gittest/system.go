package gittest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Links skips a test where no symbolic links can be made: Windows lets only some users
// make them, and Wine says that it made one.
func Links(t testing.TB) {
	t.Helper()
	if link := filepath.Join(t.TempDir(), "link"); os.Symlink("x", link) == nil {
		if _, err := os.Readlink(link); err == nil {
			return
		}
	}
	t.Skip("SKIPPED: no symbolic link can be made here")
}

// Modes skips a test where the system keeps no permissions of files.
func Modes(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows keeps no permissions but whether a file may be written")
	}
}
