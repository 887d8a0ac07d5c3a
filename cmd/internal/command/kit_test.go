package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// What the tests of the whole program have in common.

// home is an environment of a user who has nothing yet.
func home(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	return []string{"HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_CONFIG_HOME=" + dir + "/config", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func repository(t *testing.T) string {
	t.Helper()
	return gittest.New(t).Dir
}

// committed makes a repository of so many files, and a home.
func committed(t *testing.T, files int) (dir string, env []string) {
	t.Helper()
	r := gittest.New(t)
	for i := range files {
		put(t, r.Dir, fmt.Sprintf("f%d", i), fmt.Sprintf("file %d", i))
	}
	r.Git("add", "-A")
	r.Git("commit", "-qm", "x")
	return r.Dir, home(t)
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, dir, name, text string) {
	t.Helper()
	if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != text {
		t.Errorf("%s has %q, want %q", name, got, text)
	}
}

// homeOf is where a user's own files are.
func homeOf(env []string) string {
	for _, v := range env {
		if dir, ok := strings.CutPrefix(v, "HOME="); ok {
			return dir
		}
	}
	return ""
}

// must runs a command that succeeds.
func must(t *testing.T, cmd *exec.Cmd, dir string, env []string) {
	t.Helper()
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
}
