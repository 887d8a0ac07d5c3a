//go:build linux

package fuzz

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestWhatTheIndexHasBelowAFileThatGitLeavesOutStays: entries that are not wanted
// on disk are in the tree as long as git add does not put the file in their place,
// because a filter fails or the rules ignore it. One that others may not read git
// would add; it takes their place and is not in the tree itself. The file is in the
// snapshot all the same, and restored as one.
func TestWhatTheIndexHasBelowAFileThatGitLeavesOutStays(t *testing.T) {
	out := map[string]func(w *world){
		"filter":   func(w *world) { w.write(".gitattributes", "d filter=broken\n") },
		"encoding": func(w *world) { w.write(".gitattributes", "d working-tree-encoding=UTF-16LE-BOM\n") },
		"ignored":  func(w *world) { w.write(".gitignore", "/d\n") },
		"private":  func(w *world) { w.must(os.Chmod(w.path("d"), 0o600)) },
	}
	for name, leaveOut := range out {
		t.Run(name, func(t *testing.T) {
			w := plain(t, kind{})
			for w.seed = 0; !w.kind.Open && w.seed < 20; w.seed++ {
				w.beOpen()
			}
			if !w.kind.Open && name == "private" {
				t.Skip("NOT TESTED: what others may not read, for the temporary directory is closed to them")
			}
			for _, c := range [][2]string{{"filter.broken.clean", "false"}, {"filter.broken.required", "true"}, {"rewind.include", "d"}} {
				w.git("config", c[0], c[1])
			}
			w.reopen()
			w.unwanted = true
			for _, p := range []string{"d/f", "d/sub/g", "d/wanted", "x"} {
				w.write(p, p)
			}
			w.git("add", "-A")
			w.git("update-index", "--skip-worktree", "d/f", "d/sub/g")
			w.must(os.RemoveAll(w.path("d")))
			w.settle()
			w.names(w.keep(), "d/f d/sub/g x")
			all, one := "d/f d/sub/g x", "d/sub/g x"
			if name == "private" {
				all, one = "x", "x"
			}
			w.write("d", "a file\n")
			leaveOut(w)
			for range 2 {
				w.settle()
				w.names(w.keep(), all)
			}
			first := w.taken[len(w.taken)-1]
			w.write("x", "another")
			w.settle()
			w.names(w.keep(), all)
			w.git("update-index", "--no-skip-worktree", "d/f")
			w.settle()
			w.names(w.keep(), one)
			w.git("update-index", "--skip-worktree", "d/f")
			w.git("update-index", "--cacheinfo", "100644,"+w.git("rev-parse", ":x")+",d/sub/g")
			w.git("update-index", "--skip-worktree", "d/sub/g")
			w.settle()
			w.names(w.keep(), all)
			w.write("d", "the file again\n")
			leaveOut(w)
			w.settle()
			w.names(w.keep(), all)
			for _, p := range []string{".gitattributes", ".gitignore"} {
				_ = os.Remove(w.path(p))
			}
			w.must(os.Chmod(w.path("d"), 0o644))
			w.settle()
			w.names(w.keep(), "d x")
			w.taken = []taken{first}
			w.travel()
			w.finish()
		})
	}
}

// names holds which files the tree of a snapshot has, besides those of rules.
func (w *world) names(s taken, want string) {
	w.t.Helper()
	got := ""
	for p := range strings.SplitSeq(w.git("ls-tree", "-r", "--name-only", s.snap.Tree.String()), "\n") {
		if !isRules(p) {
			got += " " + p
		}
	}
	if got != " "+want {
		w.fail("the tree has%s, not %s", got, want)
	}
}

// TestWhatWasPromisedBelowAFileIsNotDamaged: it was not on disk, for a file was in
// its place.
func TestWhatWasPromisedBelowAFileIsNotDamaged(t *testing.T) {
	w := partial(t, "--filter=blob:none")
	w.write(".gitignore", "/d\n")
	w.write("d", "a file")
	w.git("config", "rewind.include", "d")
	w.reopen()
	w.settle()
	s := w.snap()
	if got := w.git("ls-tree", "-r", "--name-only", s.snap.Tree.String(), "d"); got != "d/e/g\nd/h" || s.recorded["d"] == "" {
		w.fail("the tree has %q, the snapshot %q", got, s.recorded["d"])
	}
	if w.verified().Promised == 0 {
		w.fail("nothing is missing: this proves nothing")
	}
}

// behindLinks reports whether the index has an entry that is not wanted on disk, below
// a name where a link leads to something of that name. In a sparse checkout git looks
// there, and takes the entry for wanted; git add finds that it is gone, then.
func (w *world) behindLinks() bool {
	return slices.ContainsFunc(w.indexed(), func(l listed) bool {
		_, err := os.Lstat(w.path(l.path))
		return l.unwanted && err == nil && !w.onDisk(l.path)
	})
}

// Seeds 99118875 and 100120660: an entry that is not wanted on disk stays in the tree
// where an ignored link is in its way, whatever that leads to. Git drops it if the link
// leads to something of its name (see docs/shortcomings.md).
func TestAnUnwantedEntryBehindAnIgnoredLinkStaysInTheTree(t *testing.T) {
	for _, link := range []string{"nowhere", "d", ".", "a"} {
		w := plain(t, kind{})
		w.write("a/f", "1")
		w.write("d/f", "2")
		w.git("add", "-A")
		w.git("commit", "-qm", "1")
		w.git("sparse-checkout", "set", "--no-cone", "d")
		w.outsideIgnore("a\nf\n")
		w.write("f", "of the link to its own directory")
		w.must(os.Symlink(link, w.path("a")))
		for range 2 {
			w.settle()
			w.names(w.keep(), "a/f d/f")
		}
	}
}
