package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// wantFolded says so where names that differ in case are two.
func (p *place) wantFolded() {
	p.write("case", "")
	if !p.exists("CASE") {
		p.t.Log("NOT TESTED: that the file system takes README for readme, as with make mac")
	}
	p.remove("case")
}

func TestADirectoryInOtherCaseGivesWayToTheFileThatAnUndoBringsBack(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.wantFolded()
		p.write("README/x", "1")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("README")
		p.write("readme", "precious")
		before := p.picture()
		p.putBack(e, s, Op{})
		p.wantThereAndBack(e, before)
	})
}

// Where the rules know case, X.LOG is a plain file.
func TestAFileThatIsSaidToStayIsThere(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.wantFolded()
		p.write(".gitignore", "*.log\n")
		p.write("x.log", "old")
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("x.log")
		p.write("X.LOG", "precious")
		before := p.picture()
		r := p.putBack(e, s, Op{})
		now := p.picture()
		if stays := slices.Contains(keptPaths(r), "x.log"); stays != (now["X.LOG"] != "") || !stays && p.read("x.log") != "old" {
			t.Errorf("kept %v, and there is %v", r.Kept, now)
		}
		if !r.Undo.IsZero() {
			p.wantThereAndBack(e, before)
		}
	})
}

// Where case counts, readme and README may be one file by a hard link, and each is there.
func TestAHardLinkInOtherCaseIsThere(t *testing.T) {
	bothKinds(t, func(t *testing.T, p *place) {
		p.write("README", strings.Repeat("large ", 400_000)) // too large to be recorded, were it ignored
		p.write(".gitignore", "readme\n")
		p.write("readme", "ignored")
		if p.read("README") == "ignored" {
			t.Skip("SKIPPED: case does not count here")
		}
		e := p.open()
		s := p.snap(e, "one", nil)
		p.remove("readme")
		if err := os.Link(filepath.Join(p.dir, "README"), filepath.Join(p.dir, "readme")); err != nil {
			t.Skip("SKIPPED: ", err)
		}
		before := p.picture()
		if r := p.putBack(e, s, Op{}); !slices.Contains(keptPaths(r), "readme") || len(r.Conflicts) > 0 || !r.Undo.IsZero() {
			t.Errorf("%+v", r)
		}
		p.putBack(e, s, Op{Ignored: true})
		if p.read("readme") != "ignored" {
			t.Errorf("readme is not restored")
		}
		p.wantThereAndBack(e, before)
	})
}

// TestRandomNamesInOtherCaseGoThereAndBack restores between states whose names differ in
// case alone, of files and of directories, ignored and not. Whatever a restore does, an
// undo brings back what was there.
func TestRandomNamesInOtherCaseGoThereAndBack(t *testing.T) {
	from := seed.Of(t)
	for i := range uint64(seed.Times(20)) {
		p := newPlace(t, i%2 == 0)
		rng := rand.New(rand.NewPCG(from, i))
		names := []string{"x.log", "X.log", "X.LOG", "readme", "README", "d/x.log", "D/X.LOG", "d/f", "d/F", "D/f"}
		edit := func() {
			for _, name := range []string{"x.log", "readme", "d"} {
				p.remove(name)
				p.remove(strings.ToUpper(name))
				p.remove("X.log")
			}
			for range 1 + rng.IntN(4) {
				name := names[rng.IntN(len(names))]
				if rng.IntN(3) == 0 {
					name += "/below"
				}
				at, _, _ := strings.Cut(name, "/")
				if rng.IntN(2) == 0 || !p.exists(at) {
					p.remove(at)
					p.write(name, fmt.Sprint(rng.IntN(3)))
				}
			}
		}
		p.write(".gitignore", []string{"", "*.log\n", "*.LOG\n"}[rng.IntN(3)])
		e := p.open()
		edit()
		s := p.snap(e, "one", nil)
		for range 4 {
			edit()
			before := p.picture()
			r := p.do(e, Op{To: s.ID, Ignored: rng.IntN(3) == 0})
			after := p.picture()
			for turn, verb := range []string{Undo, Redo, Undo} {
				if r.Undo.IsZero() {
					break
				}
				back := p.do(e, Op{Verb: verb})
				if want := []map[string]string{before, after, before}[turn]; !maps.Equal(p.picture(), want) {
					t.Fatalf("world %d: %s: %v, want %v; the restore %+v of %v, then %+v", i, verb, p.picture(), want, r, p.plan(e, Op{To: s.ID}).Changes, back)
				}
			}
		}
	}
}
