package engine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
)

// newBirthless makes temporary directories lie on a file system that keeps no birth
// times, for the rest of a test.
func newBirthless(t *testing.T) {
	t.Helper()
	base := t.TempDir()
	image, at := filepath.Join(base, "image"), filepath.Join(base, "mounted")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 64<<20), os.Mkdir(at, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mke2fs", "-q", "-t", "ext2", "-I", "128", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no file system without birth times: %v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", at).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if birth, err := dirfd.Birth(at); err != nil || strings.HasPrefix(birth, "born ") {
		t.Skipf("SKIPPED: the file system keeps birth times after all: %q, %v", birth, err)
	}
	t.Setenv("TMPDIR", at)
}

func TestWhereNoBirthIsKeptAnInterruptedRestoreIsNamedAndNotReplayed(t *testing.T) {
	newBirthless(t)
	t.Run("the same directory", func(t *testing.T) {
		p, first := interrupted(t)
		edited := p.edit()
		r := p.take(p.open())
		if r.Recovered != nil || !errors.Is(r.Unfinished, ErrUnfinished) || p.read(edited) != "edited since" {
			t.Errorf("%+v, %v, %q", r.Recovered, r.Unfinished, p.read(edited))
		}
		e := p.open()
		p.do(e, Op{To: first})
		p.wantState("restored", "one")
		p.undo(e)
		if p.read(edited) != "edited since" {
			t.Errorf("after undo %q", p.read(edited))
		}
	})
	t.Run("another in its place", func(t *testing.T) {
		p, _ := interrupted(t)
		p.must(os.RemoveAll(p.dir))
		p.must(os.Mkdir(p.dir, 0o755)) // which gets the inode that is free now
		p.write("d/059", "another's")
		r := p.take(p.open())
		if r.Recovered != nil || p.read("d/059") != "another's" {
			t.Errorf("%+v, %q", r.Recovered, p.read("d/059"))
		}
	})
}
