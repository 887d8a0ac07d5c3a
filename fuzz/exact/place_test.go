//go:build !windows

package exact

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachWorktreeHasItsOwnHistory checks that two worktrees of one repository
// share a store and nothing else: a restore in one is not undone in the other.
func TestEachWorktreeHasItsOwnHistory(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.commit("all")
	w.git("worktree", "add", "-q", "-b", "side", filepath.Join(w.base, "linked"))
	linked := *w
	linked.root = filepath.Join(w.base, "linked")

	mainID, _ := w.snapshot()
	linked.write("only-linked.txt", "x")
	linkedID, _ := linked.snapshot()
	if mainID == linkedID {
		t.Fatal("two worktrees have one snapshot")
	}
	mainThen, linkedThen := w.look(), linked.look()
	churn(w)
	churn(&linked)
	mainNow, linkedNow := w.look(), linked.look()

	w.restore(mainID)
	w.is("restore of the main one", mainThen)
	linked.is("restore of the main one", linkedNow)
	if f := linked.rewind("undo", "--yes"); f.code != 1 || !strings.Contains(f.errors, "nothing to do") {
		t.Fatalf("undo in the linked worktree exited with %d: %s", f.code, f.errors)
	}
	linked.restore(linkedID)
	linked.is("restore of the linked one", linkedThen)
	w.undo()
	w.is("undo in the main one", mainNow)
	linked.is("undo in the main one", linkedThen)
	linked.undo()
	linked.is("undo in the linked one", linkedNow)

	// A snapshot of the one can be restored in the other.
	linked.restore(mainID)
	linked.is("restore of the main one's snapshot", state{files: mainThen.files, git: linkedNow.git, outside: linkedNow.outside})
	w.sound()
}

// TestARepositoryInsideAnotherIsItsOwn checks that work in an inner repository
// leaves the outer one alone, its store included.
func TestARepositoryInsideAnotherIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.nested("inner", true)
	w.write("inner/sub/x.txt", "x")
	inner := *w
	inner.root, inner.cwd = w.path("inner"), w.path("inner/sub")
	inner.alsoGit = []string{w.root}
	outer := worktreePicture(t, w.root).Without("inner")
	inner.prove(func() {
		inner.write("n.txt", "other\n")
		inner.write("new.txt", "new\n")
		inner.remove("sub/x.txt")
	}, nil)
	if d := outer.Differs(worktreePicture(t, w.root).Without("inner")); d != "" {
		t.Fatalf("the outer worktree has changed:\n%s", d)
	}
	if _, err := os.Stat(w.path(".git/rewind")); err == nil {
		t.Fatal("the outer repository has got a store")
	}
}

// TestGitVariablesOfAHookAreIgnored checks that a snapshot taken by a hook, for
// which git sets its variables, is one of the worktree that the hook runs in.
func TestGitVariablesOfAHookAreIgnored(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	w.commit("all")
	w.git("worktree", "add", "-q", "-b", "side", filepath.Join(w.base, "linked"))
	linked := *w
	linked.root = filepath.Join(w.base, "linked")
	for _, x := range []*world{w, &linked} {
		want := x.rewind("snapshot", "--dry-run", "--json").Tree
		for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction"} {
			out := filepath.Join(w.base, "out-"+hook)
			script := fmt.Sprintf("#!/bin/sh\nenv | grep ^GIT_ >> '%s.env'\n'%s' snapshot --dry-run --json > '%s' 2>&1\n", out, program, out)
			w.must(os.WriteFile(w.path(".git/hooks/"+hook), []byte(script), 0o755))
		}
		x.write("a.txt", "alpha\n") // unchanged, with a new time
		x.git("commit", "-q", "-a", "--allow-empty", "-m", "with hooks")
		for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction"} {
			out, err := os.ReadFile(filepath.Join(w.base, "out-"+hook))
			w.must(err)
			var got printed
			if err := json.Unmarshal(out, &got); err != nil || got.Tree != want {
				t.Errorf("%s: the hook of %s recorded %s, want tree %s", hook, x.root, out, want)
			}
		}
		for _, hook := range []string{"pre-commit", "post-commit", "reference-transaction"} {
			w.must(os.Remove(w.path(".git/hooks/" + hook)))
		}
	}
	env, err := os.ReadFile(filepath.Join(w.base, "out-pre-commit.env"))
	w.must(err)
	for _, name := range []string{"GIT_INDEX_FILE=", "GIT_DIR="} {
		if !strings.Contains(string(env), name) {
			t.Errorf("git did not set %s for the hook, so nothing was tested", name)
		}
	}
}

