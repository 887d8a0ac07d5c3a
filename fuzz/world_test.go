//go:build linux

package fuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// A world is one repository with its worktree, made and changed at random from
// a seed.
type world struct {
	t    testing.TB
	rng  *rand.Rand
	seed uint64

	dir     string // everything lies below it
	root    string // the worktree
	gitDir  string
	common  string
	home    string
	scratch string // where the oracle's objects go, so that they are not the repository's

	hidden string // the file that nobody may read at the moment

	oracleInput  string // what the oracle's git reads
	oracleBehind bool   // it does not look behind links
	joined       joined // the index that it wrote whole

	kind     kind
	outside  int      // counts the changes of rules outside the tree
	log      []string // what was done, newest last
	nested   bool     // there was a repository inside
	unwanted bool     // some of the index may not be wanted on disk
	tame     bool     // no names that some file system takes for ".git"

	long  *engine.Engine // used for many steps
	taken []taken        // snapshots that can be restored
}

// newWorld makes the world of a seed. Whether it is odd is drawn apart, so that
// the others stay what they were before there were odd ones.
func newWorld(t testing.TB, dir string, seed uint64, mayBeOdd bool) *world {
	t.Helper()
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), seed: seed, dir: dir}
	w.kind.Odd = mayBeOdd && rand.New(rand.NewPCG(seed, 2)).IntN(2) == 0
	w.kind.Partial = w.kind.Odd && rand.New(rand.NewPCG(seed, 4)).IntN(8) == 0
	w.home, w.scratch = filepath.Join(dir, "home"), filepath.Join(dir, "scratch")
	for _, d := range []string{w.home, w.scratch} {
		w.must(os.MkdirAll(d, 0o755))
	}
	w.beOpen()
	w.build()
	w.long = w.open()
	return w
}

// bare makes a world without git.
func bare(t *testing.T, seed uint64) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 4)), seed: seed, dir: dir, root: filepath.Join(dir, "tree"), home: filepath.Join(dir, "home")}
	w.must(errors.Join(os.Mkdir(w.root, 0o755), os.Mkdir(w.home, 0o755)))
	w.long = w.open()
	t.Cleanup(func() { _ = w.long.Close() })
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.fail("%v", err)
	}
}

// fail ends the world with what is needed to see it again.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	from := max(0, len(w.log)-60)
	if w.hidden != "" {
		_ = os.Chmod(w.hidden, 0o700) // so that it can be removed
	}
	w.t.Fatalf("%s\nseed %d step %d in %s, %+v, last of it:\n  %s", fmt.Sprintf(format, args...), w.seed, len(w.log), w.root, w.kind, strings.Join(w.log[from:], "\n  "))
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// open opens the worktree anew.
func (w *world) open() *engine.Engine {
	w.t.Helper()
	e, err := engine.Open(w.t.Context(), w.root, &engine.Options{Getenv: w.getenv})
	w.must(err)
	return e
}

// reopen is for what an engine reads only once: git's configuration.
func (w *world) reopen() {
	w.must(w.long.Close())
	w.long = w.open()
}

func (w *world) getenv(name string) string {
	switch name {
	case "HOME":
		return w.home
	case "PATH":
		return os.Getenv("PATH")
	case "GIT_CONFIG_NOSYSTEM":
		return "1"
	}
	return ""
}

func (w *world) environ(more ...string) []string {
	return append([]string{
		"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true",
	}, more...)
}

// git runs git in the worktree; it must succeed.
func (w *world) git(args ...string) string {
	w.t.Helper()
	out, err := w.tryGit("", args...)
	if err != nil {
		w.endIfGitIsBroken()
		w.fail("git %q: %v\n%s", args, err, out)
	}
	return out
}

// endIfGitIsBroken ends a world in which git cannot read the index that it wrote
// itself, has an entry in it twice and makes a tree of that, has a file in it whose
// name ends with a slash, or entries below a directory that it has as a whole (2.39 has mistakes with split and sparse indexes; that the engine writes
// to none is held in fuzz/exact): there is no answer to compare with any more.
func (w *world) endIfGitIsBroken() {
	all, err := w.entries()
	if err != nil { // git may read it all the same as long as it is to stay sparse
		w.t.Skipf("seed %d ends at step %d, for git's own index is broken: it cannot write it whole: %v", w.seed, len(w.log), err)
	}
	if at := slices.IndexFunc(all, func(l listed) bool { return strings.HasSuffix(l.path, "/") }); at >= 0 {
		w.t.Skipf("seed %d ends at step %d, for git's own index is broken: it has the file %q", w.seed, len(w.log), all[at].path)
	}
	if dir := w.partlyWhole(); dir != "" {
		w.t.Skipf("seed %d ends at step %d, for git's own index is broken: it has the directory %q as a whole, and something in it", w.seed, len(w.log), dir)
	}
	for _, args := range [][]string{{"ls-files", "-s"}, {"fsck", "--connectivity-only"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = w.root, w.environ()
		out, err := cmd.CombinedOutput()
		if err != nil && (args[0] == "ls-files" || bytes.Contains(out, []byte("fatal: multiple stage entries for merged file"))) {
			w.t.Skipf("seed %d ends at step %d, for git's own index is broken: git %s: %v: %.200s", w.seed, len(w.log), args[0], err, out)
		}
	}
}

// tryGit is for what may fail, like adding a name that git refuses.
func (w *world) tryGit(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), endless)
	defer cancel()
	cmd := exec.CommandContext(ctx, gitProgram(), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.root, w.environ("GIT_LITERAL_PATHSPECS=1"), strings.NewReader(stdin)
	if args[0] == "check-ignore" || args[0] == "stash" {
		cmd.Env = w.environ()
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if slices.Contains(args, "-z") {
		cmd.Stderr = nil // the output is a list
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		w.t.Skipf("seed %d ends at step %d, for git does not come to an end: git %q", w.seed, len(w.log), args)
	}
	return strings.TrimSuffix(out.String(), "\n"), err
}

// gitProgram is where git is: looking it up for each of its runs takes a tenth of
// what this program does.
var gitProgram = sync.OnceValue(func() string {
	at, err := exec.LookPath("git")
	if err != nil {
		return "git"
	}
	return at
})

// endless is after how long a git command is thought to go on for ever: 2.39
// does, with an index that is split and sparse.
const endless = 5 * time.Minute

// undamaged holds that the store has all that it is to have.
func (w *world) undamaged() {
	w.t.Helper()
	if v, err := w.long.Verify(w.t.Context()); err != nil || len(v.Damaged) > 0 {
		w.fail("verify: %v %+v", err, v)
	}
}

func (w *world) path(rel string) string { return filepath.Join(w.root, rel) }

// one in n times it is true.
func (w *world) one(n int) bool { return w.rng.IntN(n) == 0 }

func pick[T any](w *world, list []T) T { return list[w.rng.IntN(len(list))] }

// mine returns what a user has besides the worktree, and nobody but git may
// touch.
func (w *world) mine() map[string]string {
	got := map[string]string{}
	for _, f := range []string{
		filepath.Join(w.gitDir, "index"), filepath.Join(w.gitDir, "HEAD"), filepath.Join(w.common, "config"),
		filepath.Join(w.common, "packed-refs"), filepath.Join(w.common, "info", "exclude"), filepath.Join(w.common, "refs", "stash"),
	} {
		data, err := os.ReadFile(f)
		got[f] = fmt.Sprint(string(data), os.IsNotExist(err))
	}
	heads := filepath.Join(w.common, "refs", "heads")
	_ = filepath.WalkDir(heads, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(p)
			got[p] = string(data)
		}
		return nil
	})
	return got
}
