//go:build !windows

package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// settled scans three times: with what the table has, again, and without a
// table. The state may not depend on it.
func (p *place) settled(change ...func(*Config)) *Result {
	p.t.Helper()
	r := p.scan(change...)
	if again := p.scan(change...); again.State != r.State || !slices.Equal(again.Skipped, r.Skipped) {
		p.t.Errorf("again %+v %v, first %+v %v", again.State, again.Skipped, r.State, r.Skipped)
	}
	saved := p.table
	p.table = filepath.Join(p.t.TempDir(), "none.db")
	fresh := p.scan(change...)
	p.table = saved
	if fresh.State != r.State || !slices.Equal(fresh.Skipped, r.Skipped) {
		p.t.Errorf("without a table %+v %v, with it %+v %v", fresh.State, fresh.Skipped, r.State, r.Skipped)
		p.t.Logf("fresh %v\nwith %v", p.recorded(fresh), p.recorded(r))
	}
	return r
}

func (p *place) rm(rel string) { p.t.Helper(); p.must(os.RemoveAll(p.path(rel))) }

func (p *place) age(rels ...string) {
	old := time.Now().Add(-time.Hour)
	for _, rel := range rels {
		p.must(os.Chtimes(p.path(rel), old, old))
	}
}

// A situation is a worktree that becomes another.
type situation struct {
	name          string
	before, after func(p *place)
	except        []string // on disk, but not recorded
}

