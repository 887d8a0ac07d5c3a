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

// TestGitIsNotAskedForWhatLiesInASubmodule checks that the oracle has an answer
// where a file at which a filter gives up lies in what the index has as a
// submodule: git add does not look there.
func TestGitIsNotAskedForWhatLiesInASubmodule(t *testing.T) {
	w := plain(t, kind{Filters: true})
	command, err := filterCommand()
	w.must(err)
	w.git("config", "filter.proc.process", command)
	w.reopen()
	w.write(".gitattributes", "*.p filter=proc\n")
	for _, p := range []string{"a.p", "d/n.p", "z.p"} {
		w.write(p, "aabb")
	}
	w.git("add", "-A")
	w.settle()
	w.keep()
	w.git("update-index", "--add", "--replace", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",d")
	w.settle()
	w.keep()
	w.write("a.p", "ABORT aabb")
	w.write("d/n.p", "ABORT aabb")
	w.settle()
	w.keep()
	w.write("z.p", "bbaa")
	w.must(os.Remove(w.path("a.p")))
	w.settle()
	w.keep()
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

// TestUndoGivesAnIgnoredDirectoryItsPermissionsBackWhereASubmoduleWas: the scan
// leaves an ignored directory out, so that what it was is in the journal alone.
func TestUndoGivesAnIgnoredDirectoryItsPermissionsBackWhereASubmoduleWas(t *testing.T) {
	for _, rules := range []string{"tree/.gitignore", "tree/.git/info/exclude"} {
		w := plain(t, kind{})
		w.write("f", "1")
		w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",e")
		w.must(os.Mkdir(w.path("e"), 0o755))
		s := w.keep()
		w.git("rm", "-q", "--cached", "e")
		w.must(os.WriteFile(filepath.Join(w.dir, rules), []byte("e\n"), 0o644))
		w.outside++
		w.write("e/in", "ignored")
		w.must(os.Chmod(w.path("e"), 0o775))
		w.settle()
		w.keep()
		w.taken = []taken{s}
		for range 4 { // it draws whether to redo
			w.travel()
		}
	}
}

// Seed 99108844: a directory is a plain one where the index has a submodule in a
// conflict in it, also if it is a repository, and the index has a file in its place.
// So it is for git once the conflict is gone, and before if a later name is in the
// index. Else git add leaves in its index the repository, and what lies in it.
func TestARepositoryAroundASubmoduleInConflictIsAPlainDirectory(t *testing.T) {
	for i := range 16 {
		file, later, instead, born := i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0
		w := plain(t, kind{})
		w.nested = true
		w.write("z", "1")
		w.git("init", "-q", "a/b/module")
		w.git("init", "-q", "a")
		w.git("-C", "a", "commit", "-q", "--allow-empty", "-m", "x")
		commit := strings.Repeat("12", 20)
		blob := w.git("hash-object", "-w", "z")
		lines := "160000 " + commit + " 2\ta/b/module\x00"
		if instead {
			lines += "100644 " + blob + " 0\ta\x00"
		}
		if later {
			lines += "100644 " + blob + " 0\tz\x00"
		}
		if out, err := w.tryGit(lines, "update-index", "-z", "--index-info"); err != nil {
			w.fail("%v %s", err, out)
		}
		if born {
			w.git("-C", "a/b/module", "commit", "-q", "--allow-empty", "-m", "y")
			commit = w.headIn("a/b/module")
		}
		want := "160000 commit " + commit + "\ta/b/module\n"
		if file {
			w.write("a/f", "1")
			want += "100644 blob " + blob + "\ta/f\n"
		}
		for range 2 {
			w.settle()
			r := w.record()
			if got := w.git("ls-tree", "-r", r.Tree.String()); got != want+"100644 blob "+blob+"\tz" || born != (len(r.Skipped) == 0) {
				w.fail("file %v, later %v, instead %v, born %v: the tree has\n%s\nskipped are %v", file, later, instead, born, got, r.Skipped)
			}
			w.write("z", "1") // the index is not read again
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

// TestFilesInConflictBesideASubmoduleAreRecorded checks that nothing of them is
// lost, though the tree has the submodule in their place, where git would take
// them (see docs/shortcomings.md). git merge -s recursive leaves such an index.
//
// A submodule that stands beside one in such a directory stays what it is, also
// where it is empty and only its names may be listed.
func TestFilesInConflictBesideASubmoduleAreRecorded(t *testing.T) {
	for _, stage := range []string{"0", "1", "3"} {
		w := plain(t, kind{})
		paths := []string{"d/n", "d/ignored", "d/sub/ignored"}
		for _, p := range paths {
			w.write(p, "1")
		}
		w.git("add", "-A")
		marks[len(marks)-1].mark(w, paths)
		w.write(".gitignore", "ignored\n")
		if out, err := w.tryGit("160000 "+strings.Repeat("12", 20)+" "+stage+"\td\x00", "update-index", "-z", "--index-info"); err != nil {
			t.Fatal(err, out)
		}
		w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",empty")
		w.must(os.Mkdir(w.path("empty"), 0o444))
		w.write("d/new", "untracked")
		for _, text := range []string{"2", "3", "4"} {
			for _, p := range paths {
				w.write(p, text)
				w.must(os.Chmod(w.path("empty"), 0o444)) // it will be listed again
				w.settle()
				before := w.picture(w.root)
				s, err := w.long.Snapshot(t.Context(), nil)
				w.must(err)
				if len(s.Skipped) > 0 {
					w.fail("skipped %v", s.Skipped)
				}
				if d := before.differs(w.export(w.long, s.Snapshot)); d != "" {
					w.fail("stage %s, %q edited: recorded %s", stage, p, d)
				}
			}
		}
	}
}

// Seed 91001211: rules outside the tree decide what a snapshot could have had. A
// file that appears after they changed goes again when what was before it comes
// back, though a snapshot with the very same files was made under the old ones.
func TestASnapshotUnderOtherRulesIsAnother(t *testing.T) {
	w := plain(t, kind{})
	w.write("f", "1")
	w.outsideIgnore("b\n")
	first := w.keep()
	w.outsideIgnore("nothing\n")
	w.settle()
	second := w.keep()
	if again := w.keep(); again.snap.ID != second.snap.ID || second.snap.ID == first.snap.ID {
		w.fail("snapshots %v, %v, %v", first.snap.ID, second.snap.ID, again.snap.ID)
	}
	w.write("b", "new")
	w.settle()
	w.keep()
	r, err := w.long.Restore(t.Context(), second.snap.ID, nil)
	w.must(err)
	if d := second.recorded.differs(w.picture(w.root)); d != "" {
		w.fail("%s\n%+v", d, r)
	}
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

// Seed 100114973: the commit is not known of a submodule whose branch is no id. That
// is named, though git add fails at it only where something was added in it.
func TestASubmoduleWithoutAReadableCommitIsNamed(t *testing.T) {
	for _, added := range []bool{false, true} {
		w := plain(t, kind{})
		w.nested = true
		w.git("init", "-q", "m")
		w.write("m/f", "1")
		if added {
			w.git("-C", "m", "add", "f")
		}
		w.git("-C", "m", "commit", "-q", "--allow-empty", "-m", "x")
		commit := strings.Repeat("12", 20)
		w.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",m")
		w.settle()
		w.keep()
		w.write("m/.git/"+w.git("-C", "m", "symbolic-ref", "HEAD"), "no id\n")
		w.write("m/f", "2")
		w.settle()
		s := w.named("m")
		if got := w.git("rev-parse", s.snap.Tree.String()+":m"); got != commit {
			w.fail("the tree has %s, not the index's commit", got)
		}
	}
}
