package engine

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withLargeDir runs a test in a directory with a repository and in one
// without; a directory is large with five untracked files.
func withLargeDir(t *testing.T, run func(t *testing.T, p *place, e *Engine)) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.env["REWIND_LARGE_DIR"] = "5"
		run(t, p, p.open())
	})
}

// fill writes numbered files into a directory, from the first up to the last.
func (p *place) fill(dir, text string, first, last int) {
	p.t.Helper()
	for i := first; i <= last; i++ {
		p.write(fmt.Sprintf("%s/%d", dir, i), fmt.Sprint(text, i))
	}
}

// below reads all files below a directory.
func (p *place) below(dir string) map[string]string {
	p.t.Helper()
	out := map[string]string{}
	p.must(filepath.WalkDir(filepath.Join(p.dir, dir), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(p.dir, path)
		out[filepath.ToSlash(rel)] = p.read(rel)
		return err
	}))
	return out
}

func (p *place) same(what string, got, want map[string]string) {
	p.t.Helper()
	if !maps.Equal(got, want) {
		p.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestALargeDirectoryIsNamedAndNeitherDeletedNorOverwritten(t *testing.T) {
	withLargeDir(t, func(t *testing.T, p *place, e *Engine) {
		first := p.snap(e, "one", nil)
		p.fill("data", "v", 1, 5)
		p.write("data/below/x", "x")
		p.fill("made/since/deep", "v", 1, 7)
		p.write("made/since/file", "1")
		data, made := p.below("data"), p.below("made/since/deep")
		second := p.snap(e, "two", nil)
		if got := pathsOf(second.Skipped); !slices.Equal(got, []string{"data", "made/since/deep"}) || !strings.Contains(second.Skipped[0].Reason, "rewind.largeDir") {
			t.Fatalf("skipped %+v", second.Skipped)
		}
		p.fill("data", "w", 6, 7)
		maps.Copy(data, map[string]string{"data/6": "w6", "data/7": "w7"})
		if again, err := e.Snapshot(context.Background(), nil); err != nil || !again.Reused {
			t.Errorf("%v: one more file in it made a snapshot", err)
		}
		for _, s := range []*Recorded{first, second, first} {
			p.do(e, Op{To: s.ID})
			p.same("data", p.below("data"), data)
			p.same("made", p.below("made/since/deep"), made)
		}
		if p.read("file") != "one" || p.exists("made/since/file") {
			t.Error("the rest was not restored")
		}
		p.undo(e)
		p.same("data after the undo", p.below("data"), data)
		if p.read("file") != "two" || p.read("made/since/file") != "1" {
			t.Error("the rest was not taken back")
		}
		p.wantClean(e)
	})
}

func TestADirectoryThatBecameLargeKeepsWhatWasAddedAndLosesNoByte(t *testing.T) {
	withLargeDir(t, func(t *testing.T, p *place, e *Engine) {
		p.fill("data", "old", 1, 4)
		first := p.snap(e, "one", nil)
		p.fill("data", "new", 2, 9) // 1 is as it was; 2 to 4 are other bytes; 5 to 9 are more
		p.must(os.Remove(filepath.Join(p.dir, "data/4")))
		before := p.below("data")
		if second := p.snap(e, "two", nil); !slices.Equal(pathsOf(second.Skipped), []string{"data"}) {
			t.Fatalf("skipped %+v", second.Skipped)
		}
		p.do(e, Op{To: first.ID})
		after := map[string]string{"data/1": "old1", "data/2": "old2", "data/3": "old3", "data/4": "old4"}
		for i := 5; i <= 9; i++ {
			after[fmt.Sprint("data/", i)] = fmt.Sprint("new", i)
		}
		p.same("restored", p.below("data"), after)
		p.undo(e)
		p.same("taken back", p.below("data"), before)
		p.do(e, Op{Verb: Redo})
		p.same("done again", p.below("data"), after)
		p.undo(e)
		p.same("and taken back again", p.below("data"), before)
		p.wantClean(e)
	})
}

func TestADirectoryThatIsNoLongerLargeKeepsWhatTheSnapshotLeftOut(t *testing.T) {
	withLargeDir(t, func(t *testing.T, p *place, e *Engine) {
		p.fill("data", "v", 1, 6)
		first := p.snap(e, "one", nil)
		for i := 4; i <= 6; i++ {
			p.must(os.Remove(filepath.Join(p.dir, fmt.Sprint("data/", i))))
		}
		p.write("data/2", "changed")
		if second := p.snap(e, "two", nil); len(second.Skipped) > 0 {
			t.Fatalf("skipped %+v", second.Skipped)
		}
		before := p.below("data")
		r := p.do(e, Op{To: first.ID})
		p.same("restored", p.below("data"), before)
		if kept := pathsOf(r.Kept); len(kept) == 0 || !strings.HasPrefix(kept[0], "data") {
			t.Errorf("kept %+v", r.Kept)
		}
		p.undo(e)
		p.same("taken back", p.below("data"), before)
	})
}

func TestADirectoryThatIsLeftOutDoesNotMakeWayForAFile(t *testing.T) {
	withLargeDir(t, func(t *testing.T, p *place, e *Engine) {
		for _, name := range []string{"data", "out", "above"} {
			p.write(name, "a file")
		}
		first := p.snap(e, "one", nil)
		for _, name := range []string{"data", "out", "above"} {
			p.must(os.Remove(filepath.Join(p.dir, name)))
		}
		p.env["REWIND_EXCLUDE"] = "out/"
		e = p.open()
		p.fill("data", "v", 1, 6)
		p.fill("out", "v", 1, 1)
		p.fill("above/data", "v", 1, 6)
		before := []map[string]string{p.below("data"), p.below("out"), p.below("above")}
		p.snap(e, "two", nil)
		r := p.do(e, Op{To: first.ID})
		if got := pathsOf(r.Conflicts); !slices.Equal(got, []string{"data", "out", "above"}) {
			t.Errorf("conflicts %+v", r.Conflicts)
		}
		for i, name := range []string{"data", "out", "above"} {
			p.same(name, p.below(name), before[i])
		}
		p.undo(e)
		for i, name := range []string{"data", "out", "above"} {
			p.same(name+" after the undo", p.below(name), before[i])
		}
	})
}

func TestTrackedFilesOfALargeDirectoryAreRestored(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.largeDir", "5")
	p.write("src/tracked", "1")
	p.write("src/deep/tracked", "1")
	p.commit("one")
	p.fill("src", "v", 1, 6)
	p.write("src/deep/untracked", "u")
	e := p.open()
	first := p.snap(e, "one", nil)
	if !slices.Equal(pathsOf(first.Skipped), []string{"src"}) {
		t.Fatalf("skipped %+v", first.Skipped)
	}
	p.write("src/tracked", "2")
	p.must(os.Remove(filepath.Join(p.dir, "src/deep/tracked")))
	p.write("src/1", "changed")
	p.do(e, Op{To: first.ID})
	want := map[string]string{"src/tracked": "1", "src/deep/tracked": "1", "src/deep/untracked": "u", "src/1": "changed"}
	for i := 2; i <= 6; i++ {
		want[fmt.Sprint("src/", i)] = fmt.Sprint("v", i)
	}
	p.same("restored", p.below("src"), want)
	p.undo(e)
	want["src/tracked"] = "2"
	delete(want, "src/deep/tracked")
	p.same("taken back", p.below("src"), want)
	p.wantClean(e)
}

func TestWhatIsLeftOutIsNotSaidToBeDeleted(t *testing.T) {
	withLargeDir(t, func(t *testing.T, p *place, e *Engine) {
		differs := func(from, to *Snapshot) string {
			d := p.diff(e, from, to)
			var out []string
			for _, c := range d.Changes {
				out = append(out, fmt.Sprintf("%c %s", c.Status(), c.Path))
			}
			return strings.Join(out, ", ")
		}
		p.fill("data", "v", 1, 4)
		p.write("log", "short")
		p.write("build/old", "b")
		first := p.snap(e, "one", nil)
		p.fill("data", "w", 4, 9)
		p.must(os.Remove(filepath.Join(p.dir, "data/1")))
		p.write("log", strings.Repeat("long", 1000))
		p.write(".gitignore", "build/\n")
		p.env["REWIND_MAX_FILE_SIZE"] = "1k"
		e = p.open()
		if got, want := differs(first.Snapshot, nil), "A .gitignore, D data/1, M data/4, M log"; got != want {
			t.Errorf("with the worktree %s, want %s", got, want)
		}
		p.must(os.Remove(filepath.Join(p.dir, ".gitignore")))
		p.write("build/old", "c")
		second := p.snap(e, "one", nil)
		if got, want := differs(first.Snapshot, second.Snapshot), "M build/old"; got != want {
			t.Errorf("the snapshots: %s, want %s", got, want)
		}
		for i := 2; i <= 6; i++ {
			p.must(os.Remove(filepath.Join(p.dir, fmt.Sprint("data/", i))))
		}
		if got := differs(second.Snapshot, nil); got != "" {
			t.Errorf("since the second: %s", got)
		}
	})
}

func TestWhatIsLeftOutIsNotSaidToBeDeletedWhereAnotherNoteIsOnThePath(t *testing.T) {
	p := newPlace(t, true)
	p.env["REWIND_LARGE_DIR"] = "5"
	e := p.open()
	p.fill("inner", "v", 1, 4)
	p.git("init", "-q", "inner")
	first := p.snap(e, "one", nil)
	p.fill("inner", "v", 5, 9)
	second := p.snap(e, "one", nil)
	if !slices.Equal(pathsOf(second.Skipped), []string{"inner", "inner"}) {
		t.Fatalf("skipped %+v", second.Skipped)
	}
	d := p.diff(e, first.Snapshot, second.Snapshot)
	if len(d.Changes) > 0 {
		t.Errorf("said to be changed: %+v", d.Changes)
	}
}
