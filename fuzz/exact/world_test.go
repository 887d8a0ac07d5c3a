//go:build !windows

package exact

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
)

// program is the built command, made once for all tests.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("6") // most of the time is waiting
	}
	os.Exit(kit.Run(m, &program))
}

// A world is a directory tree to work in, with everything that a test may
// touch: the worktree, what lies outside of it, a home.
type world struct {
	*testing.T
	base    string // holds all of it
	root    string // the worktree
	outside string // must never change
	env     map[string]string
	cwd     string      // where rewind is started; empty: the root
	alsoGit []string    // other repositories that must not change
	kept    []string    // what a restore must name as kept, and nothing else
	skipped []string    // what a snapshot must name as skipped, and nothing else
	umask   os.FileMode // of the program; 0: the test's
	user    int         // who runs the program; 0: whoever runs the test
}

// newWorld makes a world in memory, if the system has a place for that: what
// these tests cost is mostly waiting for the disk.
func newWorld(t *testing.T) *world {
	t.Helper()
	base, err := os.MkdirTemp("/dev/shm", "rewind-exact-")
	if err != nil {
		return newWorldOnDisk(t)
	}
	t.Cleanup(func() {
		_ = exec.Command("chmod", "-R", "u+rwx", base).Run()
		_ = os.RemoveAll(base)
	})
	return newWorldAt(t, base)
}

// newWorldOnDisk makes a world where temporary files usually lie.
func newWorldOnDisk(t *testing.T) *world {
	t.Helper()
	return newWorldAt(t, t.TempDir())
}

func newWorldAt(t *testing.T, base string) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, and it is the oracle of this test")
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, base: base, root: filepath.Join(base, "repo"), outside: filepath.Join(base, "outside")}
	for _, dir := range []string{"repo", "outside/dir", "home", "state"} {
		w.must(os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	w.must(os.WriteFile(filepath.Join(w.outside, "dir", "treasure"), []byte("do not touch\n"), 0o644))
	w.must(os.WriteFile(filepath.Join(w.outside, "treasure"), []byte("nor this\n"), 0o600))
	w.env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(base, "home"), "XDG_STATE_HOME": filepath.Join(base, "state"),
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C",
	}
	return w
}

// nobody is a user without any rights: a test by root alone would not notice
// what only root is allowed to.
const nobody = 65534

// byNobody lets another user own the world and run the program, if the test
// is run by root. What is made later is given away by hand over.
func (w *world) byNobody() {
	w.Helper()
	if os.Getuid() != 0 {
		return
	}
	w.user = nobody
	if filepath.Base(w.base) == "001" { // of T.TempDir, whose parent is closed
		w.must(os.Chmod(filepath.Dir(w.base), 0o711))
	}
	w.must(os.Chmod(w.base, 0o755))
	w.handOver()
}

// handOver gives everything in the world to its user.
func (w *world) handOver() {
	w.Helper()
	if w.user == 0 {
		return
	}
	w.must(filepath.WalkDir(w.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Sys().(*syscall.Stat_t).Uid == uint32(w.user) {
			return err
		}
		if err := os.Lchown(path, w.user, w.user); err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(path, info.Mode()) // chown takes set-id bits away
	}))
}

// newRepo is a world with the usual repository.
func newRepo(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	usual(w)
	return w
}

func (w *world) init(args ...string) {
	w.Helper()
	w.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	w.identity(".")
}

func (w *world) identity(dir string) {
	w.Helper()
	w.git("-C", dir, "config", "user.name", "A")
	w.git("-C", dir, "config", "user.email", "a@localhost")
}

func (w *world) commit(message string) {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", message)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// path gives the place of a path in the worktree.
func (w *world) path(rel string) string { return filepath.Join(w.root, rel) }

// write writes a file, with the directories on the way to it.
func (w *world) write(rel, text string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(rel)), 0o755))
	w.must(os.WriteFile(w.path(rel), []byte(text), 0o644))
}

func (w *world) chmod(rel string, perm os.FileMode) {
	w.Helper()
	w.must(os.Chmod(w.path(rel), perm))
}

func (w *world) mkdir(rel string) {
	w.Helper()
	w.must(os.MkdirAll(w.path(rel), 0o755))
}

func (w *world) link(target, rel string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(rel)), 0o755))
	w.must(os.Symlink(target, w.path(rel)))
}

func (w *world) rename(from, to string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(to)), 0o755))
	w.must(os.Rename(w.path(from), w.path(to)))
}

func (w *world) remove(rels ...string) {
	w.Helper()
	for _, rel := range rels {
		w.must(os.RemoveAll(w.path(rel)))
	}
}

func (w *world) read(rel string) string {
	w.Helper()
	data, err := os.ReadFile(w.path(rel))
	w.must(err)
	return string(data)
}

// environ is the environment of programs, with more on top.
func (w *world) environ(more ...string) []string {
	var env []string
	for name, value := range w.env {
		env = append(env, name+"="+value)
	}
	return append(env, more...)
}

// git runs git in the worktree.
func (w *world) git(args ...string) string {
	w.Helper()
	out, err := w.tryGit(args...)
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false",
		"-c", "commit.gpgSign=false", "-c", "safe.directory=*"}, args...)...)
	cmd.Dir = w.root
	cmd.Env = slices.DeleteFunc(w.environ(), isGitPlace)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// isGitPlace reports variables that lead git elsewhere: they are for rewind.
func isGitPlace(v string) bool {
	return strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GIT_CONFIG")
}

// nested makes a repository in a directory of the worktree, with a commit if
// it is to have one.
func (w *world) nested(rel string, commit bool) {
	w.Helper()
	w.mkdir(rel)
	w.git("init", "-q", "-b", "main", rel)
	w.identity(rel)
	w.write(rel+"/n.txt", "nested\n")
	if commit {
		w.git("-C", rel, "add", "-A")
		w.git("-C", rel, "commit", "-q", "-m", "nested")
	}
}

// submodule adds a submodule at a path; its origin lies beside the worktree.
func (w *world) submodule(rel string) {
	w.Helper()
	origin := filepath.Join(w.base, "origin")
	w.git("init", "-q", "-b", "main", origin)
	w.identity(origin)
	w.must(os.WriteFile(filepath.Join(origin, "s.txt"), []byte("sub\n"), 0o644))
	w.git("-C", origin, "add", "-A")
	w.git("-C", origin, "commit", "-q", "-m", "sub")
	w.git("submodule", "--quiet", "add", origin, rel)
	w.git("commit", "-q", "-m", "with a submodule")
}
