//go:build linux

package fuzz

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What git makes of entries of its index that are not what they seem. The seeds
// are those of TestDifferential that led here.

// touchIndex gives the index a time, as if git had just written it.
func (w *world) touchIndex(at time.Time) {
	w.must(os.Chtimes(filepath.Join(w.gitDir, "index"), at, at))
}

// Seeds 7000085 and 7000492, when a second ended at the right moment: git takes
// a file for changed as long as its index is too young, and from a later one on
// for what the index says, whose entries are the same all the while.
func TestAnEntryCountsFromTheIndexOnThatIsOldEnough(t *testing.T) {
	for name, c := range map[string]struct{ file, index time.Duration }{
		"an index of the same second":           {10 * time.Millisecond, 500 * time.Millisecond},
		"one of the next second, at about once": {-10 * time.Millisecond, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := plain(t, kind{})
			w.write(".gitattributes", "f text\n")
			second := w.writeAt("d/f", "a line\r\n", c.file)
			w.git("add", "-A")
			w.write(".gitattributes", "")
			for _, at := range []time.Time{second.Add(c.index), time.Now().Add(3 * time.Second)} {
				w.touchIndex(at)
				w.keep()
				w.settle()
				w.keep()
				w.settle()
				w.keep()
			}
		})
	}
}

// writeAt writes a file so long after a second begins, or before, and returns
// the second.
func (w *world) writeAt(file, data string, offset time.Duration) time.Time {
	for {
		second := time.Now().Add(time.Second - offset).Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(second.Add(offset)))
		w.write(file, data)
		st, err := os.Lstat(w.path(file))
		w.must(err)
		if st.ModTime().Before(second) == (offset < 0) && st.ModTime().Sub(second).Abs() < 200*time.Millisecond {
			return second
		}
	}
}

// Seed 8000107: git reads the rules that a sparse checkout leaves out whatever
// the mode of the entry is.
func TestRulesAreReadFromALinkThatIsNotWantedOnDisk(t *testing.T) {
	w := plain(t, kind{})
	w.unwanted = true
	for file, rules := range map[string]string{".gitignore": "f", ".gitattributes": "*.txt text"} {
		blob, err := w.tryGit(rules, "hash-object", "-w", "--stdin")
		w.must(err)
		w.git("update-index", "--add", "--cacheinfo", "120000,"+blob+","+file)
	}
	w.git("update-index", "--skip-worktree", ".gitignore", ".gitattributes")
	w.write("f", "ignored")
	w.write("g.txt", "converted\r\n")
	for range 2 {
		w.settle()
		w.keep()
		w.write("d/f", "1")
		w.write("d/h.txt", "converted\r\n")
		w.settle()
		w.keep()
		w.git("update-index", "--no-skip-worktree", ".gitignore", ".gitattributes")
		w.keep()
		w.git("update-index", "--skip-worktree", ".gitignore", ".gitattributes")
	}
}

// Seed 100106485: a snapshot could not have had what such rules ignored, though they
// stood in a link. It stays when files come back to that snapshot. A commit in the
// place of the rules says nothing.
func TestWhatTheRulesOfALinkThatIsNotWantedOnDiskIgnoreStays(t *testing.T) {
	for mode, rules := range map[string]bool{"100644": true, "120000": true, "160000": false} {
		w := plain(t, kind{})
		w.unwanted = true
		id, err := w.tryGit("d", "hash-object", "-w", "--stdin")
		if w.must(err); !rules {
			id = strings.Repeat("12", 20)
		}
		w.git("update-index", "--add", "--cacheinfo", mode+","+id+",.gitignore")
		w.git("update-index", "--skip-worktree", ".gitignore")
		w.write("f", "1")
		w.write(".gitignore", "nothing\n")
		w.settle()
		first := w.keep()
		w.must(os.Remove(w.path(".gitignore")))
		w.must(os.Mkdir(w.path("d"), 0o755))
		w.write("out/d/product", "1")
		w.settle()
		before := w.picture(w.root)
		_, err = w.long.Restore(t.Context(), first.snap.ID, nil)
		w.must(err)
		restored := w.picture(w.root)
		if restored["d"] != "" != rules || restored["out/d/product"] != "" != rules {
			w.fail("%s: the restore left %v", mode, restored)
		}
		u, err := w.long.Undo(t.Context())
		w.must(err)
		if d := before.differs(w.picture(w.root)); d != "" {
			w.fail("%s: undo did not bring back:\n  %s\nundo %+v", mode, d, u)
		}
		if why, ok := named(u, "out/d/product"); ok != rules {
			w.fail("%s: %q stayed: %+v", mode, why, u)
		}
	}
}

