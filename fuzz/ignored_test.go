//go:build linux

package fuzz

import (
	"maps"
	"os"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
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
			r, err := w.long.Do(t.Context(), engine.Op{To: s.snap.ID})
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
				undo, err := w.long.Find(t.Context(), r.Undo.String())
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
				_, err = w.long.Do(t.Context(), engine.Op{Verb: engine.Undo})
				w.must(err)
			}
			if d := changed.Differs(w.picture(w.root)); d != "" {
				t.Errorf("undo: %s", d)
			}
		})
	}
}
