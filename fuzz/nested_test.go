//go:build linux

package fuzz

import (
	"os/exec"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
)

// gitIn runs git in the repository of a directory, wherever its settings say that
// its worktree is.
func (w *world) gitIn(dir string, args ...string) (string, error) {
	return w.tryGit("", append([]string{"-C", dir, "--git-dir=.git", "--work-tree=."}, args...)...)
}

// headIn is the commit that the repository of a directory is on, "" if it has
// none.
func (w *world) headIn(dir string) string {
	if head, err := w.gitIn(dir, "rev-parse", "-q", "--verify", "HEAD"); err == nil {
		return head
	}
	return ""
}

// isSpoiled reports whether a repository is named that git cannot read either. In a
// submodule, and in another one inside, the outer git does not look there.
func (w *world) isSpoiled(s engine.Note) bool {
	_, err := w.gitIn(string(s.Path), "status")
	return err != nil && strings.HasPrefix(s.Reason, "nested repository: ")
}

// setLinks puts the commits into an index of repositories at which git add -A
// fails because it cannot ask in them whether anything was edited: their settings
// say that they have no worktree, or another. The tree has them all the same.
func (w *world) setLinks(index string, heads map[string]string) {
	for p, head := range heads {
		if out, err := w.oracleGit(index, "update-index", "--add", "--cacheinfo", "160000,"+head+","+p); err != nil {
			w.fail("link %q: %v %s", p, err, out)
		}
	}
}

func (w *world) copyTree(from, to string) {
	w.t.Helper()
	if out, err := exec.Command("cp", "-a", w.path(from), w.path(to)).CombinedOutput(); err != nil {
		w.fail("%v %s", err, out)
	}
}

// inside makes a repository with a commit.
func (w *world) inside(name string) {
	w.t.Helper()
	w.git("init", "-q", name)
	w.write(name+"/.gitignore", "ignored\n")
	w.write(name+"/f", "1")
	w.git("-C", name, "add", "-A")
	w.git("-C", name, "commit", "-qm", "first")
}

// named takes a snapshot that must name these paths, of which only git's tree
// lacks something, and have what is there.
func (w *world) named(want ...string) taken {
	w.t.Helper()
	r := w.record()
	var names []string
	for _, s := range r.Skipped {
		if names = append(names, string(s.Path)); !s.Kept {
			w.fail("%q is not recorded", s.Path)
		}
	}
	if !slices.Equal(names, want) {
		w.fail("skipped are %q, not %q", names, want)
	}
	got := w.export(w.long, r.Snapshot)
	for path, what := range recordable(w.picture(w.root)) {
		if got[path] != what {
			w.fail("%q is recorded as %q, and is %q", path, got[path], what)
		}
	}
	return taken{snap: r.Snapshot, recorded: got, outside: w.outside}
}
