//go:build linux

package fuzz

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// committed makes a repository whose index took in a file before the second in
// which it was written, so that git takes it for unchanged whatever the rules
// say later.
func committed(t *testing.T, name, data string) *world {
	w := plain(t, kind{})
	w.write(name, data)
	w.age(name)
	w.settle()
	w.git("add", "-A")
	w.settle()
	return w
}

// age gives a file an mtime that it has not had.
func (w *world) age(name string) {
	at := time.Now().Add(-time.Duration(1+w.rng.IntN(1e6)) * time.Second)
	w.must(os.Chtimes(w.path(name), at, at))
}

func TestATouchedFileIsConvertedAnew(t *testing.T) {
	w := committed(t, "f", "a line\r\n")
	w.write(".gitattributes", "f text\n")
	w.keep()
	w.settle()
	w.keep()
	w.age("f")
	w.settle()
	w.keep()
	w.settle()
	w.keep()
}

func TestATouchedFileThatFitsItsEncodingNoMoreIsSkipped(t *testing.T) {
	w := committed(t, "f", "odd")
	w.write(".gitattributes", "f working-tree-encoding=UTF-16LE\n")
	w.keep()
	w.settle()
	w.keep()
	w.age("f")
	w.settle()
	w.keep()
	if len(w.taken[2].snap.Skipped) != 1 {
		w.fail("skipped %v", w.taken[2].snap.Skipped)
	}
}

func TestAFilterThatIsGoneDoesNotHideTheBytesOnDisk(t *testing.T) {
	for _, sleep := range []time.Duration{0, time.Second} {
		w := plain(t, kind{})
		w.git("config", "filter.same.clean", "tr a b")
		w.reopen()
		w.write("f", "aaa\n")
		w.write(".gitattributes", "f filter=same\n")
		w.settle()
		w.keep()
		w.git("add", "-A")
		w.keep() // at once: the next scan must look into the index again
		time.Sleep(sleep)
		w.write(".gitattributes", "f -filter\n")
		w.keep()
		w.settle()
		w.keep()
	}
}

// Seed 99007549: the rule of a filter that keeps the length of a file went after git
// had taken it in, before anybody had looked at the file as it is now.
func TestAFilterThatIsGoneDoesNotHideBytesThatNobodyHasSeen(t *testing.T) {
	for _, seen := range []bool{false, true} { // an earlier state of the file
		w := plain(t, kind{})
		w.git("config", "filter.same.clean", "tr a b")
		w.reopen()
		w.write(".gitattributes", "f filter=same\n")
		if seen {
			w.write("f", "other\n")
			w.settle()
			w.keep()
		}
		w.write("f", "aaa\n")
		w.age("f")
		w.settle()
		w.git("add", "-A")
		w.write(".gitattributes", "f -filter\n")
		if seen {
			w.git("config", "--unset", "filter.same.clean") // then the row tells that the rules were others
			w.reopen()
		}
		time.Sleep(1100 * time.Millisecond)
		w.keep()
	}
}

func TestIndexedRulesOutsideOfAConeAreNotInForce(t *testing.T) {
	for _, mode := range [][]string{{"--cone", "--no-sparse-index"}, {"--cone", "--sparse-index"}, {"--no-cone"}} {
		w := plain(t, kind{})
		for _, dir := range []string{"", "in/", "in/deep/", "out/"} {
			w.write(dir+".gitattributes", "*.t text\n")
			w.write(dir+"f", "1")
		}
		w.git("add", "-A")
		w.git("commit", "-qm", "1")
		w.must(os.Remove(w.path(".gitattributes")))
		w.git("rm", "-q", "--cached", ".gitattributes")
		w.git(append([]string{"sparse-checkout", "set"}, append(mode, "in/deep")...)...)
		w.reopen()
		w.unwanted = true
		for _, dir := range []string{"", "in/", "in/deep/", "out/"} {
			w.write(dir+"x.t", "a line\r\n")
		}
		w.settle()
		w.keep()
		w.write("out/y.t", "a line\r\n")
		w.settle()
		w.keep()
		w.git("sparse-checkout", "add", "out/x")
		w.reopen()
		w.must(os.RemoveAll(w.path("out/.gitattributes")))
		w.git("update-index", "--skip-worktree", "out/.gitattributes")
		w.settle()
		w.keep()
		w.must(os.WriteFile(w.gitDir+"/info/sparse-checkout", []byte("/*\n!/*/\n/in/\n"), 0o666))
		w.keep()
	}
}

