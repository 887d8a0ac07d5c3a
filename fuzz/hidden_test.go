//go:build linux

package fuzz

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

// hide takes the permission to read from a file, a file of rules or a directory,
// at times, until unhide: root could read it all the same. A directory is closed
// altogether, or its names can be listed but nothing said of what has them.
func (w *world) hide() os.FileInfo {
	if os.Geteuid() == 0 || !w.one(6) {
		return nil
	}
	p := w.some(func(p string) bool { return isDir(p) || isRules(p) || !strings.Contains(p, ".git") })
	st, err := os.Lstat(w.path(p))
	if p == "" || err != nil || !st.Mode().IsRegular() && !st.IsDir() {
		return nil
	}
	mode := fs.FileMode(0)
	if st.IsDir() {
		mode = pick(w, []fs.FileMode{0, 0, 0o400, 0o200, 0o600})
	}
	w.note("hide %q %v", p, mode)
	w.hidden = w.path(p)
	w.t.Cleanup(func() { // of a world that ends meanwhile
		if w.hidden != "" {
			_ = os.Chmod(w.hidden, 0o700)
		}
	})
	w.must(os.Chmod(w.hidden, mode))
	return st
}

func (w *world) unhide(st os.FileInfo) {
	if st != nil {
		w.must(os.Chmod(w.hidden, st.Mode().Perm()))
		w.hidden = ""
	}
}

// travelClosed closes a directory, restores a snapshot, or a part of it in there, and undoes
// that: neither touches what is closed, and the undo brings back the rest. What is drawn
// here leaves the rest of the world as its seed has it.
func (w *world) travelClosed(e *engine.Engine, s taken) {
	w.t.Helper()
	side := *w
	side.rng = rand.New(rand.NewPCG(w.seed, uint64(len(w.log))))
	dir := strings.TrimSuffix(side.some(func(p string) bool { return isDir(p) && !strings.Contains(p, ".git") }), "/")
	if dir == "" || os.Geteuid() == 0 {
		return
	}
	before := w.picture(w.root)
	op := engine.Op{To: s.snap.ID}
	for _, p := range slices.Sorted(maps.Keys(s.recorded)) {
		if strings.HasPrefix(p, dir+"/") && side.one(2) {
			op.Paths = []string{":(literal)" + p}
		}
	}
	mode := pick(&side, []fs.FileMode{0, 0o400, 0o200, 0o311})
	w.note("restore %v %q while %q has %o, undo", s.snap.ID, op.Paths, dir, mode)
	st, err := os.Lstat(w.path(dir))
	w.must(err)
	w.must(os.Chmod(w.path(dir), mode))
	open := func() {
		if err := os.Chmod(w.path(dir), st.Mode().Perm()); !errors.Is(err, fs.ErrNotExist) { // one that is empty may go
			w.must(err)
		}
	}
	r, err := e.Do(w.t.Context(), op)
	open()
	w.must(err)
	restored := w.picture(w.root)
	for p, what := range before {
		if strings.HasPrefix(p, dir+"/") && restored[p] != what {
			w.fail("a restore changed %q in a closed directory: %+v", p, r)
		}
	}
	if r.Undo.IsZero() {
		return
	}
	if _, err := os.Lstat(w.path(dir)); err == nil && side.one(2) {
		w.must(os.Chmod(w.path(dir), mode))
	}
	u, err := e.Do(w.t.Context(), engine.Op{Verb: engine.Undo})
	open()
	w.must(err)
	if d := before.Differs(w.picture(w.root)); d != "" {
		w.fail("undo did not bring back:\n  %s\nrestore %+v\nundo %+v", d, r, u)
	}
}

func isRules(p string) bool {
	return filepath.Base(p) == ".gitignore" || filepath.Base(p) == ".gitattributes"
}

// hiddenDir is the directory that nobody may search at the moment.
func (w *world) hiddenDir() (rel string, ok bool) {
	if w.hidden == "" {
		return "", false
	}
	st, err := os.Lstat(w.hidden)
	return strings.TrimPrefix(w.hidden, w.root+"/"), err == nil && st.IsDir()
}

