package command

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The program is asked on a file system of its own, which a content nearly fills.
func TestASnapshotOnAFullDiskSaysWhatToDoAndGivesItsSpaceBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=14m"); err != nil {
		t.Skipf("SKIPPED: cannot mount, so a full disk is not tested: %v", err)
	}
	defer syscall.Unmount(root, syscall.MNT_DETACH)
	work := filepath.Join(root, "w")
	rewind := func(args ...string) (string, error) {
		c := exec.Command("program", append([]string{"--no-git", "-C", work}, args...)...)
		c.Env = append(os.Environ(), "XDG_DATA_HOME="+root+"/data", "XDG_STATE_HOME="+root+"/state", "XDG_CACHE_HOME="+root+"/cache", "HOME="+root+"/home")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	free := func() int64 {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(root, &fs); err != nil {
			t.Fatal(err)
		}
		return int64(fs.Bavail) * fs.Bsize
	}
	write := func(name string, n int64) {
		p := make([]byte, n)
		_, _ = rand.Read(p)
		if err := errors.Join(os.MkdirAll(work, 0o777), os.WriteFile(filepath.Join(work, name), p, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	write("one", 100)
	if out, err := rewind("snapshot"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write("two", 8<<20)
	before := free()
	out, err := rewind("snapshot")
	if err == nil || !strings.Contains(out, "rewind: make room on the disk, and try again: nothing was recorded: ") || !strings.Contains(out, "no space left on device") {
		t.Errorf("%v: %s", err, out)
	}
	if after := free(); after < before-64<<10 {
		t.Errorf("%d bytes were free, and %d are after a snapshot that failed", before, after)
	}
	if err := os.Truncate(filepath.Join(work, "two"), 1<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := rewind("snapshot"); err != nil {
		t.Errorf("with room again: %v: %s", err, out)
	}
	write("fill", free())
	out, err = rewind("status")
	if err != nil || !strings.Contains(out, "; 0 B of the disk are free\n") || !strings.Contains(out, "the disk is full, and nothing can be recorded: make room") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err = rewind("status", "--json"); err != nil || !strings.Contains(out, `"free_bytes":0,`) {
		t.Errorf("%v: %s", err, out)
	}
}
