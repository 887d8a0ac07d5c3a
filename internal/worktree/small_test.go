package worktree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// few is a policy that records small ignored files within limits.
type few struct{ limits Small }

func (few) Place(string, bool, bool, int64) (Place, string) { return Usual, "" }
func (few) Full(int) string                                 { return "" }
func (f few) Small() *Small                                 { return &f.limits }
func (few) Digest() uint64                                  { return 1 }

// within returns limits that these tests can meet.
func limited(change ...func(*Small)) func(*Config) {
	f := few{Small{FileBytes: 100, DirFiles: 4, DirBytes: 250, Files: 8, Bytes: 1000, Product: func(name string) bool { return path.Ext(name) == ".o" }}}
	for _, set := range change {
		set(&f.limits)
	}
	return func(c *Config) { c.Policy = f }
}

// ignoredOf returns the recorded files whose names say that they are ignored.
func (p *place) ignoredOf(r *Result) (out []string) {
	for name, what := range p.recorded(r) {
		if base := path.Base(name); strings.HasPrefix(base, "i") && strings.HasPrefix(what, "100") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (p *place) wantIgnored(when string, r *Result, want ...string) {
	p.T.Helper()
	if got := p.ignoredOf(r); !slices.Equal(got, want) {
		p.T.Errorf("%s: recorded %q, not %q", when, got, want)
	}
}

func TestSmallIgnoredFilesAreRecordedInTheOverlayAlone(t *testing.T) {
	p := newRepo(t)
	p.Write(".gitignore", "i*\n*.o\nout/\n")
	p.Write("i1", "one")
	p.Write("d/i2", "two")
	p.Write("d/large/i3", strings.Repeat("3", 101))
	p.Write("d/x.o", "a product")
	p.Write("out/i4", "in an ignored directory")
	if gittest.HasLinks() {
		p.must(os.Symlink("i1", p.Path("d/i5")))
	}
	p.seen = func(r *Result) {
		for _, name := range []string{"i1", "d/i2"} {
			if at, ok := r.Lookup(name); !ok || !at.Unasked || at.Tracked || !at.Git.IsZero() {
				t.Errorf("%s: %+v", name, at)
			}
		}
	}
	r := p.settled(limited())
	p.seen = func(*Result) {}
	p.checkGit(r)
	p.wantIgnored("at first", r, "d/i2", "i1")
	if _, ok := p.recorded(r)["d/i5"]; !ok && gittest.HasLinks() {
		t.Error("an ignored link is not recorded")
	}
	p.Write("d/large/i3", "smaller")
	p.wantIgnored("when one shrank", p.scan(limited()), "d/i2", "d/large/i3", "i1")
	p.wantIgnored("without limits", p.scan(func(c *Config) { c.Policy = limit(0) }))
}

// What is over the limits is not opened; an ignored directory is not listed; and
// where a build has filled a directory, the next scan does nothing there.
func TestWhatIsOverTheLimitsIsNotOpened(t *testing.T) {
	p := newPlace(t)
	p.Write(".gitignore", "i*\n*.o\nout/\n")
	for _, dir := range []string{"built", "many"} {
		p.Write(dir+"/source", "1")
	}
	p.Write("large/source", "1")
	p.Write("large/i0", strings.Repeat("0", 101))
	for i := range 5 {
		p.Write(fmt.Sprintf("built/%d.o", i), "1")
		p.Write(fmt.Sprintf("many/i%d", i), "1")
		p.Write(fmt.Sprintf("out/deep/i%d", i), "1")
	}
	opened := p.scan(limited()).Counters
	if opened.Opened != 5 { // the sources, and .gitignore twice: for its rules, and to record it
		t.Errorf("opened %d files", opened.Opened)
	}
	if opened.Dirs != 4 || opened.Listed != 4 {
		t.Errorf("went into %d directories", opened.Dirs)
	}
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.scan(limited())
	again := p.scan(limited())
	if c := again.Counters; c.Opened != 1 || c.Listed != 1 || c.Stats != 5 { // the directory of the large one, which may shrink, is listed, by the rules of .gitignore
		t.Errorf("the next scan: %+v", c)
	}
}

func TestADirectoryKeepsTheSmallestOfItsIgnoredFiles(t *testing.T) {
	p := newPlace(t)
	p.Write(".gitignore", "i*\n")
	p.Write("d/i1", strings.Repeat("1", 99))
	p.Write("d/i2", strings.Repeat("2", 90))
	p.Write("d/i3", strings.Repeat("3", 80))
	p.Write("d/i4", strings.Repeat("4", 70))
	p.wantIgnored("of 339 bytes", p.settled(limited()), "d/i2", "d/i3", "d/i4")
	p.Write("d/i5", "5")
	p.wantIgnored("of five files", p.settled(limited()))
	p.must(os.Remove(p.Path("d/i2")))
	p.wantIgnored("of four again", p.settled(limited()), "d/i1", "d/i3", "d/i4", "d/i5")
}

// Beyond the limits of the worktree the deepest levels go first, and come back.
func TestTheDeepestLevelsAreLeftOutFirst(t *testing.T) {
	p := newPlace(t)
	p.Write(".gitignore", "i*\n")
	p.Write("i0", "1")
	all := []string{"i0"}
	for _, dir := range []string{"a", "b", "a/c", "b/c"} {
		for i := range 2 {
			all = append(all, fmt.Sprintf("%s/i%d", dir, i))
			p.Write(all[len(all)-1], "1")
		}
	}
	slices.Sort(all)
	top := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return strings.Count(name, "/") > 1 })
	p.wantIgnored("of nine files", p.settled(limited()), top...)
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.scan(limited())
	if c := p.scan(limited()).Counters; c.Listed != 0 || c.Opened != 0 {
		t.Errorf("the next scan: %+v", c)
	}
	p.now = 0
	p.must(os.Remove(p.Path("b/c/i0")))
	p.wantIgnored("of eight", p.settled(limited()), slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "b/c/i0" })...)
	p.Write("a/c/i0", strings.Repeat("1", 100))
	p.wantIgnored("of too many bytes", p.settled(limited(func(s *Small) { s.Bytes = 50 })), top...)
	p.Write("a/c/i0", "1")
	p.wantIgnored("of few again", p.settled(limited(func(s *Small) { s.Bytes = 50 })), slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "b/c/i0" })...)
}

