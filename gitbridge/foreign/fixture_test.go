package foreign

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A repo is a repository in which checkpoints are made with the git program, by
// the commands that the systems themselves run.
type repo struct {
	*gittest.Repo
	tmp string // for indexes
}

// TestMain leaves the user's configuration out.
func TestMain(m *testing.M) {
	gittest.Alone()
	os.Exit(m.Run())
}

const (
	session = "0f8fad5b-d9cb-469f-a165-70867728950e"
	created = "2026-03-04T05:06:07.089Z"
)

func newRepo(t *testing.T, alg oid.Algorithm) *repo {
	t.Helper()
	r := &repo{gittest.Of(t, alg), t.TempDir()}
	r.Write("tracked", "one\n")
	r.Write(".gitignore", "*.log\n")
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "first")
	return r
}

// with is the repository for git with more in its environment.
func (r *repo) with(env ...string) *gittest.Repo {
	return &gittest.Repo{T: r.T, Dir: r.Dir, Env: env}
}

func (r *repo) remove(name string) {
	r.T.Helper()
	if err := os.Remove(r.Path(name)); err != nil {
		r.T.Fatal(err)
	}
}

// files returns what is on disk, but for .git.
func (r *repo) files() map[string]string {
	r.T.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(r.Dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, r.Dir+"/")] = string(text)
		return err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return found
}

// freshTree is the worktree through an empty index (pi-rewind-hook, tallow).
func (r *repo) freshTree() string { return r.treeBy(nil) }

// copiedTree is the worktree through a copy of the index (checkpoint.sh).
func (r *repo) copiedTree() string {
	r.T.Helper()
	data, err := os.ReadFile(r.Path(".git", "index"))
	if err != nil {
		r.T.Fatal(err)
	}
	return r.treeBy(data)
}

func (r *repo) treeBy(index []byte) string {
	r.T.Helper()
	path := filepath.Join(r.tmp, "index")
	_ = os.Remove(path)
	if index != nil {
		if err := os.WriteFile(path, index, 0o644); err != nil {
			r.T.Fatal(err)
		}
	}
	by := r.with("GIT_INDEX_FILE=" + path)
	by.Git("add", "-A")
	return by.Git("write-tree")
}

// commit makes a commit of a tree and a ref to it.
func (r *repo) commit(ref, tree, message string, parents ...string) {
	r.T.Helper()
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	r.Git("update-ref", ref, r.Give(message, append(args, "-F", "-")...))
}

// hook appends a snapshot to the store as pi-rewind-hook does.
func (r *repo) hook() string {
	r.T.Helper()
	snapshot := r.Git("commit-tree", r.freshTree(), "-m", "pi rewind snapshot")
	args := []string{"commit-tree", r.Give("", "hash-object", "-t", "tree", "-w", "--stdin"), "-m", "pi rewind store"}
	if tip, err := r.Try("rev-parse", "-q", "--verify", gitbridge.StoreRef); err == nil {
		args = append(args, "-p", tip)
	}
	r.Git("update-ref", gitbridge.StoreRef, r.Git(append(args, "-p", snapshot)...))
	return snapshot
}

// piRewind makes a checkpoint as pi-rewind does; more goes before "branch".
func (r *repo) piRewind(id, more string, untracked ...string) {
	r.T.Helper()
	tree := r.freshTree()
	list, err := json.Marshal(append([]string{}, untracked...))
	if err != nil {
		r.T.Fatal(err)
	}
	message := fmt.Sprintf("pi-rewind:%s\nsessionId %s\ntrigger turn\nturn 7\n%sbranch main\nhead %s\nindex-tree %s\nworktree-tree %s\ncreated %s\nuntracked %s\nlargeFiles [\"big.bin\"]\nlargeDirs [\"data\"]",
		id, session, more, r.Git("rev-parse", "HEAD"), r.Git("write-tree"), tree, created, list)
	env := []string{"GIT_AUTHOR_NAME=pi-rewind", "GIT_AUTHOR_EMAIL=rewind@pi", "GIT_COMMITTER_NAME=pi-rewind", "GIT_COMMITTER_EMAIL=rewind@pi", "GIT_COMMITTER_DATE=" + created, "GIT_AUTHOR_DATE=" + created}
	r.Git("update-ref", sharedPrefix+id, r.with(env...).Give(message, "commit-tree", tree))
}

func (r *repo) checkpointPi(id string) {
	r.T.Helper()
	tree := r.freshTree()
	r.commit(sharedPrefix+id, tree, fmt.Sprintf("checkpoint:%s\nsessionId %s\nturn 3\nhead %s\nindex-tree %s\nworktree-tree %s\ncreated %s\nuntracked []\nlargeFiles []\nlargeDirs []",
		id, session, r.Git("rev-parse", "HEAD"), r.Git("write-tree"), tree, created))
}

func (r *repo) open() *gitbridge.Repo {
	r.T.Helper()
	l, err := gitconf.Discover(r.Dir, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	repo, err := gitbridge.Open(l, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { repo.Close() })
	return repo
}

func (r *repo) index() *gitindex.Index {
	r.T.Helper()
	data, err := os.ReadFile(r.Path(".git", "index"))
	if err != nil {
		r.T.Fatal(err)
	}
	x, err := gitindex.Decode(data, &gitindex.Options{Algorithm: r.open().Algorithm()})
	if err != nil {
		r.T.Fatal(err)
	}
	return x
}

// all reads every checkpoint, by ref; those without one by their errors.
func (r *repo) all(opt *Options) map[string]Checkpoint {
	r.T.Helper()
	found := map[string]Checkpoint{}
	for c, err := range All(context.Background(), r.open(), opt) {
		if err != nil {
			r.T.Fatal(err)
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
func (r *repo) refs() string { return r.Git("for-each-ref") }

func (r *repo) wantFiles(want map[string]string) {
	r.T.Helper()
	if got := r.files(); !maps.Equal(got, want) {
		r.T.Errorf("on disk are %q, want %q", got, want)
	}
}
