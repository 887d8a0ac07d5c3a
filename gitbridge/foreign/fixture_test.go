package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A repo is a repository in which checkpoints are made with the git program, by
// the commands that the systems themselves run.
type repo struct {
	t   *testing.T
	dir string
	tmp string // for indexes
}

const (
	session = "0f8fad5b-d9cb-469f-a165-70867728950e"
	created = "2026-03-04T05:06:07.089Z"
)

func newRepo(t *testing.T, alg oid.Algorithm) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: the git program is not here, and it makes the checkpoints of this test")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("HOME", t.TempDir())
	r := &repo{t: t, dir: t.TempDir(), tmp: t.TempDir()}
	r.git("init", "-q", "-b", "main", "--object-format="+alg.String())
	r.git("config", "gc.auto", "0")
	r.git("config", "user.name", "A. User")
	r.git("config", "user.email", "user@example.org")
	r.write("tracked", "one\n")
	r.write(".gitignore", "*.log\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "first")
	return r
}

func both(t *testing.T, f func(t *testing.T, alg oid.Algorithm)) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		t.Run(alg.String(), func(t *testing.T) { f(t, alg) })
	}
}

// run starts git with more environment and bytes to read.
func (r *repo) run(stdin string, env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (r *repo) git(args ...string) string { return r.gitWith("", nil, args...) }

func (r *repo) gitWith(stdin string, env []string, args ...string) string {
	r.t.Helper()
	out, err := r.run(stdin, env, args...)
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) remove(name string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// files returns what is on disk, but for .git.
func (r *repo) files() map[string]string {
	r.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, r.dir+"/")] = string(text)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// freshTree is the worktree through an empty index (pi-rewind-hook, tallow).
func (r *repo) freshTree() string {
	r.t.Helper()
	index := filepath.Join(r.tmp, "fresh")
	os.Remove(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	r.gitWith("", env, "add", "-A")
	return r.gitWith("", env, "write-tree")
}

// copiedTree is the worktree through a copy of the index (checkpoint.sh).
func (r *repo) copiedTree() string {
	r.t.Helper()
	index := filepath.Join(r.tmp, "copy")
	data, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
	if err := errors.Join(err, os.WriteFile(index, data, 0o644)); err != nil {
		r.t.Fatal(err)
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	r.gitWith("", env, "add", "-A")
	return r.gitWith("", env, "write-tree")
}

func (r *repo) id(rev string) oid.ID {
	r.t.Helper()
	id, err := oid.Parse(r.git("rev-parse", rev))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// commit makes a commit of a tree and a ref to it.
func (r *repo) commit(ref, tree, message string, parents ...string) {
	r.t.Helper()
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	r.git("update-ref", ref, r.gitWith(message, nil, append(args, "-F", "-")...))
}

// hook appends a snapshot to the store as pi-rewind-hook does.
func (r *repo) hook() string {
	r.t.Helper()
	snapshot := r.git("commit-tree", r.freshTree(), "-m", "pi rewind snapshot")
	args := []string{"commit-tree", r.gitWith("", nil, "hash-object", "-t", "tree", "-w", "--stdin"), "-m", "pi rewind store"}
	if tip, err := r.run("", nil, "rev-parse", "-q", "--verify", gitbridge.StoreRef); err == nil {
		args = append(args, "-p", tip)
	}
	r.git("update-ref", gitbridge.StoreRef, r.git(append(args, "-p", snapshot)...))
	return snapshot
}

// piRewind makes a checkpoint as pi-rewind does; more goes before "branch".
func (r *repo) piRewind(id, more string, untracked ...string) {
	r.t.Helper()
	tree := r.freshTree()
	list, err := json.Marshal(append([]string{}, untracked...))
	if err != nil {
		r.t.Fatal(err)
	}
	message := fmt.Sprintf("pi-rewind:%s\nsessionId %s\ntrigger turn\nturn 7\n%sbranch main\nhead %s\nindex-tree %s\nworktree-tree %s\ncreated %s\nuntracked %s\nlargeFiles [\"big.bin\"]\nlargeDirs [\"data\"]",
		id, session, more, r.git("rev-parse", "HEAD"), r.git("write-tree"), tree, created, list)
	env := []string{"GIT_AUTHOR_NAME=pi-rewind", "GIT_AUTHOR_EMAIL=rewind@pi", "GIT_COMMITTER_NAME=pi-rewind", "GIT_COMMITTER_EMAIL=rewind@pi", "GIT_COMMITTER_DATE=" + created, "GIT_AUTHOR_DATE=" + created}
	r.git("update-ref", sharedPrefix+id, r.gitWith(message, env, "commit-tree", tree))
}

func (r *repo) checkpointPi(id string) {
	r.t.Helper()
	tree := r.freshTree()
	r.commit(sharedPrefix+id, tree, fmt.Sprintf("checkpoint:%s\nsessionId %s\nturn 3\nhead %s\nindex-tree %s\nworktree-tree %s\ncreated %s\nuntracked []\nlargeFiles []\nlargeDirs []",
		id, session, r.git("rev-parse", "HEAD"), r.git("write-tree"), tree, created))
}

func (r *repo) open() *gitbridge.Repo {
	r.t.Helper()
	l, err := gitconf.Discover(r.dir, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	repo, err := gitbridge.Open(l, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { repo.Close() })
	return repo
}

func (r *repo) index() *gitindex.Index {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
	if err != nil {
		r.t.Fatal(err)
	}
	x, err := gitindex.Decode(data, &gitindex.Options{Algorithm: r.open().Algorithm()})
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// all reads every checkpoint, by ref; those without one by their errors.
func (r *repo) all(opt *Options) map[string]Checkpoint {
	r.t.Helper()
	found := map[string]Checkpoint{}
	for c, err := range All(context.Background(), r.open(), opt) {
		if err != nil {
			r.t.Fatal(err)
		}
		key := c.Ref
		if _, twice := found[key]; twice || key == "" {
			key += " " + c.Commit.String() + fmt.Sprint(c.Err)
		}
		found[key] = c
	}
	return found
}

// refs is everything that refs say.
func (r *repo) refs() string { return r.git("for-each-ref") }

func (r *repo) wantFiles(want map[string]string) {
	r.t.Helper()
	got := r.files()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for k := range want {
			if !yield(k) {
				return
			}
		}
		for k := range got {
			if _, both := want[k]; !both && !yield(k) {
				return
			}
		}
	}) {
		g, there := got[name]
		w, wanted := want[name]
		if there != wanted || g != w {
			r.t.Errorf("%s: there %v %q, want %v %q", name, there, g, wanted, w)
		}
	}
}