// What is recorded depends on the files, not on what was there before: a scan
// with the table of the last one finds what a scan without any does.
func TestWhichIgnoredFilesAreRecordedDependsOnTheFilesAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 1))
	p := newRepo(t)
	p.Write(".gitignore", "i*\n*.o\nout\n")
	dirs := []string{"", "a/", "a/b/", "a/b/c/", "d/", "d/out/", "e/f/g/h/"}
	limits := limited(func(s *Small) { s.Bytes = 400 })
	for step := range seed.Times(120) {
		for range 1 + rng.IntN(4) {
			name := dirs[rng.IntN(len(dirs))] + []string{"i1", "i2", "i3", "i4", "i5", "x.o", "file"}[rng.IntN(7)]
			switch rng.IntN(5) {
			case 0:
				os.RemoveAll(p.Path(name))
			case 1:
				os.RemoveAll(p.Path(path.Dir(name)))
				p.must(os.MkdirAll(p.Dir, 0o755))
				if path.Dir(name) == "." {
					p.Git("init", "-q", ".")
					p.Write(".gitignore", "i*\n*.o\nout\n")
				}
			case 2:
				p.Write(name, "1")
				p.Try("add", "-f", name)
			default:
				p.Write(name, strings.Repeat("x", rng.IntN(130)))
			}
		}
		r := p.scan(limits)
		p.checkGit(r)
		fresh := p.fresh(limits)
		if got, want := p.recorded(r), p.recorded(fresh); !maps.Equal(got, want) {
			t.Fatalf("step %d: with the table %v, without %v", step, got, want)
		}
	}
}

// fresh scans without a table.
func (p *place) fresh(change ...func(*Config)) *Result {
	p.T.Helper()
	other := *p
	other.table = p.T.TempDir() + "/stat.db"
	return other.scan(change...)
}
