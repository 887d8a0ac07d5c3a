package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bothKinds runs a test in a repository and without git.
func bothKinds(t *testing.T, test func(t *testing.T, p *place)) {
	for _, git := range []bool{true, false} {
		t.Run(map[bool]string{true: "git", false: "no git"}[git], func(t *testing.T) { test(t, newPlace(t, git)) })
	}
}

func (p *place) remove(name string) {
	p.t.Helper()
	p.must(os.RemoveAll(filepath.Join(p.dir, name)))
}

// putBack restores, and wants no conflict.
func (p *place) putBack(e *Engine, s *Recorded, op Op) *Restored {
	p.t.Helper()
	op.To = s.ID
	r := p.do(e, op)
	if len(r.Conflicts) > 0 {
		p.t.Fatalf("conflicts %v", r.Conflicts)
	}
	return r
}

// wantThereAndBack takes a restore back, and does it again.
func (p *place) wantThereAndBack(e *Engine, before map[string]string) {
	p.t.Helper()
	after := p.picture()
	for _, turn := range []struct {
		what string
		verb string
		want map[string]string
	}{{"undo", Undo, before}, {"redo", Redo, after}, {"undo of the redo", Undo, before}} {
		r, err := e.Do(context.Background(), Op{Verb: turn.verb})
		if err != nil || len(r.Conflicts) > 0 {
			p.t.Fatalf("%s: %v %+v", turn.what, err, r)
		}
		p.wantPicture(turn.what, turn.want)
	}
}

func keptPaths(r *Restored) (paths []string) {
	for _, k := range r.Kept {
		paths = append(paths, string(k.Path))
	}
	slices.Sort(paths)
	return paths
}

func TestAnIgnoredFileThatIsGoneComesBack(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", ".env\n*.local\nlink\n")
		p.write(".env", "KEY=of the user\n")
		p.must(os.Chmod(filepath.Join(p.dir, ".env"), 0o600))
		p.write("conf/deep/db.local", "of the user too")
		p.must(os.Symlink("conf", filepath.Join(p.dir, "link")))
		e := p.open()
		s := p.snap(e, "one", nil)
		then := p.picture()
		for _, gone := range []string{".env", "conf", "link"} {
			p.remove(gone)
		}
		before := p.picture()
		if r := p.putBack(e, s, Op{}); r.Written != 5 || len(r.Kept) > 0 {
			t.Errorf("%+v", r)
		}
		p.wantPicture("restore", then)
		p.wantThereAndBack(e, before)
		p.putBack(e, s, Op{})
		if e.repo != nil {
			if all := p.git("rev-list", "--objects", "--all"); strings.Contains(all, ".env") || strings.Contains(all, ".local") {
				t.Errorf("git has an ignored file: %s", all)
			}
			id := p.git("hash-object", filepath.Join(p.dir, "conf/deep/db.local"))
			if _, err := p.tryGit("cat-file", "-e", id); err == nil {
				t.Errorf("git has %s", id)
			}
		}
	})
}

func TestAnIgnoredFileThatChangedStaysUnlessSomebodyAsks(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", ".env*\n")
		p.write(".env", "then")
		p.write(".env.mode", "then")
		p.write(".env.same", "same")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.write(".env", "now")
		p.must(os.Chmod(filepath.Join(p.dir, ".env.mode"), 0o600))
		p.write("file", "two")
		before := p.picture()
		r := p.putBack(e, s, Op{})
		if got := keptPaths(r); !slices.Equal(got, []string{".env", ".env.mode"}) || r.Kept[0].Reason == "" {
			t.Errorf("kept %v", r.Kept)
		}
		if p.read(".env") != "now" || p.read("file") != "one" {
			t.Errorf("%q %q", p.read(".env"), p.read("file"))
		}
		p.wantThereAndBack(e, before)
		if r = p.putBack(e, s, Op{Ignored: true}); len(r.Kept) > 0 || p.read(".env") != "then" {
			t.Errorf("%q, kept %v", p.read(".env"), r.Kept)
		}
		p.wantThereAndBack(e, before)
	})
}

