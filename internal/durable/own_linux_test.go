package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlyAFileOfOursIsOpened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("good"), []byte("text"), 0o600), os.Symlink("good", at("link")), os.Symlink("none", at("dead")),
		syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("dir"), 0o700), os.WriteFile(at("dir/file"), nil, 0o600), os.Symlink("dir", at("way"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "dead", "pipe", "dir", "way/file", "way/new"} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_APPEND} {
			if f, err := OpenFile(at(name), flag, 0o600); !errors.Is(err, ErrForeign) {
				t.Errorf("opening %s with %x: %v, %v", name, flag, f, err)
			}
		}
		if _, err := Look(at(name)); !errors.Is(err, ErrForeign) {
			t.Errorf("looking at %s: %v", name, err)
		}
		if err := Remove(at(name)); !errors.Is(err, ErrForeign) {
			t.Errorf("removing %s: %v", name, err)
		}
		if _, err := TryLock(at(name), Exclusive); !errors.Is(err, ErrForeign) {
			t.Errorf("locking %s: %v", name, err)
		}
	}
	if err := WriteFile(at("way/new"), nil, 0o600); !errors.Is(err, ErrForeign) {
		t.Errorf("writing through a directory that is a link: %v", err)
	}
	if err := MakeDir(at("way")); !errors.Is(err, ErrForeign) {
		t.Errorf("a link for a directory: %v", err)
	}
	if _, err := os.Lstat(at("none")); err == nil {
		t.Error("a file was made through a link")
	}
	if p, err := ReadFile(at("good"), 4); err != nil || string(p) != "text" {
		t.Errorf("ours has %q, %v", p, err)
	}
	if _, err := ReadFile(at("good"), 3); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("ours is longer than it may be: %v", err)
	}
	if _, err := OpenFile(at("good"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it was to be new: %v", err)
	}
}

func TestAFileOfAnotherUserIsNotOurs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a file to another user")
	}
	const nobody, other = 65534, 65533
	t.Setenv("SUDO_UID", "")
	dir := filepath.Join(t.TempDir(), "rewind")
	file := filepath.Join(dir, "file")
	must(t, errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(file, nil, 0o666), os.Chown(file, nobody, nobody)))
	if _, err := OpenFile(file, os.O_RDWR, 0); !errors.Is(err, ErrForeign) {
		t.Errorf("a file of another user: %v", err)
	}
	t.Setenv("SUDO_UID", "65534")
	if f, err := OpenFile(file, os.O_RDWR, 0); err != nil {
		t.Errorf("root's, for whom sudo was called: %v", err)
	} else {
		f.Close()
	}
	t.Setenv("SUDO_UID", "")
	must(t, os.Chown(dir, nobody, nobody))
	if _, err := OpenFile(file, os.O_RDWR, 0); !errors.Is(err, ErrForeign) {
		t.Errorf("in a directory of another user below ours: %v", err)
	}
	// All of it is of him whose directory was trusted: as in a container, or with
	// safe.directory.
	must(t, errors.Join(os.Chown(filepath.Dir(dir), nobody, nobody)))
	if f, err := OpenFile(file, os.O_RDWR, 0); err != nil {
		t.Errorf("all of it is of one user: %v", err)
	} else {
		f.Close()
	}
	must(t, os.Chown(file, other, other))
	if _, err := OpenFile(file, os.O_RDWR, 0); !errors.Is(err, ErrForeign) {
		t.Errorf("a third user's among them: %v", err)
	}
}

// A file of another user may get the inode that a file of ours had a moment ago. A
// change of the owner in place is the same for who compares inodes.
func TestWhatIsOpenedIsWhatIsJudged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a file to another user")
	}
	t.Setenv("SUDO_UID", "")
	const nobody = 65534
	path := filepath.Join(t.TempDir(), "rewind")
	file := filepath.Join(path, "file")
	must(t, errors.Join(os.Mkdir(path, 0o700), os.WriteFile(file, nil, 0o600)))
	d, err := openDir(path)
	must(t, err)
	defer d.root.Close()
	st, err := d.look("file")
	must(t, err)
	if f, err := d.take("file", st, os.O_RDWR, 0); f == nil || err != nil {
		t.Fatalf("ours: %v, %v", f, err)
	} else {
		f.Close()
	}
	must(t, os.Chown(file, nobody, nobody))
	if f, err := d.take("file", st, os.O_RDWR, 0); f != nil || !errors.Is(err, ErrForeign) {
		t.Errorf("another user's file with the inode that ours had: %v, %v", f, err)
	}
	must(t, errors.Join(os.Remove(file), os.WriteFile(file+"2", nil, 0o600), os.WriteFile(file, nil, 0o600)))
	if now, err := d.look("file"); err != nil {
		t.Fatal(err)
	} else if f, err := d.take("file", st, os.O_RDWR, 0); !os.SameFile(now, st) && (f != nil || err != nil) {
		t.Errorf("another file of ours than the one that was looked at: %v, %v", f, err)
	} else if f != nil {
		f.Close()
	}
	info, err := ownDir(path)
	must(t, err)
	must(t, os.Chown(path, nobody, nobody))
	if d, err := takeDir(path, info); d != nil || !errors.Is(err, ErrForeign) {
		t.Errorf("another user's directory with the inode that ours had: %v, %v", d, err)
	}
}
