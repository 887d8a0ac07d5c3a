//go:build linux

package fuzz

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

// submodule adds a real submodule, whose git directory lies in the outer one. It
// tracks out/x, although the outer rules ignore out.
func submodule(t *testing.T) *world {
	w := plain(t, kind{})
	w.nested = true
	w.git("config", "--global", "protocol.file.allow", "always")
	lib := filepath.Join(w.dir, "lib")
	w.git("init", "-q", lib)
	w.must(os.Mkdir(filepath.Join(lib, "out"), 0o755))
	for _, p := range []string{"f", "out/x"} {
		w.must(os.WriteFile(filepath.Join(lib, p), []byte(p), 0o644))
	}
	w.git("-C", lib, "add", "-A")
	w.git("-C", lib, "commit", "-qm", "lib")
	w.write(".gitignore", "out/\n")
	w.write("g", "1")
	w.git("submodule", "-q", "add", lib, "sub")
	w.git("add", "-A")
	w.git("commit", "-qm", "all")
	return w
}

// gitIn runs git in the repository of a directory, wherever its settings say that
// its worktree is.
func (w *world) gitIn(dir string, args ...string) (string, error) {
	return w.tryGit("", append([]string{"-C", dir, "--git-dir=.git", "--work-tree=."}, args...)...)
}

// headIn is the commit that the repository of a directory is on, "" if it has
// none.
func (w *world) headIn(dir string) string {
	if head, err := w.gitIn(dir, "rev-parse", "-q", "--verify", "HEAD"); err == nil {
		return head
	}
	return ""
}

// isSpoiled reports whether a repository is named that git cannot read either. In a
// submodule, and in another one inside, the outer git does not look there.
func (w *world) isSpoiled(s engine.Note) bool {
	_, err := w.gitIn(string(s.Path), "status")
	return err != nil && strings.HasPrefix(s.Reason, "nested repository: ")
}

// setLinks puts the commits into an index of repositories at which git add -A
// fails because it cannot ask in them whether anything was edited: their settings
// say that they have no worktree, or another. The tree has them all the same.
func (w *world) setLinks(index string, heads map[string]string) {
	for p, head := range heads {
		if out, err := w.oracleGit(index, "update-index", "--add", "--cacheinfo", "160000,"+head+","+p); err != nil {
			w.fail("link %q: %v %s", p, err, out)
		}
	}
}

func (w *world) copyTree(from, to string) {
	w.t.Helper()
	if out, err := exec.Command("cp", "-a", w.path(from), w.path(to)).CombinedOutput(); err != nil {
		w.fail("%v %s", err, out)
	}
}

// links checks that the tree has commits at these paths, and nothing below.
func (w *world) links(s taken, want ...string) {
	w.t.Helper()
	var got []string
	for line := range strings.SplitSeq(w.git("ls-tree", "-r", s.snap.Tree.String()), "\n") {
		if entry, p, _ := strings.Cut(line, "\t"); strings.HasPrefix(entry, "160000 ") {
			got = append(got, p)
		}
	}
	if !slices.Equal(got, want) {
		w.fail("commits are at %q, not at %q", got, want)
	}
}

// TestASubmoduleThatWasMovedOrCopiedIsStillARepository: its core.worktree says
// that its files are elsewhere, and still it is a commit for git. The rules
// around it do not apply in it, so that out/x is recorded.
func TestASubmoduleThatWasMovedOrCopiedIsStillARepository(t *testing.T) {
	w := submodule(t)
	w.copyTree("sub", "copy")
	w.settle()
	s := w.keep()
	w.links(s, "copy", "sub")
	w.must(os.Rename(w.path("sub"), w.path("moved")))
	w.git("config", "--file", filepath.Join(w.common, "modules", "sub", "config"), "core.bare", "true")
	w.settle()
	moved := w.keep()
	w.links(moved, "copy", "moved")
	for p, in := range map[string]taken{"sub/out/x": s, "copy/out/x": s, "moved/out/x": moved} {
		if _, ok := in.recorded[p]; !ok {
			w.fail("%q is not recorded", p)
		}
	}
	w.git("add", "moved") // now git add fails at it, for its status is to be asked in a worktree that is gone
	w.write("moved/f", "2")
	if out, err := w.gitIn("copy", "commit", "-q", "--allow-empty", "-m", "another"); err != nil {
		w.fail("%v %s", err, out)
	}
	w.settle()
	w.links(w.keep(), "copy", "moved")
	w.must(os.Remove(w.path("moved/out/x")))
	w.write("copy/out/x", "edited")
	w.settle()
	w.keep()
	w.taken = []taken{moved}
	w.travel()
}