// An ignored file that was made since is nobody's to delete, whatever the rules
// of the snapshot said.
func TestNoRestoreDeletesAnIgnoredFile(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("d/f", "1")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.write(".gitignore", "*.log\n")
		p.write("a.log", "1")
		p.write("d/b.log", "1")
		p.write("new/c.log", "1")
		p.snap(e, "two", nil)
		before := p.picture()
		for _, ignored := range []bool{false, true} {
			r := p.putBack(e, s, Op{Ignored: ignored})
			for _, name := range []string{"a.log", "d/b.log", "new/c.log"} {
				if !p.exists(name) {
					t.Errorf("%s was deleted", name)
				}
			}
			if p.exists(".gitignore") || slices.ContainsFunc(r.Kept, func(n Note) bool { return strings.HasSuffix(string(n.Path), ".log") }) {
				t.Errorf("kept %v", r.Kept)
			}
			p.undo(e)
			p.wantPicture("undo", before)
		}
	})
}

func TestWhatTheSnapshotIgnoredDecides(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", "then\n")
		p.write("then", "ignored")
		p.write("later", "recorded like any other")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.write(".gitignore", "later\n")
		p.write("then", "not ignored any more")
		p.write("later", "ignored now")
		before := p.picture()
		if r := p.putBack(e, s, Op{}); !slices.Equal(keptPaths(r), []string{"then"}) {
			t.Errorf("kept %v", r.Kept)
		}
		if p.read("then") != "not ignored any more" || p.read("later") != "recorded like any other" {
			t.Errorf("%q %q", p.read("then"), p.read("later"))
		}
		p.wantThereAndBack(e, before)
		p.putBack(e, s, Op{Ignored: true})
		if p.read("then") != "ignored" {
			t.Errorf("%q", p.read("then"))
		}
		p.wantThereAndBack(e, before)
	})
}

// What is over the limits now may have been within them, and is lost by no
// restore: not its bytes, nor the place it has.
func TestAFileThatOutgrewTheLimitsIsLostByNoRestore(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", "*.dat\n")
		for _, name := range []string{"gone.dat", "same.dat", "edited.dat", "d/grown.dat"} {
			p.write(name, "then")
		}
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("gone.dat")
		p.write("edited.dat", "now")
		p.write("d/grown.dat", strings.Repeat("now", 1<<20))
		for i := range 40 {
			p.write(fmt.Sprintf("made%d.dat", i), "product")
		}
		full := p.snap(e, "two", nil)
		for _, name := range []string{"same.dat", "edited.dat", "d/grown.dat", "made1.dat"} {
			if err := e.Cat(context.Background(), full.Snapshot, name, &strings.Builder{}); err == nil {
				t.Errorf("%s is recorded", name)
			}
		}
		before := p.picture()
		for _, ignored := range []bool{false, true} {
			r := p.putBack(e, s, Op{Ignored: ignored})
			edited, kept := "now", []string{"d/grown.dat", "edited.dat"}
			if ignored {
				edited, kept = "then", nil
			}
			if got := keptPaths(r); p.read("gone.dat") != "then" || p.read("edited.dat") != edited || !slices.Equal(got, kept) {
				t.Errorf("--ignored %v: kept %v, edited.dat is %q", ignored, r.Kept, p.read("edited.dat"))
			}
			p.wantThereAndBack(e, before)
		}
	})
}

func TestUndoLeavesAnIgnoredFileThatWasEditedSince(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", ".env\n")
	p.write(".env", "then")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove(".env")
	p.putBack(e, s, Op{})
	p.write(".env", "edited since")
	r := p.do(e, Op{Verb: Undo})
	if p.read(".env") != "edited since" || !slices.Equal(keptPaths(r), []string{".env"}) {
		t.Errorf("%q, kept %v", p.read(".env"), r.Kept)
	}
}

func TestADirectoryInThePlaceOfAnIgnoredFileStays(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write(".gitignore", "x.local\n")
		p.write("x.local", "then")
		p.write("d/x.local", "then")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("x.local")
		p.write("x.local/in", "ignored with its directory")
		p.remove("d")
		p.write("d", "a file where its directory was")
		before := p.picture()
		for _, ignored := range []bool{false, true} {
			r := p.putBack(e, s, Op{Ignored: ignored})
			if p.read("x.local/in") != "ignored with its directory" || p.read("d/x.local") != "then" || !slices.Equal(keptPaths(r), []string{"x.local"}) {
				t.Errorf("kept %v", r.Kept)
			}
			p.wantThereAndBack(e, before)
		}
	})
}