var situations = []situation{
	{"nothing", func(p *place) {}, func(p *place) {}, nil},
	{"new, changed and deleted files", func(p *place) { p.write("a", "1"); p.write("d/b", "2"); p.write("d/c", "3"); p.run("add", "-A") },
		func(p *place) { p.write("a", "9"); p.rm("d/b"); p.write("e/f/g", "4") }, nil},
	{"a directory becomes a file", func(p *place) { p.write("x/a", "1"); p.write("y", "2"); p.run("add", "-A") },
		func(p *place) { p.rm("x"); p.rm("y"); p.write("x", "f"); p.write("y/b", "g") }, nil},
	{"tracked but ignored", func(p *place) { p.write("a.o", "1"); p.write("out/b", "2"); p.run("add", "-A") },
		func(p *place) {
			p.write(".gitignore", "*.o\nout/\n")
			p.write("a.o", "changed")
			p.write("c.o", "ignored")
			p.write("out/b", "changed")
			p.write("out/d", "ignored")
			p.write("out/deep/e", "ignored")
		}, []string{"c.o", "out/d", "out/deep"}},
	{"tracked and ignored, deleted and made again", func(p *place) {
		p.write(".gitignore", "*.o\n")
		p.write("a.o", "1")
		p.run("add", "-f", "-A", ".")
		p.rm("a.o")
	}, func(p *place) { p.write("a.o", "back"); p.write("b.o", "ignored") }, []string{"b.o"}},
	{"an ignored file is added", func(p *place) { p.write(".gitignore", "*.o\n"); p.write("a.o", "1"); p.write("d/b.o", "1") },
		func(p *place) { p.run("add", "-f", "a.o", "d/b.o") }, nil},
	{"rules change", func(p *place) { p.write("d/a.o", "1"); p.write("d/.gitignore", "*.o\n"); p.write("d/e/b.o", "2") },
		func(p *place) { p.write("d/.gitignore", "!*.o\n*.c\n"); p.write("d/e/c.c", "3") }, []string{"d/e/c.c"}},
	{"rules are a link", func(p *place) { p.write("rules", "*.o\n"); p.must(os.Symlink("rules", p.path(".gitignore"))) },
		func(p *place) { p.write("a.o", "not ignored") }, nil},
	{"rules that ignore themselves", func(p *place) { p.write(".gitignore", ".gitignore\n*.o\n"); p.write("a", "1") },
		func(p *place) { p.write("a.o", "1") }, []string{"a.o"}},
	{"links", func(p *place) { p.must(os.Symlink("nowhere", p.path("l"))); p.write("d/a", "1"); p.run("add", "-A") },
		func(p *place) {
			p.rm("l")
			p.must(os.Symlink("elsewhere", p.path("l")))
			p.must(os.Symlink("d", p.path("m")))
		}, nil},
	{"modes", func(p *place) { p.write("a", "1"); p.write("b", "2"); p.run("add", "-A") },
		func(p *place) { p.must(os.Chmod(p.path("a"), 0o755)); p.must(os.Chmod(p.path("b"), 0o600)) }, nil},
	{"modes are not trusted", func(p *place) {
		p.write("a", "1")
		p.run("add", "-A")
		p.run("update-index", "--chmod=+x", "a")
		p.run("config", "core.fileMode", "false")
	}, func(p *place) { p.write("a", "2"); p.write("b", "3"); p.must(os.Chmod(p.path("b"), 0o755)) }, nil},
	{"links are not trusted", func(p *place) {
		p.must(os.Symlink("target", p.path("l")))
		p.run("add", "-A")
		p.run("config", "core.symlinks", "false")
		p.rm("l")
	}, func(p *place) { p.write("l", "other target") }, nil},
	{"intent to add", func(p *place) { p.write("a", "1"); p.write("b", "2"); p.run("add", "-N", "a", "b") },
		func(p *place) { p.rm("b"); p.write("a", "3") }, nil},
	{"an unmerged path", func(p *place) {
		p.write("a", "base")
		p.run("add", "-A")
		p.run("commit", "-qm", "base")
		p.run("checkout", "-qb", "side")
		p.write("a", "side")
		p.run("commit", "-qam", "side")
		p.run("checkout", "-q", "-")
		p.write("a", "main")
		p.run("commit", "-qam", "main")
		p.try(p.dir, "merge", "side")
	}, func(p *place) { p.write("b", "1") }, nil},
	{"a sparse checkout", func(p *place) {
		for _, f := range []string{"in/a", "out/b", "out/deep/c", "d"} {
			p.write(f, f)
		}
		p.run("add", "-A")
		p.run("commit", "-qm", "all")
		p.run("sparse-checkout", "set", "--no-cone", "/in", "/d")
	}, func(p *place) { p.write("in/a", "changed") }, nil},
	{"a sparse index", func(p *place) {
		for _, f := range []string{"in/a", "out/b", "out/deep/c", "d"} {
			p.write(f, f)
		}
		p.run("add", "-A")
		p.run("commit", "-qm", "all")
		p.run("sparse-checkout", "set", "--cone", "--sparse-index", "in")
	}, func(p *place) { p.write("in/a", "changed"); p.rm("d") }, nil},
	{"a submodule that is not checked out", func(p *place) {
		p.write("a", "1")
		p.run("add", "-A")
		p.run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",sub")
		p.must(os.Mkdir(p.path("sub"), 0o755))
	}, func(p *place) { p.write("b", "2") }, nil},
	{"a submodule that is deleted", func(p *place) {
		p.run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",sub")
	}, func(p *place) { p.write("b", "2") }, nil},
	{"a .git that is no repository", func(p *place) { p.must(os.MkdirAll(p.path("d/.git"), 0o755)); p.write("e/.git", "gitdir: nowhere\n") },
		func(p *place) { p.write("d/a", "1"); p.write("e/b", "2") }, nil},
	{"info/exclude", func(p *place) { p.write("a", "1"); p.write("b", "2") },
		func(p *place) { p.write(".git/info/exclude", "b\n") }, []string{"b"}},
	{"line ends", func(p *place) { p.write("a.txt", "1\r\n"); p.write("b", "2\r\n") },
		func(p *place) { p.write(".gitattributes", "*.txt text\n") }, nil},
	{"line ends below", func(p *place) { p.write("d/a.txt", "1\r\n"); p.write("d/e/b.txt", "2\r\n"); p.run("add", "-A") },
		func(p *place) { p.write("d/.gitattributes", "*.txt text\n"); p.write("d/e/b.txt", "22\r\n"); p.age() }, nil},
	{"attributes that are deleted", func(p *place) { p.write(".gitattributes", "* text\n"); p.write("a", "1\r\n"); p.run("add", "-A") },
		func(p *place) { p.rm(".gitattributes"); p.write("a", "12\r\n"); p.write("b", "2\r\n") }, nil},
	{"autocrlf with carriage returns in the index", func(p *place) {
		p.write("a", "1\r\n2\r\n")
		p.write("b", "1\n")
		p.run("add", "-A")
		p.run("config", "core.autocrlf", "true")
	}, func(p *place) { p.write("a", "3\r\n4\r\n"); p.write("b", "5\r\n"); p.write("c", "6\r\n") }, nil},
	{"names of every kind", func(p *place) { p.write("sp ace/tab\t", "1"); p.write("\xff\xfe", "2"); p.write("-n", "3") },
		func(p *place) {
			p.write("a.b/c", "4")
			p.write("a/c", "5")
			p.write("a0/c", "6")
			p.write("\"q\"\n", "7")
		}, nil},
	{"assume-unchanged is left alone", func(p *place) {
		p.write("a", "1")
		p.run("add", "-A")
		p.run("update-index", "--assume-unchanged", "a")
	},
		func(p *place) { p.write("b", "2") }, nil},
}