// maySkip reports whether a path may be skipped because of what is hidden,
// though git add does not fail: it does not look there, or says only that it
// cannot.
func (w *world) maySkip(p string, inNested bool) bool {
	if dir, ok := w.hiddenDir(); ok {
		return beneath(p, dir)
	}
	if w.path(p) != w.hidden {
		return false
	}
	if inNested || isRules(p) || w.inLink(p) {
		return true
	}
	if slices.ContainsFunc(w.indexed(), func(l listed) bool { return l.path == p }) {
		return false
	}
	// A small ignored file git does not look into. Without --no-index a file counts as tracked
	// in whose place the index has a directory; with it rules do not count that the index has
	// and does not want on disk.
	_, err := w.tryGit(p+"\x00", "check-ignore", "-z", "--stdin", "--no-index")
	if err != nil {
		_, err = w.tryGit(p+"\x00", "check-ignore", "-z", "--stdin")
	}
	return err == nil
}

// leaveConflicts takes out of an index what git add could not resolve because
// it is in a hidden directory: git could write no tree of it.
func (w *world) leaveConflicts(rest *removal) {
	if dir, ok := w.hiddenDir(); ok {
		rest.drop(dir, func(l listed) bool { return l.stage != 0 })
	}
}

// TestAClosedDirectoryIsInTheTreeWhatTheIndexHasOfIt checks that where git add
// cannot look it leaves its entries alone, and so does the tree; that the path is
// named all the same; and that a restore touches nothing there.
func TestAClosedDirectoryIsInTheTreeWhatTheIndexHasOfIt(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: directories that cannot be searched, for root can search all of them")
	}
	for _, mode := range []fs.FileMode{0, 0o200, 0o400, 0o600} {
		w := plain(t, kind{})
		w.write(".gitignore", "*.o\n")
		for _, p := range []string{"d/edited", "d/gone", "d/sub/unwanted", "d/intended", "d/conflict", "d/was/directory", "f"} {
			w.write(p, "1")
		}
		w.must(os.Symlink("nowhere", w.path("d/link")))
		for _, p := range []string{"d/module", "closed"} {
			w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+","+p)
			w.must(os.Mkdir(w.path(p), 0o755))
		}
		w.git("add", "-A")
		w.git("update-index", "--skip-worktree", "d/sub/unwanted")
		w.git("rm", "-q", "--cached", "d/intended")
		w.git("add", "-N", "d/intended")
		marks[len(marks)-1].mark(w, []string{"d/conflict"})
		w.unwanted = true
		w.write("d/edited", "2")
		w.must(os.Remove(w.path("d/gone")))
		w.write("d/was", "a file now")
		w.write("d/new", "not tracked")
		w.write("d/ignored.o", "ignored")
		w.write("d/sub/new", "not tracked")
		w.write("untracked/f", "not tracked")
		w.settle()
		first := w.keep()
		inside := w.picture(w.path("d"))
		for _, dir := range []string{"d", "d/sub", "closed", "untracked"} {
			w.settle()
			w.hidden = w.path(dir)
			w.must(os.Chmod(w.hidden, mode))
			s := w.record().Snapshot
			w.write("f", "written while "+dir+" is closed")
			w.settle()
			w.record()
			w.must(os.Chmod(w.hidden, 0o755))
			w.hidden = ""
			w.settle()
			w.keep()
			w.taken = []taken{{snap: s, recorded: w.export(w.long, s), outside: w.outside}}
			w.travel()
			r, err := w.long.Do(t.Context(), engine.Op{To: s.ID})
			w.must(err)
			if why, ok := named(r, dir); dir != "closed" && (!ok || why != "the snapshot skipped it") {
				w.fail("%q stayed: %q", dir, why)
			}
			if d := inside.Differs(w.picture(w.path("d"))); d != "" {
				w.fail("restore and undo changed what was closed: %s", d)
			}
		}
		w.must(os.Remove(w.path("untracked/f")))
		w.taken = []taken{first}
		w.travel()
	}
}
