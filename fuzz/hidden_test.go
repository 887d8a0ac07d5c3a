//go:build linux

package fuzz

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
			r, err := w.long.Restore(t.Context(), s.ID, nil)
			w.must(err)
			if why, ok := named(r, dir); dir != "closed" && (!ok || why != "the snapshot skipped it") {
				w.fail("%q stayed: %q", dir, why)
			}
			if d := inside.differs(w.picture(w.path("d"))); d != "" {
				w.fail("restore and undo changed what was closed: %s", d)
			}
		}
		w.must(os.Remove(w.path("untracked/f")))
		w.taken = []taken{first}
		w.travel()
	}
}

// TestAttributesThatCannotBeReadAreTheIndexs: git falls back on its index, not
// on no rules. For ignore rules there is no such thing.
func TestAttributesThatCannotBeReadAreTheIndexs(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: rules that cannot be read, for root can read all of them")
	}
	for _, tracked := range []bool{true, false} {
		w := plain(t, kind{})
		w.write("d/.gitattributes", "*.t text\n")
		w.write("d/.gitignore", "*.o\n")
		w.write("d/f.t", "a line\n")
		if tracked {
			w.git("add", "-A")
		}
		w.write("d/.gitattributes", "*.t -text\n")
		w.write("d/sub/x.t", "a line\r\n")
		w.write("d/sub/x.o", "ignored\r\n")
		w.settle()
		w.keep()
		for _, p := range []string{"d/.gitattributes", "d/.gitignore"} {
			w.hidden = w.path(p)
			w.must(os.Chmod(w.hidden, 0))
			for _, f := range []string{"d/f.t", "d/sub/y.t", "d/sub/x.t", "d/z.o"} {
				w.write(f, "another line, in "+f+"\r\n")
				w.record()
				w.settle()
			}
			w.must(os.Chmod(w.hidden, 0o644))
			w.hidden = ""
			w.settle()
			w.keep()
		}
	}
}

// Seed 92003054: the index can have a directory in the place of a file that is
// in a conflict.
func TestAClosedDirectoryBesideAConflictStaysInTheTree(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: directories that cannot be searched, for root can search all of them")
	}
	w := plain(t, kind{})
	w.write("a/f", "1")
	w.write("b/f", "1")
	w.git("add", "-A")
	w.write("z", "1")
	blob := w.git("rev-parse", ":a/f")
	if out, err := w.tryGit("100644 "+blob+" 2\ta\x00100644 "+blob+" 3\ta\x00", "update-index", "-z", "--index-info"); err != nil {
		w.fail("%v %s", err, out)
	}
	for _, dir := range []string{"a", "b"} {
		w.settle()
		w.hidden = w.path(dir)
		w.must(os.Chmod(w.hidden, 0))
		r := w.record()
		if got := w.git("ls-tree", "-r", "--name-only", r.Tree.String()); got != "a/f\nb/f\nz" {
			w.fail("the tree has %q", got)
		}
		w.must(os.Chmod(w.hidden, 0o755))
		w.hidden = ""
		w.settle()
		w.record()
	}
}

// Seed 92003247: a filter that keeps a file's length was taken away since git
// added the file. That the bytes on disk are others is known from the scan before,
// also after one in which nobody could look.
func TestAClosedDirectoryDoesNotHideTheBytesOnDisk(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: directories that cannot be searched, for root can search all of them")
	}
	w := plain(t, kind{})
	w.git("config", "filter.same.clean", "tr a b")
	w.reopen()
	w.write("d/sub/f", "aaa\n")
	w.write(".gitattributes", "f filter=same\n")
	w.settle()
	w.keep()
	w.git("add", "-A")
	w.write(".gitattributes", "f -filter\n")
	w.touchIndex(time.Now().Add(2 * time.Second))
	w.settle()
	w.keep()
	for _, dir := range []string{"d", "d/sub"} {
		w.must(os.Chmod(w.path(dir), 0))
		w.hidden = w.path(dir)
		for range 2 {
			w.record()
			w.write("g", w.content())
			w.settle()
		}
		w.must(os.Chmod(w.hidden, 0o755))
		w.hidden = ""
		w.settle()
		w.keep()
		w.settle()
		w.keep()
	}
}

