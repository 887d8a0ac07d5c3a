//go:build linux

package fuzz

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gitDoes is a change that git makes.
func gitDoes(args ...string) func(w *world) {
	return func(w *world) {
		if out, err := w.tryGit("", args...); err != nil {
			w.fail("%v %s", err, out)
		}
	}
}

// changesOfNested are what may become of a repository between a snapshot and its
// restore.
var changesOfNested = map[string]func(w *world){
	"nothing": func(*world) {},
	"no .git": func(w *world) { w.must(os.RemoveAll(w.path("in/.git"))) },
	"gone":    func(w *world) { w.must(os.RemoveAll(w.path("in"))) },
	"a file": func(w *world) {
		w.must(os.RemoveAll(w.path("in")))
		w.must(os.WriteFile(w.path("in"), []byte("f"), 0o644))
	},
	"a link":             func(w *world) { w.must(os.RemoveAll(w.path("in"))); w.must(os.Symlink("out", w.path("in"))) },
	"moved":              func(w *world) { w.must(os.Rename(w.path("in"), w.path("in2"))) },
	"copied":             func(w *world) { w.copyTree("in", "in2") },
	"other rules":        func(w *world) { w.write("in/.gitignore", "f\n") },
	"no rules":           func(w *world) { w.must(os.Remove(w.path("in/.gitignore"))) },
	"no exclude":         func(w *world) { w.must(os.WriteFile(w.path("in/.git/info/exclude"), nil, 0o644)) },
	"all excluded":       func(w *world) { w.must(os.WriteFile(w.path("in/.git/info/exclude"), []byte("*\n"), 0o644)) },
	"ignored files gone": func(w *world) { w.must(os.RemoveAll(w.path("in/out"))); w.must(os.Remove(w.path("in/x.o"))) },
	"ignored files edited": func(w *world) {
		w.write("in/out/deep/y", "edited")
		w.write("in/x.o", "edited")
	},
	"ignored files added":  gitDoes("-C", "in", "add", "-f", "x.o", "out/deep/y"),
	"tracked ones removed": gitDoes("-C", "in", "rm", "-q", "--cached", "kept.o"),
	"outer rules":          func(w *world) { w.write(".gitignore", "in\n") },
	"outer rules inside":   func(w *world) { w.write(".gitignore", "in/f\n*.keep\n") },
	"a directory for x.o": func(w *world) {
		w.must(os.Remove(w.path("in/x.o")))
		w.write("in/x.o/f", "1")
		w.write("in/x.o/g.o", "2")
	},
	"a file for out":        func(w *world) { w.must(os.RemoveAll(w.path("in/out"))); w.write("in/out", "1") },
	"an ignored file for f": func(w *world) { w.must(os.Remove(w.path("in/f"))); w.write("in/f/z.o", "1") },
	"a commit":              gitDoes("-C", "in", "commit", "-q", "--allow-empty", "-m", "x"),
	"cleaned":               gitDoes("-C", "in", "clean", "-fdxq"),
	"added around":          gitDoes("add", "in"),
	"without rules around":  func(w *world) { w.must(os.RemoveAll(w.path("in/.git"))); w.must(os.Remove(w.path("in/.gitignore"))) },
}

