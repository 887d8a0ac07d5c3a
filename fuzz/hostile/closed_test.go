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
