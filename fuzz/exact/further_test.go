//go:build !windows

package exact

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// furtherSituations go on where the list of the peers' failures ends.
var furtherSituations = []situation{
	{title: "a sparse checkout is widened", build: func(w *world) {
		usual(w)
		w.write("left/out/x.txt", "not wanted on disk\n")
		w.write("left/y.txt", "nor this\n")
		w.commit("more")
		w.git("sparse-checkout", "set", "dir")
	}, change: func(w *world) {
		w.write("dir/b.txt", "changed\n")
		w.git("sparse-checkout", "disable")
		w.write("left/y.txt", "worked on\n")
		w.kept = []string{"left"}
	}, want: func(then, now picture) picture { return then.with(now, "left") }},
	{title: "a sparse index", build: func(w *world) {
		usual(w)
		w.write("left/out/x.txt", "not wanted on disk\n")
		w.commit("more")
		w.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
	}, change: churnKeepingDir},
	{title: "another encoding in the worktree", build: func(w *world) {
		usual(w)
		w.write(".gitattributes", "*.rc text working-tree-encoding=UTF-16LE-BOM\n")
		w.write("x.rc", "\xff\xfea\x00\r\x00\n\x00b\x00\n\x00")
		w.write("broken.rc", "not that encoding at all")
		w.skipped = []string{"broken.rc"} // of git's side
	}, change: func(w *world) {
		w.write("x.rc", "\xff\xfeb\x00")
		w.remove("broken.rc")
	}},
	{title: "attributes are edited later", build: func(w *world) {
		usual(w)
		w.write("x.md", "one\r\ntwo\n$Id$\n")
		w.write("y.md", "one\ntwo\n")
	}, change: func(w *world) {
		w.write(".gitattributes", "*.md text eol=lf ident\n")
		w.write("y.md", "one\r\n")
	}},
	{title: "core.fileMode=false and an executable", build: func(w *world) {
		usual(w)
		w.git("config", "core.fileMode", "false")
		w.chmod("tool.sh", 0o755)
	}, change: func(w *world) { w.chmod("tool.sh", 0o644); w.chmod("a.txt", 0o755) }},
	{title: "core.symlinks=false and a link", build: func(w *world) {
		usual(w)
		w.link("a.txt", "link")
		w.commit("link")
		w.git("config", "core.symlinks", "false")
	}, change: func(w *world) { w.remove("link"); w.write("link", "a.txt") }},
	{title: "core.ignoreCase=true and names of two cases", build: func(w *world) {
		usual(w)
		w.git("config", "core.ignoreCase", "true")
		w.write("Readme", "one")
		w.write("README", "two")
	}, change: func(w *world) { w.remove("Readme"); w.write("README", "three"); w.rename("a.txt", "A.TXT") }},
	{title: "a linked worktree below the main one", build: func(w *world) {
		usual(w)
		w.commit("all")
		w.git("worktree", "add", "-q", "-b", "side", "below/linked")
		w.write("below/linked/a.txt", "of the side\n")
	}, change: func(w *world) {
		w.write("below/linked/a.txt", "spoilt\n")
		w.remove("below/linked/dir")
		churn(w)
	}},
	{title: "a bare repository in the tree", build: func(w *world) {
		usual(w)
		w.git("init", "-q", "--bare", "origin.git")
		w.git("push", "-q", "./origin.git", "main")
	}, change: func(w *world) { w.remove("origin.git/refs", "origin.git/HEAD") }},
	{title: "a nested repository in a nested repository", build: func(w *world) {
		usual(w)
		w.nested("one", true)
		w.nested("one/two", true)
		w.write("one/two/three/x.txt", "then")
		w.write("one/.gitignore", "*.o\n")
		w.write("one/y.o", "ignored by the inner rules")
	}, change: func(w *world) {
		w.write("one/two/three/x.txt", "now")
		w.remove("one/n.txt")
		w.write("one/two/new", "new")
	}},
	{title: "a nested repository moves on", build: func(w *world) {
		usual(w)
		w.nested("nest", true)
	}, change: func(w *world) {
		w.write("nest/n.txt", "committed later\n")
		w.git("-C", "nest", "commit", "-q", "-a", "-m", "later")
		w.git("-C", "nest", "checkout", "-q", "-b", "other")
	}},
	{title: "the repository is packed and its index rewritten", build: usual, change: func(w *world) {
		churn(w)
		w.git("gc", "-q", "--prune=now")
		w.git("update-index", "--index-version", "4")
		w.git("pack-refs", "--all")
		w.must(os.Remove(w.path(".git/index")))
	}},
	{title: "times are set back", build: usual, change: func(w *world) {
		info, err := os.Stat(w.path("a.txt"))
		w.must(err)
		w.write("a.txt", "ALPHA\n")
		w.must(os.Chtimes(w.path("a.txt"), info.ModTime(), info.ModTime()))
		w.must(os.Chtimes(w.path("dir/b.txt"), info.ModTime().AddDate(30, 0, 0), info.ModTime().AddDate(30, 0, 0)))
	}},
	{title: "a deep tree and a long link", build: func(w *world) {
		usual(w)
		w.write(strings.Repeat("deep/", 200)+"x.txt", "then")
		w.link(strings.Repeat("t", 4000), "long-link")
	}, change: func(w *world) {
		w.remove("deep", "long-link")
		w.write(strings.Repeat("other/", 200)+"x.txt", "now")
	}},
	{title: "a huge file with holes", build: func(w *world) {
		usual(w)
		w.write("holes", "begin")
		w.must(os.Truncate(w.path("holes"), 64<<20))
	}, change: func(w *world) { w.must(os.Truncate(w.path("holes"), 5)) }},
	{title: "without git, ignored by the built-in rules", build: func(w *world) {
		w.write("src/x.js", "then")
		w.write("node_modules/p/index.js", "then")
	}, change: func(w *world) {
		w.write("src/x.js", "now")
		w.write("node_modules/p/index.js", "now")
		w.write("__pycache__/y.pyc", "now")
	}, want: func(then, now picture) picture { return then.with(now, "node_modules", "__pycache__") }},
	{title: "git init after the snapshot", build: func(w *world) {
		usual(w)
		w.write("plain/x.txt", "then")
	}, change: func(w *world) {
		w.git("init", "-q", "-b", "main", "plain")
		w.identity("plain")
		w.git("-C", "plain", "add", "-A")
		w.git("-C", "plain", "commit", "-q", "-m", "x")
		w.write("plain/x.txt", "now")
	}},
}

