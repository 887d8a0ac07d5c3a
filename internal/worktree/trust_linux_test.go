package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnEditInTheSameSecondIsSeenWhereTimesAreWholeSeconds needs root, for a
// mount.
func TestAnEditInTheSameSecondIsSeenWhereTimesAreWholeSeconds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	mountImage(t, p.Dir, []string{"mkfs.ext4", "-I", "128"})
	for round := range 4 {
		p.sameSecond(round)
	}
}

// sameSecond edits a file, a link and a directory twice in one second, with a
// scan after each edit.
func (p *place) sameSecond(round int) {
	next := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(next))
	file, dir := fmt.Sprintf("d/file%d", round), fmt.Sprintf("e%d", round)
	p.Write(file, "one")
	p.Write(dir+"/one", "1")
	time.Sleep(150 * time.Millisecond)
	p.checkDisk(p.scan())
	p.Write(file, "two")
	p.Write(dir+"/two", "2")
	if p.touched(file) != next.UnixNano() || p.touched(dir) != next.UnixNano() {
		p.T.Logf("round %d was too slow to say anything", round)
	}
	time.Sleep(150 * time.Millisecond)
	p.checkDisk(p.scan())
	p.Write(file, "thr")
	p.Write(dir+"/three", "3")
	p.checkDisk(p.scan())
}

// mountImage makes a file system in a file, and mounts it.
func mountImage(t *testing.T, at string, make []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root may mount a file system")
	}
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(make[0]); err != nil {
		t.Skipf("SKIPPED: there is no %s", make[0])
	}
	if out, err := exec.Command(make[0], append(make[1:len(make):len(make)], "-q", "-F", image)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", make, err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // one stuck loop device of another test stops them all
	defer cancel()
	mount := exec.CommandContext(ctx, "mount", "-o", "loop", image, at)
	mount.WaitDelay = time.Second
	if out, err := mount.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: what %s made cannot be mounted: %v: %s", make[0], err, out)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}