// TestEachGitVariableIsIgnored sets them one by one.
func TestEachGitVariableIsIgnored(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES"} {
		w := newRepo(t)
		other := filepath.Join(w.base, "other")
		w.git("init", "-q", "-b", "main", other)
		want := w.rewind("snapshot", "--dry-run", "--json").Tree
		w.alsoGit = []string{other}
		w.env[name] = filepath.Join(other, ".git")
		before := w.look()
		if got := w.rewind("snapshot", "--json"); got.Tree != want || got.code != 0 {
			t.Errorf("with %s the tree is %s, want %s: %s", name, got.Tree, want, got.errors)
		}
		w.untouched("snapshot with "+name, before)
		if _, err := os.Stat(filepath.Join(other, ".git", "rewind")); err == nil {
			t.Errorf("with %s the store lies in the other repository", name)
		}
		if out, err := w.tryGit("cat-file", "-e", "refs/pi-rewind/store"); err != nil {
			t.Errorf("with %s the ref is not in the repository: %s", name, out)
		}
	}
}

// TestTheGitDirectoryMayLieElsewhere holds it for a .git that is a file.
func TestTheGitDirectoryMayLieElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorldOnDisk(t)
	git := filepath.Join(w.base, "far", "away.git")
	if dir, err := os.MkdirTemp("/dev/shm", "rewind-exact-"); err == nil { // another file system
		t.Cleanup(func() { os.RemoveAll(dir) })
		git = filepath.Join(dir, "away.git")
	}
	w.must(os.MkdirAll(filepath.Dir(git), 0o755))
	w.git("init", "-q", "-b", "main", "--separate-git-dir="+git)
	usual(w)
	before := pictureOf(t, git, ours)
	w.prove(func() { churn(w) }, nil)
	if d := before.Differs(pictureOf(t, git, ours)); d != "" {
		t.Errorf("git's own files have changed:\n%s", d)
	}
}

// TestTheStoreMayLieOnAnotherFileSystem holds it without git.
func TestTheStoreMayLieOnAnotherFileSystem(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/dev/shm", "rewind-exact-")
	if err != nil {
		t.Skipf("SKIPPED: there is no second file system at hand: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := newWorldOnDisk(t)
	w.env["XDG_STATE_HOME"] = dir
	w.write("a.txt", "alpha\n")
	w.write("dir/deep/c.txt", "gamma\n")
	w.write("untracked.txt", "x")
	w.prove(func() { churn(w) }, nil)
}

// TestAPartOfTheTreeIsRestored checks that a file, a directory or a glob is
// restored with its parents, that all else stays, and that undo is as exact.
func TestAPartOfTheTreeIsRestored(t *testing.T) {
	for name, c := range map[string]struct {
		cwd    string
		paths  []string
		expect []string // the paths that become what they were
	}{
		"file":                 {paths: []string{"a.txt"}, expect: []string{"a.txt"}},
		"file in a gone dir":   {paths: []string{"gone/sub/x.go"}, expect: []string{"gone/sub/x.go"}},
		"directory":            {paths: []string{"dir"}, expect: []string{"dir"}},
		"directory with slash": {paths: []string{"dir/"}, expect: []string{"dir"}},
		"glob":                 {paths: []string{"*.go"}, expect: []string{"gone/sub/x.go", "dir/y.go", "z.go", "new.go"}},
		"glob with slash":      {paths: []string{"dir/*.go"}, expect: []string{"dir/y.go"}},
		"two":                  {paths: []string{"a.txt", "gone"}, expect: []string{"a.txt", "gone"}},
		"new file goes":        {paths: []string{"new.txt"}, expect: []string{"new.txt"}},
		"new directory goes":   {paths: []string{"newdir"}, expect: []string{"newdir"}},
		"from a subdirectory":  {cwd: "dir", paths: []string{"y.go"}, expect: []string{"dir/y.go"}},
		"all":                  {paths: []string{"."}, expect: []string{"a.txt", "dir", "gone", "z.go", "new.go", "new.txt", "newdir", "tool.sh", "untracked.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRepo(t)
			for _, f := range []string{"gone/sub/x.go", "gone/sub/y.txt", "gone/z.txt", "dir/y.go", "z.go"} {
				w.write(f, "then "+f)
			}
			then := w.look()
			id, _ := w.snapshot()
			churn(w)
			w.remove("gone")
			for _, f := range []string{"dir/y.go", "z.go", "new.go"} {
				w.write(f, "now "+f)
			}
			now := w.look()
			if c.cwd != "" {
				w.cwd = w.path(c.cwd)
			}
			want := now
			want.files = now.files.With(then.files, c.expect...)
			for _, path := range c.expect { // with the directories on the way
				for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
					if _, wanted := then.files[path]; wanted {
						want.files[dir] = then.files[dir]
					}
				}
			}
			w.clean("restore", w.restore(id, c.paths...))
			w.is("restore", want)
			w.clean("undo", w.undo())
			w.is("undo", now)
			w.clean("redo", w.redo())
			w.is("redo", want)
		})
	}
}
