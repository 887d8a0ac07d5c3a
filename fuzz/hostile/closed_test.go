//go:build linux

package hostile

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is a user to whom permissions say something, unlike to root.
const nobody = 65534

// as runs a command as another user.
func (w *world) as(args ...string) (string, int) {
	w.Helper()
	w.must(os.Chmod(filepath.Dir(program), 0o755))
	cmd := exec.CommandContext(w.Context(), program, args...)
	cmd.Dir, cmd.Env = w.root, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var said bytes.Buffer
	cmd.Stderr = &said
	_ = cmd.Run()
	return said.String(), cmd.ProcessState.ExitCode()
}

// To record a repository that cannot be read as a directory without one would be
// another snapshot than the user asked for, and nobody would notice.
func TestAClosedGitDirectoryOfOnesOwnIsTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can become another user, and itself may read everything")
	}
	for _, what := range []string{"a directory", "a file"} {
		w := newWorld(t)
		git := w.at(".git")
		if what == "a file" {
			w.must(os.Rename(git, w.at("../elsewhere")))
			w.must(os.WriteFile(git, []byte("gitdir: "+w.at("../elsewhere")+"\n"), 0o644))
		}
		w.must(filepath.WalkDir(w.base, func(at string, _ fs.DirEntry, err error) error {
			w.must(err)
			return os.Lchown(at, nobody, nobody)
		}))
		w.must(os.Chmod(git, 0))
		if said, code := w.as("snapshot"); code != 1 || !strings.Contains(said, "--no-git") || !strings.Contains(said, ".git") {
			t.Errorf("%s: exit %d, want 1 with a way out: %s", what, code, said)
		}
		if said, code := w.as("snapshot", "--no-git"); code != 0 && code != 5 {
			t.Errorf("%s: without git: exit %d: %s", what, code, said)
		}
		w.must(os.Chmod(git, 0o755))
	}
}

// shutOut lets an access control list say that another user may do so much with a path
// of root's, whatever its permission bits let everybody do.
func (w *world) shutOut(name string, bits byte) {
	w.Helper()
	const rwx = "\x07\x00\xff\xff\xff\xff"
	list := "\x02\x00\x00\x00" + "\x01\x00" + rwx + "\x02\x00" + string(bits) + "\x00\xfe\xff\x00\x00" + "\x04\x00" + rwx + "\x10\x00" + rwx + "\x20\x00" + rwx
	if err := unix.Setxattr(w.at(name), "system.posix_acl_access", []byte(list), 0); err != nil {
		w.Skipf("SKIPPED: no access control lists here: %v", err)
	}
}

// TestWhatAnAccessListShutsUsOutOfIsNamed: the permission bits say that everybody may
// read, search and write, and the list of somebody else says that this user may not.
// The rest is recorded, what is shut is named, and a restore loses nothing there.
func TestWhatAnAccessListShutsUsOutOfIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make a list of another user's")
	}
	w := newWorld(t)
	w.must(filepath.WalkDir(w.base, func(at string, _ fs.DirEntry, err error) error {
		w.must(err)
		return os.Lchown(at, nobody, nobody)
	}))
	w.write("open", "1")
	w.must(os.Lchown(w.at("open"), nobody, nobody))
	for _, name := range []string{"shut", "closed/in", "fixed/in"} {
		w.write(name, "of somebody else")
	}
	for _, dir := range []string{"closed", "fixed"} {
		w.must(os.Chmod(w.at(dir), 0o777))
	}
	if said, code := w.as("snapshot"); code != 0 && code != 5 {
		t.Fatalf("before: exit %d: %s", code, said)
	}
	w.shutOut("shut", 0)
	w.shutOut("closed", 0)
	w.shutOut("fixed", 5) // read and search, and make nothing in it
	w.write("open", "2")
	said, code := w.as("snapshot")
	if code != 5 || !strings.Contains(said, "shut: permission denied") || !strings.Contains(said, "closed: permission denied") || strings.Contains(said, "fixed") {
		t.Errorf("snapshot: exit %d, want 5 with both names: %s", code, said)
	}
	w.write("fixed/in", "changed by somebody else")
	w.must(os.Remove(w.at("open")))
	said, code = w.as("restore", "@", "--yes")
	if code != 5 || !strings.Contains(said, "fixed/in") {
		t.Errorf("restore: exit %d, want 5 with the name of what could not be written: %s", code, said)
	}
	for name, want := range map[string]string{"open": "2", "shut": "of somebody else", "closed/in": "of somebody else", "fixed/in": "changed by somebody else"} {
		if got, err := os.ReadFile(w.at(name)); err != nil || string(got) != want {
			t.Errorf("%s is %q after the restore, not %q: %v", name, got, want, err)
		}
	}
}