// Seed 8000055: whether the lines of a file end as in the index is asked of our
// side of a conflict; where it has none, they are converted.
func TestLineEndsAreThoseOfOurSideOfAConflict(t *testing.T) {
	for _, stages := range []string{"1", "2", "3", "13", "123", "23"} {
		w := plain(t, kind{})
		w.git("config", "core.autocrlf", "input")
		w.reopen()
		blob, err := w.tryGit("one line\r\n", "hash-object", "-w", "--stdin")
		w.must(err)
		lines := ""
		for _, stage := range stages {
			lines += "100644 " + blob + " " + string(stage) + "\tf\x00"
		}
		if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
			w.fail("%v %s", err, out)
		}
		w.write("f", "another line\r\n")
		w.keep()
		w.settle()
		w.write("f", "the third\r\n")
		w.keep()
	}
}

// Seed 8000365: git adds a repository in the place of a file that it knows,
// ignored or not. Without a commit, or as a plain directory, it is ignored.
func TestAnIgnoredRepositoryInThePlaceOfAFileIsACommit(t *testing.T) {
	w := plain(t, kind{})
	w.nested = true
	w.write("a", "1")
	w.write("d/a", "1")
	w.git("add", "-A")
	w.outsideIgnore("a\nd\n")
	keep := func() taken {
		w.t.Helper()
		w.settle()
		w.keep()
		w.settle()
		return w.keep()
	}
	for _, dir := range []string{"a", "d/a"} {
		w.must(os.Remove(w.path(dir)))
		w.write(dir+"/f", "1")
		keep()
		w.git("init", "-q", dir)
		keep()
		w.git("-C", dir, "commit", "-q", "--allow-empty", "-m", "x")
		s := keep()
		w.git("-C", dir, "commit", "-q", "--allow-empty", "-m", "y")
		w.write(dir+"/f", "2")
		keep()
		w.must(os.Rename(w.path(dir+"/.git"), filepath.Join(w.dir, "away")))
		keep()
		w.must(os.Rename(filepath.Join(w.dir, "away"), w.path(dir+"/.git")))
		keep()
		w.taken = []taken{s}
		w.travel()
		w.settle()
	}
	w.git("update-index", "--force-remove", "a")
	keep()
}

// TestASubmoduleInConflictWithoutACommitIsNamed: git add fails at it, whatever is
// in it; with a commit, or a file in its place, the conflict is resolved.
func TestASubmoduleInConflictWithoutACommitIsNamed(t *testing.T) {
	w := plain(t, kind{})
	w.nested = true
	lines := ""
	for _, p := range []string{"d/born", "d/empty", "d/file", "d/full", "d/gone", "d/unborn"} {
		for _, stage := range []string{"1", "2", "3"} {
			lines += "160000 " + strings.Repeat("1"+stage, 20) + " " + stage + "\t" + p + "\x00"
		}
	}
	if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
		w.fail("%v %s", err, out)
	}
	w.must(os.MkdirAll(w.path("d/empty"), 0o755))
	w.write("d/full/f", "1")
	w.write("d/file", "1")
	w.git("init", "-q", "d/unborn")
	w.inside("d/born")
	for range 2 { // the second time git's index is not read, and then the directory listed
		w.named("d/empty", "d/full", "d/unborn")
		w.settle()
		w.named("d/empty", "d/full", "d/unborn")
		w.write("d/new", "1")
		w.settle()
		w.named("d/empty", "d/full", "d/unborn")
	}
	w.write("d/full/f", "2")
	w.git("-C", "d/unborn", "commit", "-q", "--allow-empty", "-m", "x")
	w.settle()
	w.named("d/empty", "d/full")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",d/full")
	w.settle()
	s := w.named("d/empty")
	w.must(os.Remove(w.path("d/empty")))
	w.settle()
	w.keep()
	w.taken = []taken{s}
	w.travel()
}

// TestAnEntryWithANameThatIsTooLongStaysInTheTree: git add is not told that there
// is no such file, and leaves the entry alone.
func TestAnEntryWithANameThatIsTooLongStaysInTheTree(t *testing.T) {
	w := plain(t, kind{})
	long := strings.Repeat("n", 300)
	blob, err := w.tryGit("long", "hash-object", "-w", "--stdin")
	w.must(err)
	for _, p := range []string{long, "d/" + long, "d/" + long + "x/f/g", "gone/" + long, "e/" + strings.Repeat("m", 255)} {
		w.git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+p)
	}
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",e/"+long)
	w.write("d/f", "1")
	w.write("e/f", "1")
	want := []string{"d/" + long, "d/" + long + "x/f/g", "e/" + long, long}
	for _, text := range []string{"1", "2", "3"} {
		w.write("d/f", text)
		w.settle()
		s := w.keep()
		got := strings.Split(w.git("ls-tree", "-r", "--name-only", s.snap.Tree.String()), "\n")
		for _, p := range want {
			if !slices.Contains(got, p) {
				w.fail("%q is not in the tree", p)
			}
		}
	}
	w.write("d/g", "new")
	w.settle()
	s := w.keep()
	w.must(os.RemoveAll(w.path("d")))
	w.settle()
	w.keep()
	w.taken = []taken{s}
	w.travel()
	w.git("update-index", "--force-remove", long)
	w.settle()
	w.keep()
}