// TestARepositoryInsideThatHasNoWorktreeIsACommit: git add does not ask for it.
func TestARepositoryInsideThatHasNoWorktreeIsACommit(t *testing.T) {
	for _, setting := range []string{"core.bare true", "core.worktree ../nowhere", "core.worktree ../.."} {
		w := plain(t, kind{})
		w.nested = true
		w.inside("in")
		name, value, _ := strings.Cut(setting, " ")
		w.git("config", "--file", w.path("in/.git/config"), name, value)
		w.settle()
		w.links(w.keep(), "in")
		w.git("add", "-A")
		if out, err := w.gitIn("in", "commit", "-q", "--allow-empty", "-m", "another"); err != nil {
			w.fail("%v %s", err, out)
		}
		w.settle()
		w.links(w.keep(), "in")
	}
}

// inside makes a repository with a commit.
func (w *world) inside(name string) {
	w.t.Helper()
	w.git("init", "-q", name)
	w.write(name+"/.gitignore", "ignored\n")
	w.write(name+"/f", "1")
	w.git("-C", name, "add", "-A")
	w.git("-C", name, "commit", "-qm", "first")
}

// TestASubmoduleThatIsToBeIgnoredIsRecorded: with submodule.NAME.ignore git add
// -A leaves it alone since version 2.54, and did not before. Here it is recorded.
func TestASubmoduleThatIsToBeIgnoredIsRecorded(t *testing.T) {
	w := submodule(t)
	w.git("config", "submodule.sub.ignore", "all")
	w.git("config", "--file", ".gitmodules", "submodule.sub.ignore", "all")
	w.reopen()
	w.git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "another")
	w.settle()
	r, err := w.long.Snapshot(t.Context(), nil)
	w.must(err)
	if got, want := w.git("rev-parse", r.Tree.String()+":sub"), w.git("-C", "sub", "rev-parse", "HEAD"); got != want {
		w.fail("the commit is %s, not %s", got, want)
	}
}

// TestALinkToTheRepositoryItselfMakesNoRepository: git add adds what lies beside it.
func TestALinkToTheRepositoryItselfMakesNoRepository(t *testing.T) {
	for _, layout := range []string{"", "linked", "separate"} {
		w := plain(t, kind{Layout: layout})
		w.nested = true
		w.write("s/f", "1")
		w.write("top", "1")
		w.git("add", "top")
		w.git("commit", "-qm", "first")
		w.must(os.Symlink(w.gitDir, w.path("s/.git")))
		w.settle()
		s := w.keep()
		w.links(s)
		if got := w.git("cat-file", "blob", s.snap.Tree.String()+":s/f"); got != "1" {
			w.fail("s/f is %q", got)
		}
		w.write("s/f", "2")
		w.write("s/g", "2")
		w.settle()
		w.keep()
		w.taken = []taken{s}
		w.travel()
		w.must(os.Remove(w.path("s/.git"))) // a file that leads there makes one
		w.write("s/.git", "gitdir: "+w.gitDir+"\n")
		w.settle()
		r := w.record()
		w.links(taken{snap: r.Snapshot}, "s")
	}
}

// TestARepositoryInsideThatGitCannotReadIsNamedAndNotInTheTree: git add fails at
// it, and so it is not in git's tree; its files are recorded all the same.
func TestARepositoryInsideThatGitCannotReadIsNamedAndNotInTheTree(t *testing.T) {
	for what, breakIt := range map[string]func(w *world){
		"extension": func(w *world) {
			w.git("config", "--file", w.path("in/.git/config"), "core.repositoryFormatVersion", "1")
			w.git("config", "--file", w.path("in/.git/config"), "extensions.foo", "bar")
		},
		"version": func(w *world) {
			w.git("config", "--file", w.path("in/.git/config"), "core.repositoryFormatVersion", "7")
		},
		"format": func(w *world) {
			w.git("config", "--file", w.path("in/.git/config"), "core.repositoryFormatVersion", "1")
			w.git("config", "--file", w.path("in/.git/config"), "extensions.objectFormat", "md5")
		},
		"syntax": func(w *world) { w.write("in/.git/config", "[bad\n") },
		"ref": func(w *world) {
			ref := w.git("-C", "in", "symbolic-ref", "HEAD")
			w.write("in/.git/"+ref, "no id\n")
		},
	} {
		for _, tracked := range []bool{false, true} {
			t.Run(fmt.Sprint(what, tracked), func(t *testing.T) {
				w := plain(t, kind{})
				w.nested = true
				w.inside("in")
				w.write("top", "1")
				if tracked {
					w.git("add", "-A")
				}
				breakIt(w)
				w.settle()
				w.named("in")
				w.write("in/f", "2")
				w.settle()
				s := w.named("in")
				w.write("in/f", "3")
				w.must(os.Remove(w.path("in/.gitignore")))
				w.settle()
				w.taken = []taken{s}
				w.travel()
			})
		}
	}
}