// git takes the rules of a deleted file from the index until its run reaches
// the deletion: "!f" comes before it, "f" after.
func TestRulesThatWereDeletedAreNotInForce(t *testing.T) {
	w := plain(t, kind{})
	w.write("d/.gitattributes", "* text\n")
	w.git("add", "-A")
	w.write("d/!f", "a line\n")
	w.write("d/f", "a line\n")
	w.git("add", "-A")
	w.settle()
	w.must(os.Remove(w.path("d/.gitattributes")))
	w.write("d/!f", "another line\r\n")
	w.write("d/f", "another line\r\n")
	w.keep()
	if !strings.Contains(strings.Join(w.log, " "), "without the rules") {
		w.fail("git does not take the rules from its index any more: there is no need for the oracle to make an exception")
	}
	w.must(os.Symlink("f", w.path("d/.gitattributes")))
	w.keep()
	w.must(os.Remove(w.path("d/.gitattributes")))
	w.write("d/.gitattributes/f", "a directory\r\n")
	w.keep()
}

// The stat data of a file that was changed within 20 ms of the index do not
// count; with the next index they may, though nothing else is different.
func TestAFileIsUnchangedAsSoonAsTheIndexIsOldEnough(t *testing.T) {
	w := plain(t, kind{})
	w.write("f", "a line\r\n")
	w.age("f")
	w.git("add", "-A")
	st, err := os.Lstat(w.path("f"))
	w.must(err)
	changed := time.Unix(st.Sys().(*syscall.Stat_t).Ctim.Unix())
	index := filepath.Join(w.gitDir, "index")
	w.must(os.Chtimes(index, changed, changed.Add(5*time.Millisecond)))
	w.write(".gitattributes", "f text\n")
	w.settle()
	w.keep()
	w.settle()
	w.keep()
	for range 2 {
		w.must(os.Chtimes(index, changed, changed.Add(time.Second)))
		w.settle()
		w.keep()
	}
}

func TestAFileWithAnotherModeThanTheIndexIsConvertedAnew(t *testing.T) {
	w := committed(t, "f", "a line\r\n")
	w.git("update-index", "--chmod=+x", "f")
	w.write(".gitattributes", "f text\n")
	w.settle()
	w.keep()
	w.settle()
	w.keep()
}

func TestRulesThatASparseCheckoutLeavesOutComeBackAtOnce(t *testing.T) {
	w := plain(t, kind{})
	w.unwanted = true
	w.write(".gitignore", "b\n")
	w.write(".gitattributes", "c text\n")
	w.write("f", "1")
	w.git("add", "-A")
	w.git("update-index", "--skip-worktree", ".gitignore", ".gitattributes")
	w.write("b", "ignored by the index's rules")
	w.write(".gitignore", "f\n")
	w.write(".gitattributes", "")
	w.settle()
	w.keep()
	w.settle()
	w.keep()
	w.must(os.Remove(w.path(".gitignore")))
	w.must(os.Remove(w.path(".gitattributes")))
	w.write("c", "a line\r\n")
	w.keep()
}

func TestAFilterProcessConvertsLikeGit(t *testing.T) {
	for _, required := range []string{"false", "true"} {
		w := plain(t, kind{})
		command, err := filterCommand()
		w.must(err)
		w.git("config", "filter.proc.process", command)
		w.git("config", "filter.proc.required", required)
		w.reopen()
		w.write(".gitattributes", "*.p filter=proc\n")
		w.write("a.p", "a and b\n")
		w.write("big.p", strings.Repeat("a and b, many times\n", 20000))
		w.write("empty.p", "")
		w.write("refused.p", "FAIL")
		w.write("plain", "a and b\n")
		s := w.keep()
		if got := w.git("cat-file", "blob", s.snap.Tree.String()+":a.p"); got != "b bnd a" {
			w.fail("a.p is recorded as %q: the filter did not run", got)
		}
		w.git("add", "-A", "--", "a.p", "big.p")
		w.write("a.p", "b and a\n")
		w.settle()
		w.keep()
		w.travel()
	}
}