// TestIgnoredFilesOfANestedRepositorySurviveARoundTrip: whatever becomes of the
// repository between a snapshot and its restore, an ignored file that is there is
// neither deleted nor changed, unless it stands in the place of something that is
// restored; and undo brings back every byte.
func TestIgnoredFilesOfANestedRepositorySurviveARoundTrip(t *testing.T) {
	for name, change := range changesOfNested {
		t.Run(name, func(t *testing.T) {
			w := plain(t, kind{})
			w.nested = true
			w.write("f", "1")
			w.inside("in")
			w.write("in/.gitignore", "*.o\nout/\n")
			w.write("in/kept.o", "tracked")
			gitDoes("-C", "in", "add", "-f", "kept.o", ".gitignore")(w)
			w.must(os.WriteFile(w.path("in/.git/info/exclude"), []byte("*.keep\n"), 0o644))
			for _, p := range []string{"in/x.o", "in/out/deep/y", "in/a.keep", "in/d/b.keep", "in/d/f"} {
				w.write(p, "of "+p)
			}
			w.settle()
			before := w.picture(w.root)
			s := w.keep()
			change(w)
			w.settle()
			w.keep()
			there := w.picture(w.root)
			changed := maps.Clone(there)
			r, err := w.long.Restore(t.Context(), s.snap.ID, nil)
			w.must(err)
			now := w.picture(w.root)
			for p, what := range before {
				_, recorded := s.recorded[p]
				if now[p] != what && (recorded && !blocked(r, p) || there[p] == what) {
					t.Errorf("%q is %.40q, was %.40q, recorded: %v, before the restore %.40q", p, now[p], what, recorded, there[p])
				}
			}
			nothing := r.Undo.IsZero() // had to change: that is no step
			if !nothing {
				undo, err := w.long.Find(t.Context(), r.Undo)
				w.must(err)
				for p := range w.export(w.long, undo) {
					delete(there, p)
				}
			}
			for p, what := range there { // what nothing holds
				if now[p] != what {
					t.Errorf("%q was lost: %.40q, now %.40q", p, what, now[p])
				}
			}
			if !nothing {
				_, err = w.long.Undo(t.Context())
				w.must(err)
			}
			if d := changed.differs(w.picture(w.root)); d != "" {
				t.Errorf("undo: %s", d)
			}
		})
	}
}

// TestASnapshotGivesBackToGitWhatItLostAndTheDiskHas: an object that git's index
// names and git lost is written, because the snapshot needs it. So git fsck, which
// ended with 2 before, ends with 0; of the rest nothing changes.
func TestASnapshotGivesBackToGitWhatItLostAndTheDiskHas(t *testing.T) {
	w := plain(t, kind{})
	w.write("f", "only in git's index")
	w.write("d/g", "in a commit")
	w.git("add", "d")
	w.git("commit", "-qm", "one")
	w.git("add", "f")
	w.settle()
	id := w.git("rev-parse", ":f")
	w.must(os.Remove(filepath.Join(w.common, "objects", id[:2], id[2:])))
	mine := w.mine()
	if out, err := w.tryGit("", "fsck"); err == nil || !strings.Contains(out, "missing blob "+id) {
		w.fail("git fsck: %v %s", err, out)
	}
	w.keep()
	if out, err := w.tryGit("", "fsck"); err != nil {
		w.fail("git fsck: %v %s", err, out)
	}
	if !maps.Equal(mine, w.mine()) {
		w.fail("something else changed")
	}
}

// TestARuleThatIgnoresASubmoduleDoesNotIgnoreWhatIsInIt, also where it has no
// repository: a file in it is recorded like any other, so that a restore of what had
// no such file takes it away, and undo brings it back.
func TestARuleThatIgnoresASubmoduleDoesNotIgnoreWhatIsInIt(t *testing.T) {
	w := plain(t, kind{})
	w.write("f", "1")
	s := w.keep()
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",in")
	w.outsideIgnore("in*\n")
	w.write("in/out", "of the submodule")
	w.settle()
	if now := w.keep(); now.recorded["in/out"] == "" {
		w.fail("in/out is not recorded")
	}
	before := w.picture(w.root)
	r, err := w.long.Restore(t.Context(), s.snap.ID, nil)
	w.must(err)
	if _, err := os.Lstat(w.path("in/out")); err == nil {
		w.fail("in/out stays: %+v", r)
	}
	_, err = w.long.Undo(t.Context())
	w.must(err)
	if d := before.differs(w.picture(w.root)); d != "" {
		w.fail("undo: %s", d)
	}
	for range 4 { // it draws whether to redo
		w.taken = []taken{s}
		w.travel()
	}
}
