package dirfd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAttributesAreCopiedButNotWhatVouchesForBytes(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "old", "old")
	path := filepath.Join(root, "old")
	if err := unix.Setxattr(path, "user.note", []byte("kept"), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("NOT TESTED: no extended attributes on this file system")
	} else {
		must(t, err)
	}
	// cap_net_raw=ep, version 2 (capabilities(7)); only root may set it.
	capability := []byte("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	if err := unix.Setxattr(path, "security.capability", capability, 0); err != nil {
		t.Logf("NOT TESTED: file capabilities: %v", err)
	}
	// user::rw- user:1:r-- group::r-- mask::r-- other::--- in the kernel's form.
	acl := []byte("\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x04\x00\x01\x00\x00\x00\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x04\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff")
	hasACL := unix.Setxattr(path, "system.posix_acl_access", acl, 0) == nil
	if !hasACL {
		t.Log("NOT TESTED: access lists")
	}
	old, err := d.OpenFile("old")
	must(t, err)
	defer old.Close()
	f, err := d.Create("new", 0o600)
	must(t, err)
	f.CopyAttrs(old)
	must(t, f.Chmod(0o640))
	must(t, f.Close())
	buf := make([]byte, 4096)
	n, err := unix.Listxattr(filepath.Join(root, "new"), buf)
	must(t, err)
	got := string(buf[:n])
	if !strings.Contains(got, "user.note\x00") || strings.Contains(got, "security.capability") || hasACL != strings.Contains(got, "system.posix_acl_access\x00") {
		t.Errorf("attributes %q", got)
	}
	if info, err := os.Stat(filepath.Join(root, "new")); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestRenameKeepsItsPromiseWithoutTheKernelsHelp(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "a", "a")
	put(t, d, "b", "b")
	must(t, d.Mkdir("d", 0o755))
	for from, to := range map[string]string{"a": "b", "b": "d", "d": "a"} {
		if err := d.renameWithoutHelp(from, to); err != unix.EEXIST {
			t.Errorf("%s onto %s: %v", from, to, err)
		}
	}
	must(t, d.renameWithoutHelp("a", "c"))
	must(t, d.renameWithoutHelp("d", "e"))
	if content(t, root, "c") != "a" || len(names(t, d)) != 3 {
		t.Errorf("names %q", names(t, d))
	}
}

// TestWhatTakesTheNameOfAFileThatIsTakenAwayIsNotLost plays a file system without
// RENAME_NOREPLACE, as NFS is, and an editor that saves at the very moment by renaming
// a new file over the old one.
func TestWhatTakesTheNameOfAFileThatIsTakenAwayIsNotLost(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	for round := range 3000 {
		text := fmt.Sprint("saved ", round)
		put(t, d, "file", "old")
		put(t, d, "edited", text)
		saved := make(chan error)
		go func() { saved <- os.Rename(filepath.Join(root, "edited"), filepath.Join(root, "file")) }()
		err := d.moveWithoutHelp("file", "away")
		must(t, errors.Join(err, <-saved))
		left, _ := os.ReadFile(filepath.Join(root, "file"))
		if taken := content(t, root, "away"); taken != text && string(left) != text {
			t.Fatalf("round %d: %q was taken away, %q is there, and what was saved is gone", round, taken, left)
		}
		_ = os.Remove(filepath.Join(root, "file"))
		must(t, os.Remove(filepath.Join(root, "away")))
	}
}

// TestWhatIsMadeWhereALinkIsPutIsNotReplaced plays a file system without
// RENAME_NOREPLACE, and a program that makes a file at the very moment.
func TestWhatIsMadeWhereALinkIsPutIsNotReplaced(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	for round := range 3000 {
		must(t, d.Symlink("target", "new"))
		made := make(chan error)
		go func() {
			f, err := os.OpenFile(filepath.Join(root, "name"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err == nil {
				err = f.Close()
			}
			made <- err
		}()
		err, theirs := d.renameWithoutHelp("new", "name"), <-made
		if (err == nil) == (theirs == nil) {
			t.Fatalf("round %d: the link: %v, the file: %v: one of them must come too late", round, err, theirs)
		}
		_ = os.Remove(filepath.Join(root, "new"))
		must(t, os.Remove(filepath.Join(root, "name")))
	}
}
