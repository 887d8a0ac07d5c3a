//go:build linux

package fuzz

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What git makes of entries of its index in the place of which something else is on
// disk. The seeds are those of TestDifferential that led here.

// Seed 100001504: the index can have a directory in the place of a file that is in a
// conflict. When the directory is not on disk both are absent, and both are known when
// it comes back: what the index has in it is tracked, whatever the rules say.
func TestADirectoryBesideAConflictIsTrackedWhenItComesBack(t *testing.T) {
	for _, mode := range []string{"100644", "120000"} {
		w := plain(t, kind{})
		w.write(".gitignore", "*.o\n")
		for _, p := range []string{"d/f", "d/x.o", "d/sub/y.o"} {
			w.write(p, "1")
		}
		w.git("add", "-f", ".gitignore", "d")
		blob := w.git("rev-parse", ":d/f")
		if out, err := w.tryGit(mode+" "+blob+" 2\td\x00", "update-index", "-z", "--index-info"); err != nil {
			w.fail("%v %s", err, out)
		}
		w.settle()
		w.keep()
		w.must(os.Rename(w.path("d"), filepath.Join(w.dir, "away")))
		w.settle()
		w.keep()
		w.must(os.Rename(filepath.Join(w.dir, "away"), w.path("d")))
		for _, text := range []string{"2", "3"} {
			w.settle()
			w.names(w.keep(), "d/f d/sub/y.o d/x.o")
			w.write("d/x.o", text)
			w.write("d/sub/y.o", text)
		}
		w.settle()
		w.keep()
	}
}

// Seed 99002804: of a file that was written in the second of the index git asks the
// required filter whenever it writes the index, and gives up if that fails, also where
// the file is none of those that were to be added. It is skipped.
func TestAFileOfTheIndexsSecondWhoseFilterFailsIsSkipped(t *testing.T) {
	w := plain(t, kind{})
	w.git("config", "filter.must.clean", "false")
	w.git("config", "filter.must.required", "true")
	w.reopen()
	second := w.writeAt("f", "text\n", 10*time.Millisecond)
	w.write("g", "text\n")
	w.git("add", "-A")
	w.write(".gitattributes", "f filter=must\n")
	w.touchIndex(second.Add(500 * time.Millisecond))
	for range 2 {
		w.settle()
		if r := w.record(); len(r.Skipped) != 1 || r.Skipped[0].Path != "f" {
			w.fail("skipped is %v", r.Skipped)
		}
		w.write("g", "another text\n")
	}
}

// Seed 99004418: git add leaves an entry alone below a link that leads to itself, for it
// is not told that there is no such file. It is not on disk, and so not in the tree.
func TestAnEntryIsGoneWhereALinkToItselfIsInItsWay(t *testing.T) {
	w := plain(t, kind{})
	w.write("f/g", "1")
	w.write("h", "1")
	w.git("add", "-A")
	w.outsideIgnore("f\n")
	w.must(os.RemoveAll(w.path("f")))
	w.must(os.Symlink("f", w.path("f")))
	for range 3 {
		w.settle()
		w.names(w.keep(), "h")
	}
	w.must(os.Remove(w.path("f")))
	w.write("f/g", "2")
	w.settle()
	w.names(w.keep(), "f/g h")
}

// Seed 100119370: and where a link leads into a directory that nobody may search git says
// so, and leaves a conflict as it is. Nothing of the worktree was not looked at.
func TestAnEntryIsGoneWhereALinkLeadsIntoAClosedDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: directories that cannot be searched, for root can search all of them")
	}
	for _, stages := range []string{"0", "2", "13"} {
		w := plain(t, kind{})
		w.write("h", "1")
		w.git("add", "-A")
		lines := ""
		for _, stage := range stages {
			lines += "100644 " + w.git("rev-parse", ":h") + " " + string(stage) + "\tl/f\x00"
		}
		if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
			w.fail("%v %s", err, out)
		}
		w.must(os.Mkdir(w.path("d"), 0o700))
		w.must(os.Symlink("d", w.path("l")))
		w.hidden = w.path("d")
		w.must(os.Chmod(w.hidden, 0o600))
		for range 2 {
			w.settle()
			w.names(w.keep(), "h l")
		}
		w.must(os.Chmod(w.hidden, 0o700))
	}
}

// Seed 99005555: git refuses links whose name is ".gitmodules", and those below a
// directory of that name.
func TestALinkBelowADirectoryCalledGitmodulesIsRefused(t *testing.T) {
	for _, name := range []string{".gitmodules", ".GitModules", ".gitmodules .", ".g\u200citmodules", "gitmodules"} {
		for _, hfs := range []string{"false", "true"} {
			w := plain(t, kind{})
			w.git("config", "core.protectHFS", hfs)
			w.reopen()
			w.write("e/"+name+"/f", "1")
			w.must(os.MkdirAll(w.path("e/"+name+"/d"), 0o755))
			for _, link := range []string{"link", "d/link"} {
				w.must(os.Symlink("f", w.path("e/"+name+"/"+link)))
			}
			for range 2 {
				w.settle()
				w.record()
			}
		}
	}
}