// Seed 91001496: where core.symlinks is false a checkout puts a file in the place
// of a link. It has the link's bytes, and is converted like any other.
func TestAFileInThePlaceOfALinkIsConverted(t *testing.T) {
	for _, attributes := range []string{"* text", "* working-tree-encoding=UTF-16LE", ""} {
		w := plain(t, kind{})
		w.must(os.Symlink("a\r\n", w.path("link")))
		w.git("add", "-A")
		w.write(".gitattributes", attributes+"\n")
		w.git("config", "core.symlinks", "false")
		w.reopen()
		w.touchIndex(time.Now().Add(-time.Hour))
		w.settle()
		s := w.keep()
		w.must(os.Remove(w.path("link")))
		w.write("link", "a\r\n")
		for range 3 {
			w.record()
			w.settle()
		}
		w.examine(w.long, w.record().Snapshot)
		w.taken = append(w.taken, s)
		w.travel()
	}
}

// Seed 92003040: where links are not trusted, a new file is what our side of a
// conflict was, also if it was not on disk when the conflict was first seen.
func TestAFileThatComesBackInAConflictIsWhatOurSideWas(t *testing.T) {
	for _, modes := range [][3]string{{"120000", "100644", "100755"}, {"100644", "120000", "100644"}, {"120000", "", "100644"}} {
		w := plain(t, kind{})
		w.git("config", "core.symlinks", "false")
		w.reopen()
		blob, err := w.tryGit("f", "hash-object", "-w", "--stdin")
		w.must(err)
		lines := ""
		for i, mode := range modes {
			if mode != "" {
				lines += mode + " " + blob + " " + string('1'+rune(i)) + "\td/f\x00"
			}
		}
		if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
			w.fail("%v %s", err, out)
		}
		w.write("d/g", "1")
		w.settle()
		w.keep()
		w.settle()
		w.keep()
		w.write("d/f", "new")
		w.settle()
		w.keep()
	}
}

// Seed 92002204: git add asks the place to which a link leads whether an entry
// below it is there, and leaves alone what is too long to be asked for.
func TestAnEntryThatIsTooLongIsGoneWhereALinkIsInItsWay(t *testing.T) {
	w := plain(t, kind{})
	long := strings.Repeat("n", 300)
	blob, err := w.tryGit("long", "hash-object", "-w", "--stdin")
	w.must(err)
	w.git("update-index", "--add", "--cacheinfo", "100644,"+blob+",out/"+long)
	w.write("d/f", "1")
	w.must(os.Symlink("d", w.path("out")))
	w.outsideIgnore("out\n")
	w.settle()
	if s := w.keep(); w.git("ls-tree", "--name-only", s.snap.Tree.String()) != "d" {
		w.fail("the tree has what lies below a link")
	}
}

// Seed 96000619: what the index has under a name that no file system takes is in the
// tree after a restore and its undo, too, where nothing else is in it, and also where
// the index has a file in a conflict in the place of its directory.
func TestANameThatIsTooLongStaysInTheTreeAfterARestore(t *testing.T) {
	long := strings.Repeat("long", 64) + "1"
	for _, name := range []string{long, long + "/f", "d/" + long + "/f", "d/" + long} {
		for _, conflict := range []bool{true, false} {
			w := plain(t, kind{})
			w.unwanted = true
			w.write("d/out", "1")
			w.outsideIgnore("*\n")
			w.settle()
			s := w.keep()
			blob, err := w.tryGit("of the index alone", "hash-object", "-w", "--stdin")
			w.must(err)
			if above, inside := strings.CutSuffix(name, "/f"); inside && conflict {
				lines := "120000 " + blob + " 1\t" + above + "\x00100755 " + blob + " 2\t" + above + "\x00"
				if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
					w.fail("%v %s", err, out)
				}
				w.settle()
				s = w.keep()
			}
			w.git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
			for range 3 {
				w.check()
				w.write("d/out", w.content())
				w.settle()
				w.check()
				w.taken = []taken{s}
				w.travel()
				w.reopen()
				r := w.record()
				if got := w.git("rev-parse", r.Tree.String()+":"+name); got != blob {
					w.fail("%q is %s in the tree, not %s", name, got, blob)
				}
			}
		}
	}
}
