package gittest

import (
	"os"
	"os/exec"
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

// Lead makes a way to a directory: a symbolic link; on Windows a junction, for which
// nobody needs a right; under Wine, which says of both that it made them, a link of the
// machine around it.
func Lead(t testing.TB, to, at string) {
	t.Helper()
	if runtime.GOOS != "windows" {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return
	}
	junction, _ := exec.Command("cmd", "/c", "mklink", "/J", at, to).CombinedOutput()
	if _, none := os.Stat(at); none == nil {
		return
	}
	link, err := exec.Command("sh", "-c", `ln -s "$0" "$1" && test -L "$1"`, to, at).CombinedOutput()
	if _, none := os.Stat(at); err != nil || none != nil {
		t.Skipf("SKIPPED: neither a junction nor a link can be made here: %s, %s: %v", junction, link, err)
	}
	t.Cleanup(func() { // the removal of a directory of tests would enter it
		if out, err := exec.Command("sh", "-c", `rm "$0"`, at).CombinedOutput(); err != nil {
			t.Errorf("%s: %v", out, err)
		}
	})
}

// Modes skips a test where the system keeps no permissions of files.
func Modes(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows keeps no permissions but whether a file may be written")
	}
}