// Seed 100005837: an untracked file that nobody may read is ignored by rules that the
// index has and does not want on disk; the oracle asks git for those too.
func TestAnUnreadableFileMayBeIgnoredByRulesOfTheIndex(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: files that cannot be read, for root can read all of them")
	}
	w := plain(t, kind{})
	w.unwanted = true
	w.write("d/.gitignore", "*.bin\n")
	w.write("d/f", "1")
	w.git("add", "-A")
	w.git("update-index", "--skip-worktree", "d/.gitignore")
	w.must(os.Remove(w.path("d/.gitignore")))
	w.write("d/k.bin", "1")
	w.hidden = w.path("d/k.bin")
	w.must(os.Chmod(w.hidden, 0))
	for range 2 {
		w.settle()
		r := w.record()
		w.compareSkipped(r, w.answer(r))
		if len(r.Skipped) != 1 {
			w.fail("skipped is %v", r.Skipped)
		}
	}
	w.must(os.Chmod(w.hidden, 0o644))
}

// Seed 100005864: git took in a file again under rules that are not in force any more,
// and its index has the same id as before, but the file's times now. Git takes it for
// unchanged from then on.
func TestAFileThatGitTookInAgainIsWhatTheIndexHas(t *testing.T) {
	for _, rules := range []string{"", "f ident\n"} {
		w := plain(t, kind{})
		w.write(".gitattributes", rules)
		w.write("d/f", "a line\r\n$Id: x$\r\n")
		w.git("-c", "core.autocrlf=input", "-c", "core.attributesFile=/dev/null", "add", "-A")
		for range 2 {
			w.age("d/f")
			w.settle()
			w.keep() // what the rules make of it
			w.git("-c", "core.autocrlf=input", "update-index", "d/f")
			w.settle()
			s := w.keep()
			if got, want := w.git("rev-parse", s.snap.Tree.String()+":d/f"), w.git("rev-parse", ":d/f"); got != want {
				w.fail("the tree has %s, the index %s", got, want)
			}
			w.settle()
			w.keep()
		}
	}
}

// Seed 100007582: where links are not trusted git takes a file in the place of a link
// for unchanged, too, and its id stays whatever the rules say now.
func TestAFileInThePlaceOfALinkIsWhatTheIndexHas(t *testing.T) {
	for _, mode := range []os.FileMode{0o644, 0o755} {
		w := plain(t, kind{})
		w.git("config", "core.symlinks", "false")
		blob, err := w.tryGit("a", "hash-object", "-w", "--stdin")
		w.must(err)
		w.git("update-index", "--add", "--cacheinfo", "120000,"+blob+",d/link")
		w.write("d/link", "a line\r\n")
		w.must(os.Chmod(w.path("d/link"), mode))
		w.reopen()
		w.settle()
		w.keep()
		w.age("d/link")
		w.settle()
		w.git("-c", "core.autocrlf=input", "add", "-A")
		for range 2 {
			w.settle()
			s := w.keep()
			if got := w.git("ls-tree", s.snap.Tree.String(), "d/link"); got != "120000 blob "+w.git("rev-parse", ":d/link")+"\td/link" {
				w.fail("the tree has %s", got)
			}
			w.write("g", w.content())
		}
	}
}

// TestAnIgnoredRepositoryThatCannotBeReadIsNamedInThePlaceOfAFile: where the index has a
// file or a link git asks whether the directory is a repository with a commit, though it
// be ignored, and fails if the settings in it are no settings (seed 99104598).
func TestAnIgnoredRepositoryThatCannotBeReadIsNamedInThePlaceOfAFile(t *testing.T) {
	for _, stages := range []string{"0", "12", "2", "23"} {
		for _, mode := range []string{"100644", "120000"} {
			t.Run(mode+" "+stages, func(t *testing.T) {
				w := plain(t, kind{})
				w.nested = true
				w.write("top", "1")
				w.git("add", "-A")
				w.inside("in")
				var lines strings.Builder
				for _, stage := range stages {
					fmt.Fprintf(&lines, "%s %s %c\tin\n", mode, w.git("rev-parse", ":top"), stage)
				}
				if out, err := w.tryGit(lines.String(), "update-index", "--index-info"); err != nil {
					w.fail("%v %s", err, out)
				}
				w.write(".git/info/exclude", "*\n")
				w.write("in/.git/config", "[bad\n")
				w.settle()
				s := w.named("in")
				if _, ok := s.recorded["in/f"]; !ok {
					w.fail("what is in it is not recorded")
				}
				w.keep() // and git's tree is the same
				w.write("in/f", "2")
				w.settle()
				w.taken = []taken{s, w.named("in")}
				w.travel()
			})
		}
	}
}