// named takes a snapshot that must name these paths, of which only git's tree
// lacks something, and have what is there.
func (w *world) named(want ...string) taken {
	w.t.Helper()
	r := w.record()
	var names []string
	for _, s := range r.Skipped {
		if names = append(names, string(s.Path)); !s.Overlaid {
			w.fail("%q is not recorded", s.Path)
		}
	}
	if !slices.Equal(names, want) {
		w.fail("skipped are %q, not %q", names, want)
	}
	got := w.export(w.long, r.Snapshot)
	for path, what := range w.picture(w.root).recordable() {
		if got[path] != what {
			w.fail("%q is recorded as %q, and is %q", path, got[path], what)
		}
	}
	return taken{snap: r.Snapshot, recorded: got, outside: w.outside}
}

// TestASubmoduleWithoutItsRepositoryHasTheIndexsCommit: as long as it was a
// repository its own HEAD counted, and the stat table knows that alone.
func TestASubmoduleWithoutItsRepositoryHasTheIndexsCommit(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"removed": func(w *world) { w.must(os.RemoveAll(w.path("d/in/.git"))) },
		"unborn":  func(w *world) { w.git("-C", "d/in", "symbolic-ref", "HEAD", "refs/heads/unborn") },
	} {
		for _, relisted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, relisted), func(t *testing.T) {
				w := plain(t, kind{})
				w.nested = true
				w.inside("d/in")
				w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",d/in")
				w.settle()
				w.keep()
				w.settle()
				w.keep()
				spoil(w)
				if relisted {
					w.write("d/f", "new")
				}
				w.settle()
				w.record()
				w.write("d/g", "new")
				w.settle()
				w.record()
			})
		}
	}
}

// Seed 99000068: git add says at which submodule it failed, whatever that is
// called.
func TestAMovedSubmoduleWhoseNameHasANewlineIsACommit(t *testing.T) {
	w := submodule(t)
	w.must(os.Rename(w.path("sub"), w.path("two\nlines")))
	w.git("add", "two\nlines")
	w.write("two\nlines/f", "2")
	w.settle()
	r := w.record()
	if got, want := w.git("rev-parse", r.Tree.String()+":two\nlines"), w.headIn("two\nlines"); got != want {
		w.fail("the commit is %s, not %s", got, want)
	}
}

// Seed 99001507: of a repository in a repository whose settings cannot be read its
// own rules are not known. That is named, though git does not look there.
func TestASpoiledRepositoryInARepositoryInsideIsNamed(t *testing.T) {
	w := plain(t, kind{})
	w.nested = true
	w.inside("in")
	w.inside("in/deep")
	w.settle()
	w.keep()
	w.write("in/deep/.git/config", "[bad\n")
	w.settle()
	w.named("in/deep")
}

// Seed 99111481: so is one below a submodule of the index that is no repository here.
func TestASpoiledRepositoryBelowAnEmptySubmoduleIsNamed(t *testing.T) {
	w := plain(t, kind{})
	w.nested = true
	w.inside("m/deep/in")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",m")
	w.settle()
	w.keep()
	w.write("m/deep/in/.git/config", "[bad\n")
	w.settle()
	w.named("m/deep/in")
}

// Seed 99004700: what the repository's own configuration names as core.excludesFile
// holds in it alone. In a repository inside the user's own file counts, which that one
// has put out of force outside.
func TestTheRepositorysOwnExcludesFileDoesNotHoldInOnesInside(t *testing.T) {
	for _, own := range []string{"out\n", ""} {
		w := plain(t, kind{})
		w.nested = true
		w.outsideIgnore("shut\n")
		w.write("../rules", own)
		for _, in := range []string{"unborn", "born"} {
			w.git("init", "-q", in)
			w.write(in+"/f", "1")
			if in == "born" {
				w.git("-C", in, "add", "f")
				w.git("-C", in, "commit", "-qm", "first")
			}
			w.write("../exclude", "own\n")
			w.must(os.Rename(w.path("../exclude"), w.path(in+"/.git/info/exclude")))
		}
		for _, dir := range []string{"", "unborn/", "born/"} {
			for _, p := range []string{"out/f", "shut/f", "own/f"} {
				w.write(dir+p, "1")
			}
		}
		w.settle()
		w.keep()
		w.git("config", "core.excludesFile", filepath.Join(w.dir, "rules"))
		w.reopen()
		for range 2 {
			w.settle()
			s := w.keep()
			for _, in := range []string{"unborn", "born"} {
				for p, want := range map[string]bool{"out/f": true, "shut/f": false, "own/f": false} {
					if _, ok := s.recorded[in+"/"+p]; ok != want {
						w.fail("%s/%s is recorded: %v", in, p, ok)
					}
				}
			}
			w.taken = []taken{s}
			w.write("unborn/out/g", "1")
			w.write("born/out/g", "1")
			w.travel()
		}
	}
}