// git asks a filter process that gave up nothing more: which files it converts
// depends on their order, and on which have changed since it last looked. Each
// file is what git makes of it alone.
func TestAFilterProcessThatGivesUpCostsOneFile(t *testing.T) {
	for _, required := range []string{"false", "true"} {
		w := plain(t, kind{Filters: true})
		command, err := filterCommand()
		w.must(err)
		w.git("config", "filter.proc.process", command)
		w.git("config", "filter.proc.required", required)
		w.reopen()
		w.write(".gitattributes", "*.p filter=proc\n")
		names := []string{"1.p", "2.p", "3.p", "4.p", "d/5.p", "d/6.p"}
		for i, name := range names {
			w.write(name, []string{"a and b\n", "ABORT, a and b\n"}[i%2])
		}
		for _, edit := range append(names, "none") {
			w.settle()
			s := w.keep()
			for i, name := range names {
				want, left := "b bnd a", false
				if i%2 == 1 {
					want, left = "ABORT, a and b", required == "true"
				}
				if got, err := w.tryGit("", "cat-file", "blob", s.snap.Tree.String()+":"+name); left != (err != nil) || !left && got != want {
					w.fail("%s is recorded as %q (%v)", name, got, err)
				}
			}
			w.age(".gitattributes") // nothing is believed that was converted before
			if edit != "none" {
				w.age(edit)
			}
		}
		w.travel()
	}
}

// Seed 100109759: git does not believe what an index of the file's own second has
// of it, converts it, and fails. The oracle adds such a file last, and took its copy
// of the index for younger than it was, for a run before had written it.
func TestAFileAtWhichAFilterGivesUpIsAsYoungAsTheIndexSays(t *testing.T) {
	w := plain(t, kind{Filters: true})
	second := w.writeAt("f", "ABORT\n", 10*time.Millisecond)
	w.git("add", "-A")
	w.write(".gitattributes", "f working-tree-encoding=UTF-16\n")
	time.Sleep(time.Until(second.Add(1100 * time.Millisecond)))
	for at, want := range []string{".gitattributes", ".gitattributes\nf"} {
		w.touchIndex(second.Add(time.Duration(500+3000*at) * time.Millisecond))
		for range 2 {
			r := w.record()
			if got := w.git("ls-tree", "--name-only", r.Tree.String()); got != want || len(r.Skipped) != 1-at {
				w.fail("the tree has %q, not %q; skipped are %v", got, want, r.Skipped)
			}
			w.settle()
		}
	}
}

// Without a mark the order of the bytes is that of git's C library.
func TestUTF16LEBOMIsConvertedWhereItHasAMark(t *testing.T) {
	w := plain(t, kind{})
	w.write(".gitattributes", "*.u text working-tree-encoding=UTF-16LE-BOM\n")
	w.write("le.u", "\xff\xfet\x00\r\x00\n\x00")
	w.write("be.u", "\xfe\xff\x00t\x00\r\x00\n")
	w.write("none.u", "t\x00\r\x00\n\x00")
	w.write("empty.u", "")
	s := w.keep()
	if len(s.snap.Skipped) != 1 || s.snap.Skipped[0].Path != "none.u" || s.recorded["none.u"] == "" {
		w.fail("skipped %v, held as %q", s.snap.Skipped, s.recorded["none.u"])
	}
	w.travel()
}

func TestAnUnreadableFileIsNotWhatTheIndexHasOfIt(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: files that cannot be read, for root can read every file")
	}
	w := committed(t, "d/f", "of the index")
	w.write("d/g", "1")
	w.git("update-index", "--skip-worktree", "d/f")
	w.unwanted = true
	for range 2 {
		w.must(os.Remove(w.path("d/f")))
		w.settle()
		w.keep()
		w.write("d/f", "of the disk")
		w.settle()
		w.keep()
		w.hidden = w.path("d/f")
		w.must(os.Chmod(w.hidden, 0))
		w.settle()
		for range 2 {
			w.check()
			w.write("d/g", w.content())
		}
		w.must(os.Chmod(w.hidden, 0o644))
		w.settle()
		w.keep()
	}
}

// Seed 99112776: the rules for which a file is left out are those in force once the
// deletion of others is known. The oracle took those of the index for them.
func TestAFileIsLeftOutByTheRulesBehindDeletedOnes(t *testing.T) {
	for _, file := range []string{"-f.u", "d/f.u", "d/deep/f.u"} {
		w := plain(t, kind{})
		attributes := filepath.Join(w.home, ".config", "git", "attributes")
		w.must(os.MkdirAll(filepath.Dir(attributes), 0o755))
		w.must(os.WriteFile(attributes, []byte("*.u working-tree-encoding=UTF-16LE-BOM\n"), 0o644))
		w.reopen()
		w.write("d/a", "1")
		w.write(".gitattributes", "*.u working-tree-encoding=ISO-8859-1\n")
		w.git("add", "-A")
		w.must(os.Remove(w.path(".gitattributes")))
		w.write(file, "no marks") // two bytes each
		w.settle()
		r := w.record()
		if len(r.Skipped) != 1 || string(r.Skipped[0].Path) != file {
			t.Errorf("%s: skipped are %v", file, r.Skipped)
		}
	}
}
