//go:build linux

package fuzz

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// entries are the paths of an index, at any stage: true is a submodule.
type entries map[string]bool

func (w *world) entriesOf(index string) entries {
	w.t.Helper()
	x := entries{}
	for _, l := range w.listIndex(index) {
		x[l.path] = x[l.path] || l.isLink()
	}
	return x
}

// link is the submodule in which a path lies, "" if there is none.
func (x entries) link(p string) string {
	for at := path.Dir(p); at != "."; at = path.Dir(at) {
		if x[at] {
			return at
		}
	}
	return ""
}

// hides reports whether git add does not look at a path, for it lies in a
// submodule. It does if the index has the path all the same, in a conflict.
func (x entries) hides(p string) bool {
	_, known := x[p]
	return !known && x.link(p) != ""
}

// spec is the pathspec of a file. git add dies of one in a submodule even if the
// index has the file too. It goes by the bytes of the pathspec: a pattern in which
// each is escaped is not taken for a path in there, and matches the file alone.
func (x entries) spec(magic, p string) string {
	link := x.link(p)
	if link == "" {
		return ":(" + magic + ",literal)" + p
	}
	pattern := ""
	for i := range len(p) {
		if p[i] != '/' {
			pattern += "\\"
		}
		pattern += p[i : i+1]
	}
	return ":(" + magic + ",glob)" + pattern
}

// TestWhatIsInConflictBesideASubmoduleCanBeLeftOut: git takes what the index has
// below a submodule in a conflict, so the oracle must be able to leave it out,
// and nothing else with it.
func TestWhatIsInConflictBesideASubmoduleCanBeLeftOut(t *testing.T) {
	w := plain(t, kind{})
	paths := []string{"d/*", "d/[o]", "d/n", "d/o"}
	for _, p := range paths {
		w.write(p, "1")
	}
	w.git("add", "-A")
	marks[len(marks)-1].mark(w, paths)
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",d")
	w.write("d/new", "not looked at")
	index := filepath.Join(w.gitDir, "index")
	inside := w.entriesOf(index)
	if inside.hides("d/n") || !inside.hides("d/new") || inside.hides("d") {
		t.Errorf("hidden in %v", inside)
	}
	for _, p := range []string{"d/*", "d/[o]"} {
		if out, err := w.oracleGit(index, "add", "-A", "--", ".", ":(exclude,top,literal)"+p); err == nil {
			t.Errorf("git can be asked for %q as it is: %s", p, out)
		}
	}
	if out, err := w.oracleGit(index, "add", "-A", "--", ".", inside.spec("exclude,top", "d/*"), inside.spec("exclude,top", "d/[o]")); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	left := w.git("ls-files", "-u")
	for _, p := range paths {
		if got, want := strings.Contains(left, "\t"+p+"\n") || strings.HasSuffix(left, "\t"+p), p[2] == '*' || p[2] == '['; got != want {
			t.Errorf("%q is in conflict still: %v, want %v\n%s", p, got, want, left)
		}
	}
}

// Seed 99108844: so is one that is ignored. But where nothing of it is in the tree and
// the index has a file in its place, git finds its commit there, as it does where the
// index has nothing in it. From turn to turn it stays a plain directory, whose commit
// is the one that it is on now.
func TestAnIgnoredRepositoryWithAConflictInTheIndexIsACommit(t *testing.T) {
	for _, module := range []string{"", "file", "directory"} {
		for _, ignored := range []bool{true, false} {
			for _, stage := range []string{"0", "1", "3"} {
				if !seed.Deep() && (module == "file") == (ignored == (stage == "1")) {
					continue // the other half, which has each value with each other one, is enough at every change
				}
				t.Run(fmt.Sprintf("%s in it, ignored %v, stage %s", module, ignored, stage), func(t *testing.T) {
					t.Parallel() // each waits for git and the clock
					besideAConflict(t, module, ignored, stage)
				})
			}
		}
	}
}

func besideAConflict(t *testing.T, module string, ignored bool, stage string) {
	w := plain(t, kind{})
	w.nested = true
	w.write("d/z", "1")
	if ignored {
		w.must(os.WriteFile(filepath.Join(w.gitDir, "info", "exclude"), []byte("a/\n"), 0o644))
	}
	w.settle()
	s := w.keep()
	blob := w.git("hash-object", "-w", "d/z")
	lines := "100644 " + blob + " " + stage + "\ta\x00160000 " + strings.Repeat("12", 20) + " 2\ta/b/module\x00"
	if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
		w.fail("%v %s", err, out)
	}
	if ignored {
		w.write("a/f", "1")
	}
	if module != "" {
		w.write(map[string]string{"file": "a/b/module", "directory": "a/b/module/f"}[module], "1")
	}
	w.git("init", "-q", "a")
	turns := func(isCommit bool) {
		var first *engine.Recorded
		for range 3 {
			w.settle()
			r := w.record()
			if got, _ := w.tryGit("", "rev-parse", r.Tree.String()+":a"); module == "" && isCommit != (got == w.headIn("a") && got != "") {
				w.fail("a is %s, its commit %s", got, w.headIn("a"))
			}
			if first == nil {
				first = r
			} else if r.Overlay != first.Overlay {
				w.fail("it was recorded in another way than before, and is the same: overlay %v, not %v", r.Overlay, first.Overlay)
			}
			w.write("d/z", w.content()) // neither the index nor the directory around is read again
		}
	}
	for range 2 {
		turns(false)
		for range 2 {
			w.git("-C", "a", "commit", "-q", "--allow-empty", "-m", "x")
			turns(true)
		}
		w.git("-C", "a", "update-ref", "-d", "HEAD")
	}
	turns(false)
	w.git("-C", "a", "commit", "-q", "--allow-empty", "-m", "y")
	w.write("new", "1") // the directory above is listed again
	turns(true)
	w.git("update-index", "--force-remove", "a/b/module")
	w.settle()
	w.keep()
	w.taken = []taken{s}
	w.travel()
}

// isHeadless reports whether a submodule of the index is named whose HEAD git cannot
// read either. The tree has the commit that the index has; git add fails only if
// something that was added in it was edited.
func (w *world) isHeadless(s engine.Note) bool {
	if !strings.HasPrefix(s.Reason, "nested repository: HEAD: ") || !slices.ContainsFunc(w.indexed(), func(l listed) bool { return l.isLink() && l.stage == 0 && l.path == string(s.Path) }) {
		return false
	}
	_, err := w.gitIn(string(s.Path), "fsck", "--connectivity-only")
	return err != nil
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