// Seed 100000205: the index has a directory where an ignored file is now. Git does
// not look into the file.
func TestAnIgnoredFileInThePlaceOfADirectoryOfTheIndexMayBeClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: files that cannot be read, for root can read every file")
	}
	w := plain(t, kind{})
	w.write("d/f", "1")
	w.git("add", "-A")
	w.must(os.RemoveAll(w.path("d")))
	w.write("d", "ignored")
	w.write(".gitignore", "d\n")
	w.settle()
	w.hidden = w.path("d")
	w.must(os.Chmod(w.hidden, 0))
	r := w.record()
	if len(r.Skipped) != 1 || string(r.Skipped[0].Path) != "d" {
		w.fail("skipped are %v", r.Skipped)
	}
	w.must(os.Chmod(w.hidden, 0o644))
	w.hidden = ""
	w.settle()
	w.keep()
}

// Seed 97100020: attributes that cannot be read are the index's. What was made of
// a file by them does not count any more when their file is gone.
func TestAttributesThatCouldNotBeReadAreForgottenWhenTheyAreGone(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: rules that cannot be read, for root can read all of them")
	}
	for _, dir := range []string{"", "d/"} {
		for _, seen := range []bool{true, false} {
			w := plain(t, kind{})
			w.write(dir+".gitattributes", "core working-tree-encoding=UTF-16LE eol=crlf\n")
			w.git("add", "-A")
			w.write(dir+"core", "\xe8\xff latin\n770 a line\t")
			w.write(dir+"sub/core", "\xe8\xff latin\n770 a line\t")
			if w.settle(); seen {
				w.keep()
			}
			w.hidden = w.path(dir + ".gitattributes")
			w.must(os.Chmod(w.hidden, 0))
			w.settle()
			w.record()
			w.must(os.Chmod(w.hidden, 0o644))
			w.hidden = ""
			w.must(os.Rename(w.path(dir+".gitattributes"), w.path(dir+"elsewhere")))
			for range 2 {
				w.settle()
				w.keep()
			}
		}
	}
}

// Seed 100100811: the attributes of a closed directory are not gone. The oracle took
// them for that, and made them empty in the tree.
func TestTheRulesInAClosedDirectoryAreNotGone(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: directories that cannot be searched, for root can search all of them")
	}
	for _, mode := range []fs.FileMode{0, 0o200, 0o400, 0o600} {
		w := plain(t, kind{})
		for _, p := range []string{".gitattributes", "d/.gitattributes", "e/.gitattributes"} {
			w.write(p, "*.t text\n")
		}
		w.git("add", "-A")
		w.must(os.Remove(w.path(".gitattributes")))
		w.must(os.Remove(w.path("e/.gitattributes")))
		w.settle()
		w.hidden = w.path("d")
		w.must(os.Chmod(w.hidden, mode))
		gone := w.goneRules()
		if !slices.Equal(gone, []string{".gitattributes", "e/.gitattributes"}) {
			w.fail("%q are gone", gone)
		}
		r := w.record()
		if want := w.expected(exception{empty: gone}, "").tree; r.Tree.String() != want {
			w.fail("tree %s, git's without the rules that are gone %s", r.Tree, want)
		}
		w.must(os.Chmod(w.hidden, 0o755))
		w.hidden = ""
	}
}

// Seed 100107180: a closed directory stands in the place of an attributes file. The
// file is gone, and git takes its rules from the index until it sees that.
func TestTheRulesInWhosePlaceAClosedDirectoryStandsAreGone(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: directories that cannot be searched, for root can search all of them")
	}
	for _, dir := range []string{"", "d/"} {
		for _, mode := range []fs.FileMode{0, 0o200, 0o400, 0o600} {
			w := plain(t, kind{})
			w.write(dir+".gitattributes", "*.t text\n")
			w.git("add", "-A")
			w.must(os.Remove(w.path(dir + ".gitattributes")))
			w.write(dir+".gitattributes/inside", "1")
			for _, p := range []string{"%.t", "sub/x.t"} { // git comes to the first before it comes to the rules
				w.write(dir+p, "a line\r\n")
			}
			w.settle()
			w.hidden = w.path(dir + ".gitattributes")
			w.must(os.Chmod(w.hidden, mode))
			if gone := w.goneRules(); !slices.Equal(gone, []string{dir + ".gitattributes"}) {
				w.fail("%q are gone", gone)
			}
			r := w.record()
			for _, p := range []string{"%.t", "sub/x.t"} {
				if got := w.git("cat-file", "blob", r.Tree.String()+":"+dir+p); got != "a line\r" {
					w.fail("%q is %q in the tree", dir+p, got)
				}
			}
			w.must(os.Chmod(w.hidden, 0o755))
			w.hidden = ""
			w.settle()
			w.keep()
		}
	}
}
