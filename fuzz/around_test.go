//go:build linux

package fuzz

import (
	"os"
	"strings"
	"testing"
)

// TestALinkToTheRepositoryItselfIsACommitInPlaceOfAnEntry: where the index has a
// submodule of the directory's name, git add looks for what became of that and
// finds the repository's own commit. Where it has a file it finds the commit too,
// and then puts in its place what it adds of the directory, if that is anything: not
// where the directory is ignored. Without a commit, and beside files of the index
// in it, there is none.
func TestALinkToTheRepositoryItselfIsACommitInPlaceOfAnEntry(t *testing.T) {
	commit := strings.Repeat("12", 20)
	entries := map[string]func(w *world){
		"file": func(w *world) {
			w.git("update-index", "--add", "--cacheinfo", "100644,"+w.git("rev-parse", ":top")+",s")
		},
		"unwanted file": func(w *world) {
			w.git("update-index", "--add", "--cacheinfo", "100644,"+w.git("rev-parse", ":top")+",s")
			w.git("update-index", "--skip-worktree", "s")
			w.unwanted = true
		},
		"submodule":        func(w *world) { w.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",s") },
		"conflict":         func(w *world) { w.inConflict("160000", commit) },
		"file in conflict": func(w *world) { w.inConflict("100644", w.git("rev-parse", ":top")) },
	}
	for _, layout := range []string{"", "linked", "separate"} {
		for name, enter := range entries {
			if layout == "separate" && !strings.Contains(name, "file") {
				continue // its settings say where its worktree is, and git add asks itself without end what was edited there
			}
			t.Run(layout+" "+name, func(t *testing.T) {
				var found []string
				if !strings.Contains(name, "file") {
					found = []string{"s"}
				}
				w := plain(t, kind{Layout: layout})
				w.nested = true
				w.write("top", "1")
				w.git("add", "top")
				w.write("s/f", "1")
				w.write("s/top", "of the directory")
				w.must(os.Symlink(w.gitDir, w.path("s/.git")))
				w.settle()
				w.links(w.keep())
				enter(w)
				w.settle()
				w.keep() // there is no commit yet
				w.git("reset", "-q", "--", "s")
				w.git("commit", "-qm", "first")
				enter(w)
				for range 2 {
					w.settle()
					w.links(w.keep(), found...)
				}
				first := w.taken[len(w.taken)-1]
				if first.recorded["s/f"] == "" || first.recorded["s/top"] == "" {
					w.fail("what is in the directory is not recorded")
				}
				w.write(".gitignore", "/s\n")
				w.write("s/f", "2")
				w.settle()
				w.links(w.keep(), "s")
				w.git("update-ref", "HEAD", w.git("commit-tree", "-m", "second", "HEAD^{tree}"))
				w.settle()
				w.links(w.keep(), "s")
				w.must(os.Remove(w.path(".gitignore")))
				w.git("update-index", "--force-remove", "s")
				w.settle()
				w.links(w.keep())
				w.git("add", "-f", "s/f")
				w.settle()
				w.links(w.keep())
				w.taken = []taken{first}
				w.travel()
				w.finish()
			})
		}
	}
}

// inConflict puts the three sides of a conflict at s into the index.
func (w *world) inConflict(mode, id string) {
	w.t.Helper()
	lines := ""
	for _, stage := range []string{"1", "2", "3"} {
		lines += mode + " " + id + " " + stage + "\ts\x00"
	}
	if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
		w.fail("%v %s", err, out)
	}
}