// An ignored file of a repository inside the worktree is one by its own rules.
func TestIgnoredFilesOfANestedRepositoryComeBackToo(t *testing.T) {
	p := newPlace(t, true)
	p.write("in/.gitignore", "*.local\n")
	p.write("in/f", "1")
	p.git("init", "-q", "in")
	p.git("-C", "in", "add", "-A")
	p.git("-C", "in", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x")
	p.write("in/x.local", "then")
	p.write("in/y.local", "then")
	p.write(".gitignore", "f\n") // these rules say nothing of what is inside
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove("in/x.local")
	p.write("in/y.local", "now")
	p.write("in/f", "now")
	before := p.picture()
	if r := p.putBack(e, s, Op{}); p.read("in/x.local") != "then" || p.read("in/y.local") != "now" || p.read("in/f") != "1" || !slices.Equal(keptPaths(r), []string{"in/y.local"}) {
		t.Errorf("kept %v", r.Kept)
	}
	p.wantThereAndBack(e, before)
}

// What was named, as a secret or to be left out, is no matter of this setting.
func TestSecretsAndExcludedFilesAreWhatTheyWere(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.exclude", "*.out")
	p.git("config", "rewind.secrets", "*.key")
	p.write(".gitignore", "*.local\n*.out\n")
	p.write("a.out", "1")
	p.write("b.local", "1")
	p.write("c.key", "1")
	p.must(os.Chmod(filepath.Join(p.dir, "b.local"), 0o600))
	e := p.open()
	s := p.snap(e, "one", nil)
	then := p.picture()
	for _, name := range []string{"b.local", "c.key"} {
		p.remove(name)
	}
	p.putBack(e, s, Op{})
	p.wantPicture("restore", then)
	p.remove("a.out")
	p.write("c.key", "2")
	p.putBack(e, s, Op{})
	if p.exists("a.out") || p.read("c.key") != "1" {
		t.Error("what a setting names is not treated as before")
	}
}

func TestTheSettingSaysWhichIgnoredFilesAreRecorded(t *testing.T) {
	for _, c := range []struct {
		value    string
		recorded []string
	}{{"none", nil}, {"small", []string{"a.x"}}, {"all", []string{"a.x", "large.x", "out/deep/b"}}} {
		bothKinds(t, func(t *testing.T, p *place) {
			p.env["REWIND_IGNORED"] = c.value
			p.write(".gitignore", "*.x\nout/\n")
			all := []string{"a.x", "large.x", "out/deep/b"}
			p.write("a.x", "1")
			p.write("large.x", strings.Repeat("1", 1<<20+1))
			p.write("out/deep/b", "1")
			e := p.open()
			s := p.snap(e, "one", nil)
			for _, name := range []string{"a.x", "large.x", "out"} {
				p.remove(name)
			}
			p.putBack(e, s, Op{})
			for _, name := range all {
				if p.exists(name) != slices.Contains(c.recorded, name) {
					t.Errorf("%s: %s is back: %v", c.value, name, p.exists(name))
				}
			}
			if st, err := e.Status(context.Background()); err != nil || st.Ignored != c.value {
				t.Errorf("%v, status says %q", err, st.Ignored)
			}
		})
	}
}

func TestAnOptedInFileIsRestoredLikeAnyOther(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.include", ".env")
	p.write(".gitignore", ".env\n")
	p.write(".env", "then")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.write(".env", "now")
	if r := p.putBack(e, s, Op{}); p.read(".env") != "then" || len(r.Kept) > 0 {
		t.Errorf("%q, kept %v", p.read(".env"), r.Kept)
	}
}

func TestWhatIsMissingAndWasNotRecordedIsNamedAsIgnored(t *testing.T) {
	p := newPlace(t, false)
	p.write(".gitignore", "out/\n")
	p.write("out/x", "1")
	e := p.open()
	s := p.snap(e, "one", nil)
	p.remove("out")
	_, err := e.Do(context.Background(), Op{To: s.ID, Paths: []string{"out/x"}})
	if !errors.Is(err, ErrNoSnapshot) || !strings.Contains(err.Error(), `"out/x" (ignored by the rules of the snapshot, and not recorded)`) {
		t.Errorf("%v", err)
	}
}