// TestTheTreeIsWhatGitMakes holds each situation to a copied index, git add -A
// and git write-tree: at once, after a scan of the state before, and as the
// first scan.
func TestTheTreeIsWhatGitMakes(t *testing.T) {
	for _, c := range situations {
		t.Run(c.name, func(t *testing.T) {
			p := newRepo(t)
			set := func(cfg *Config) {
				cfg.Settings.NoFileMode = first(p.try(p.dir, "config", "core.fileMode")) == "false"
				cfg.Settings.NoSymlinks = first(p.try(p.dir, "config", "core.symlinks")) == "false"
			}
			c.before(p)
			p.checkGit(p.settled(set))
			c.after(p)
			r := p.settled(set)
			p.checkGit(r)
			p.checkDisk(r, c.except...)
			if len(r.Skipped) > 0 {
				t.Errorf("skipped %v", r.Skipped)
			}
		})
	}
}

// TestAnIDOfTheIndexIsNotTakenForRawBytes covers an index entry that git made
// under attributes that are gone: its stat data match, its content does not.
func TestAnIDOfTheIndexIsNotTakenForRawBytes(t *testing.T) {
	p := newRepo(t)
	p.write(".gitattributes", "*.txt text\n")
	p.write("a.txt", "1\r\n2\r\n")
	p.age("a.txt")
	time.Sleep(60 * time.Millisecond)
	p.run("add", "-A")
	p.write(".gitattributes", "")
	p.seen = func(r *Result) {
		if e, ok := r.Lookup("a.txt"); !ok || e.Raw != p.alg.Sum(oid.Blob, []byte("1\r\n2\r\n")) {
			t.Errorf("Lookup = %+v, %v", e, ok)
		}
	}
	r := p.settled()
	p.checkDisk(r)
	p.checkGit(r)
}

func TestFilesThatARuleCouldConvertButDidNotAreNotRead(t *testing.T) {
	p := newRepo(t)
	p.write(".gitattributes", "* text=auto\n")
	p.write("a", "1\n2\n")
	p.write("b", "1\r\n2\r\n")
	p.age("a", "b")
	time.Sleep(60 * time.Millisecond)
	p.run("add", "-A")
	later := time.Now().Add(2 * time.Second) // git's own rule is in whole seconds
	p.must(os.Chtimes(p.path(".git/index"), later, later))
	r := p.scan()
	p.checkGit(r)
	p.checkDisk(r)
	if r.Counters.Opened != 2 { // the rules, to obey them, and b
		t.Errorf("counters %+v", r.Counters)
	}
	p.write(".gitattributes", "")
	r = p.scan()
	p.checkDisk(r)
}

func TestIgnoreRulesAreNotReadForAFileThatIsKnown(t *testing.T) {
	p := newRepo(t)
	for _, f := range []string{".gitignore", "d/.gitignore", "d/f"} {
		p.write(f, "*.o\n")
	}
	p.write("d/.gitattributes", "*.c text\n")
	p.run("add", "-A")
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.scan()
	p.write("d/f", "edited")
	r := p.scan()
	p.checkDisk(r)
	if c := r.Counters; c.Opened != 2 || c.Listed != 0 { // the attributes, to obey them, and f
		t.Errorf("counters %+v", c)
	}
	p.write("d/new.o", "new")
	r = p.scan()
	p.checkGit(r)
	if c := r.Counters; c.Opened < 2 || c.Listed != 1 { // the ignore rules
		t.Errorf("counters %+v", c)
	}
}

func TestAssumeUnchangedIsIgnored(t *testing.T) {
	p := newRepo(t)
	p.write("a", "1")
	p.run("add", "-A")
	p.run("update-index", "--assume-unchanged", "a")
	p.write("a", "an edit that git add would lose")
	p.checkDisk(p.settled())
}

func TestASkipWorktreePathOnDiskIsCaptured(t *testing.T) {
	for _, cone := range []string{"--sparse-index", "--no-sparse-index"} {
		p := newRepo(t)
		for _, f := range []string{"in/a", "out/b", "out/c", "out/deep/d"} {
			p.write(f, f)
		}
		p.run("add", "-A")
		p.run("commit", "-qm", "all")
		whole := p.run("rev-parse", "HEAD^{tree}")
		p.run("sparse-checkout", "set", "--cone", cone, "in")
		r := p.settled()
		if p.gitTree(r) != whole {
			t.Errorf("tree %s, want %s", p.gitTree(r), whole)
		}
		p.checkDisk(r)
		p.write("out/b", "on disk again, and changed")
		r = p.settled()
		p.checkDisk(r)
		p.must(os.WriteFile(p.path("in/a"), []byte("in/a"), 0o644))
		p.write("out/b", "out/b")
		if r = p.settled(); p.gitTree(r) != whole {
			t.Errorf("%s: tree %s, want %s: %v", cone, p.gitTree(r), whole, p.recorded(r))
		}
		p.rm("out/b")
		if r = p.settled(); p.gitTree(r) != whole {
			t.Errorf("%s: tree %s, want %s: %v", cone, p.gitTree(r), whole, p.recorded(r))
		}
		p.checkDisk(r)
	}
}