// TestFurtherSituations holds the same as TestSituations.
func TestFurtherSituations(t *testing.T) {
	for _, s := range furtherSituations {
		t.Run(s.title, func(t *testing.T) { t.Parallel(); s.run(t) })
	}
}

// TestAnInterruptedUndoIsFinishedByUndo checks that whoever says undo again
// after a crash does not go back two levels.
func TestAnInterruptedUndoIsFinishedByUndo(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	d := throughCommand{}
	before := w.look()
	id, _ := d.snapshot(w)
	churn(w)
	d.restore(w, id) // the level that must not be taken back
	crowd(w, 800, 0)
	first := w.look()
	d.restore(w, id)
	w.is("restore", before)
	for tries := 1; killed(w) == nil; tries++ {
		if tries == 20 {
			t.Skip("SKIPPED: the undo was finished each time before it could be killed")
		}
		w.clean("redo", d.redo(w))
		w.is("redo", before)
	}
	w.clean("undo", d.undo(w))
	w.is("undo of the killed undo", first)
	w.clean("redo", d.redo(w))
	w.is("redo", before)
}

// killed starts an undo and kills it when it writes. It returns nil if the undo
// was done before.
func killed(w *world) error {
	cmd := w.command("undo", "--yes")
	w.must(cmd.Start())
	w.await("the undo writes", func() bool {
		list, _ := filepath.Glob(w.path("crowd/*/*"))
		return len(list) > 50
	})
	_ = cmd.Process.Kill() // an error if it is done
	err := cmd.Wait()
	if !strings.Contains(w.rewind("status", "--json").out, `"unfinished"`) {
		return nil // the operation had ended, if not the process
	}
	return err
}

// TestTwoUndosAtOnceAreTwoUndos checks that each takes back an operation of its
// own.
func TestTwoUndosAtOnceAreTwoUndos(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	d := throughCommand{}
	id, _ := d.snapshot(w)
	churn(w)
	first := w.look()
	d.restore(w, id)
	w.write("dir/b.txt", "second\n")
	d.restore(w, id)
	var all sync.WaitGroup
	codes := make([]int, 2)
	for i := range codes {
		all.Go(func() { codes[i] = w.rewind("undo", "--yes").code })
	}
	all.Wait()
	if codes[0] != 0 || codes[1] != 0 {
		t.Fatalf("the undos exited with %v", codes)
	}
	w.is("two undos at once", first)
}
