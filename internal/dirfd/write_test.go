package dirfd

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func put(t *testing.T, d *Dir, name, data string) Stat {
	t.Helper()
	f, err := d.Create(name, 0o644)
	must(t, err)
	_, err = io.WriteString(f, data)
	must(t, err)
	st, err := f.Stat()
	must(t, err)
	must(t, f.Close())
	return st
}

func content(t *testing.T, root, name string) string {
	t.Helper()
	p, err := os.ReadFile(filepath.Join(root, name))
	must(t, err)
	return string(p)
}

func TestCreateTakesNoNameThatExists(t *testing.T) {
	gittest.Links(t)
	root, outside := t.TempDir(), t.TempDir()
	d := open(t, root)
	put(t, d, "f", "1")
	must(t, os.Symlink(filepath.Join(outside, "new"), filepath.Join(root, "dangling")))
	for _, name := range []string{"f", "dangling"} {
		if f, err := d.Create(name, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create(%q) = %v, %v", name, f, err)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 0 {
		t.Errorf("outside: %v, %v", list, err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "a\x00"} {
		if _, err := d.Create(name, 0o600); !errors.Is(err, ErrNotPlain) {
			t.Errorf("Create(%q): %v", name, err)
		}
		if err := errors.Join(d.Mkdir(name, 0o700), d.Symlink("x", name)); !errors.Is(err, ErrNotPlain) {
			t.Errorf("Mkdir, Symlink(%q): %v", name, err)
		}
		if err := d.Remove(name); !errors.Is(err, ErrNotPlain) {
			t.Errorf("Remove(%q): %v", name, err)
		}
	}
}

func TestRenameNoReplaceReplacesNothing(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "a", "a")
	put(t, d, "b", "b")
	must(t, d.Mkdir("d", 0o755))
	for _, to := range []string{"b", "d"} {
		if err := d.RenameNoReplace("a", to); !errors.Is(err, fs.ErrExist) {
			t.Errorf("onto %q: %v", to, err)
		}
	}
	must(t, d.RenameNoReplace("a", "c"))
	must(t, d.RenameNoReplace("d", "e"))
	if content(t, root, "b") != "b" || content(t, root, "c") != "a" {
		t.Error("contents were mixed up")
	}
}

func TestExchangeSwapsWhateverTheType(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "f", "file")
	must(t, d.Mkdir("d", 0o755))
	must(t, d.Symlink("target", "l"))
	err := d.Exchange("f", "d")
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("NOT TESTED: this file system cannot exchange names")
	}
	must(t, err)
	must(t, d.Exchange("d", "l"))
	if target, err := d.Readlink("d"); err != nil || target != "target" || content(t, root, "l") != "file" {
		t.Errorf("target %q, %v", target, err)
	}
	if err := d.Exchange("f", "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("exchange with nothing: %v", err)
	}
}

func TestRemoveAndRmdirKeepToTheirTypes(t *testing.T) {
	gittest.Links(t)
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "f", "")
	must(t, d.Mkdir("d", 0o755))
	must(t, d.Mkdir("full", 0o755))
	must(t, d.Symlink("d", "l"))
	must(t, os.WriteFile(filepath.Join(root, "full", "x"), nil, 0o600))
	if d.Remove("d") == nil || d.Rmdir("f") == nil || d.Rmdir("l") == nil {
		t.Error("a wrong type was removed")
	}
	if err := d.Rmdir("full"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("rmdir of a full directory: %v", err)
	}
	must(t, d.Remove("l"))
	must(t, d.Remove("f"))
	must(t, d.Rmdir("d"))
	if got := names(t, d); len(got) != 1 {
		t.Errorf("left: %q", got)
	}
}

func TestChmodChangesOnlyTheInodeThatWasSeen(t *testing.T) {
	gittest.Modes(t)
	root := t.TempDir()
	d := open(t, root)
	st := put(t, d, "f", "")
	must(t, d.Chmod("f", st, 0o4751))
	now, err := d.Lstat("f")
	must(t, err)
	if now.Mode != tree.File|0o4751 {
		t.Errorf("mode %o", now.Mode)
	}
	must(t, d.RenameNoReplace("f", "target"))
	must(t, d.Symlink("target", "f"))
	if err := d.Chmod("f", st, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("through a link: %v", err)
	}
	other := put(t, d, "g", "")
	if err := d.Chmod("target", other, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another inode: %v", err)
	}
	if now, err = d.Lstat("target"); err != nil || now.Mode != tree.File|0o4751 {
		t.Errorf("mode %o, %v", now.Mode, err)
	}
}

func TestSetMtimeDoesNotFollowALink(t *testing.T) {
	gittest.Links(t)
	d := open(t, t.TempDir())
	was := put(t, d, "f", "")
	must(t, d.Symlink("f", "l"))
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC).UnixNano()
	must(t, d.SetMtime("l", at))
	if now, err := d.Lstat("f"); err != nil || now.Mtime != was.Mtime {
		t.Errorf("the target's mtime moved to %d, %v", now.Mtime, err)
	}
	must(t, d.SetMtime("f", at))
	if now, err := d.Lstat("f"); err != nil || now.Mtime != at {
		t.Errorf("mtime %d, %v", now.Mtime, err)
	}
	must(t, d.Sync())
}