func TestNestedRepositoriesAreGitlinksInGitAndFilesInTheOverlay(t *testing.T) {
	p := newRepo(t)
	p.write("a", "1")
	p.write("sub/f", "1")
	p.write("sub/.gitignore", "*.o\n")
	p.write("sub/x.o", "ignored there")
	p.write("sub/tracked.o", "tracked there")
	p.run("-C", "sub", "init", "-q")
	p.write("sub/inner/g", "2")
	p.run("-C", "sub/inner", "init", "-q")
	r := p.settled()
	if len(r.Skipped) != 1 || r.Skipped[0].Path != "sub" || !r.Skipped[0].Overlaid {
		t.Errorf("without a commit: skipped %v", r.Skipped)
	}
	p.checkDisk(r, "sub/x.o", "sub/tracked.o")
	p.run("-C", "sub", "add", "-f", "f", "tracked.o")
	p.run("-C", "sub", "commit", "-qm", "one")
	r = p.settled()
	p.checkGit(r)
	p.checkDisk(r, "sub/x.o")
	if !slices.Equal(r.Nested, []string{"sub", "sub/inner"}) || len(r.Skipped) != 0 {
		t.Errorf("nested %v, skipped %v", r.Nested, r.Skipped)
	}
	p.write("sub/f", "changed in place")
	p.run("-C", "sub", "commit", "-qam", "two")
	r = p.settled()
	p.checkGit(r)
	p.checkDisk(r, "sub/x.o")
	p.run("-C", "sub/inner", "add", "g")
	p.run("-C", "sub/inner", "commit", "-qm", "one")
	p.rm("sub/.git")
	r = p.settled()
	p.checkGit(r)
	p.checkDisk(r, "sub/x.o", "sub/tracked.o")
}

func TestNamesThatGitRefusesAreKeptInTheOverlay(t *testing.T) {
	p := newRepo(t)
	p.write("a", "1")
	want := p.gitTree(p.scan())
	p.write(".GIT/config", "x")
	p.write("d/git~1", "y")
	p.write("d/.git ", "z")
	r := p.settled()
	p.checkDisk(r)
	if p.gitTree(r) != want {
		t.Errorf("git tree %v, want %s", r.State.Tree, want)
	}
	var paths []string
	for _, s := range r.Skipped {
		if paths = append(paths, s.Path); !s.Overlaid {
			t.Errorf("%+v is not kept", s)
		}
	}
	if !slices.Equal(paths, []string{".GIT", "d/.git ", "d/git~1"}) {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestAFailingFilterCostsOnePath(t *testing.T) {
	p := newRepo(t)
	p.write(".gitattributes", "*.x filter=f\n")
	p.write("a.x", "1")
	p.write("b", "2")
	p.run("config", "filter.f.clean", "false")
	p.run("config", "filter.f.required", "true")
	r := p.settled()
	if len(r.Skipped) != 1 || r.Skipped[0].Path != "a.x" || !r.Skipped[0].Overlaid {
		t.Errorf("skipped %v", r.Skipped)
	}
	p.checkDisk(r)
	p.run("config", "filter.f.required", "false")
	r = p.settled()
	p.checkDisk(r)
}

func TestAnIndexThatCannotBeReadIsAnError(t *testing.T) {
	p := newRepo(t)
	p.write("a", "1")
	p.run("add", "-A")
	p.write(".git/index", "not an index")
	cfg := p.config()
	if r, err := Scan(t.Context(), cfg); err == nil {
		t.Errorf("state %+v", r.State)
	}
}

func TestGitFreeScansUseTheSameRules(t *testing.T) {
	p := newPlace(t)
	p.alg = oid.BLAKE3
	p.store.alg = p.alg
	p.write(".gitignore", "*.o\n")
	p.write("a.o", "1")
	p.write("d/b", "2")
	r := p.settled()
	p.checkDisk(r, "a.o")
	if len(r.Skipped) != 0 {
		t.Errorf("skipped %v", r.Skipped)
	}
}
