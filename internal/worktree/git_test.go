package worktree

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// settled scans three times: with what the table has, again, and without a
// table. The state may not depend on it.
func (p *place) settled(change ...func(*Config)) *Result {
	p.T.Helper()
	r := p.scan(change...)
	if again := p.scan(change...); again.State != r.State || !slices.Equal(again.Skipped, r.Skipped) {
		p.T.Errorf("again %+v %v, first %+v %v", again.State, again.Skipped, r.State, r.Skipped)
	}
	saved := p.table
	p.table = filepath.Join(p.T.TempDir(), "none.db")
	fresh := p.scan(change...)
	p.table = saved
	if fresh.State != r.State || !slices.Equal(fresh.Skipped, r.Skipped) {
		p.T.Errorf("without a table %+v %v, with it %+v %v", fresh.State, fresh.Skipped, r.State, r.Skipped)
		p.T.Logf("fresh %v\nwith %v", p.recorded(fresh), p.recorded(r))
	}
	return r
}

func (p *place) rm(rel string) { p.T.Helper(); p.must(os.RemoveAll(p.Path(rel))) }

func (p *place) age(rels ...string) {
	old := time.Now().Add(-time.Hour)
	for _, rel := range rels {
		p.must(os.Chtimes(p.Path(rel), old, old))
	}
}

// TestAnIDOfTheIndexIsNotTakenForRawBytes covers an index entry that git made
// under attributes that are gone: its stat data match, its content does not.
func TestAnIDOfTheIndexIsNotTakenForRawBytes(t *testing.T) {
	gittest.Stats(t)
	p := newRepo(t)
	p.Write(".gitattributes", "*.txt text\n")
	p.Write("a.txt", "1\r\n2\r\n")
	p.age("a.txt")
	time.Sleep(60 * time.Millisecond)
	p.Git("add", "-A")
	p.Write(".gitattributes", "")
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
	gittest.Stats(t)
	p := newRepo(t)
	p.Write(".gitattributes", "* text=auto\n")
	p.Write("a", "1\n2\n")
	p.Write("b", "1\r\n2\r\n")
	p.age("a", "b")
	time.Sleep(60 * time.Millisecond)
	p.Git("add", "-A")
	later := time.Now().Add(2 * time.Second) // git's own rule is in whole seconds
	p.must(os.Chtimes(p.Path(".git/index"), later, later))
	r := p.scan()
	p.checkGit(r)
	p.checkDisk(r)
	if r.Counters.Opened != 2 { // the rules, to obey them, and b
		t.Errorf("counters %+v", r.Counters)
	}
	p.Write(".gitattributes", "")
	r = p.scan()
	p.checkDisk(r)
}

func TestIgnoreRulesAreNotReadForAFileThatIsKnown(t *testing.T) {
	p := newRepo(t)
	for _, f := range []string{".gitignore", "d/.gitignore", "d/f"} {
		p.Write(f, "*.o\n")
	}
	p.Write("d/.gitattributes", "*.c text\n")
	p.Git("add", "-A")
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.scan()
	p.Write("d/f", "edited")
	r := p.scan()
	p.checkDisk(r)
	if c := r.Counters; c.Opened != 2 || c.Listed != 0 { // the attributes, to obey them, and f
		t.Errorf("counters %+v", c)
	}
	p.Write("d/new.o", "new")
	r = p.scan()
	p.checkGit(r)
	if c := r.Counters; c.Opened < 2 || c.Listed != 1 { // the ignore rules
		t.Errorf("counters %+v", c)
	}
}

func TestAnIndexThatCannotBeReadIsAnError(t *testing.T) {
	p := newRepo(t)
	p.Write("a", "1")
	p.Git("add", "-A")
	p.Write(".git/index", "not an index")
	cfg := p.config()
	if r, err := Scan(t.Context(), cfg); err == nil {
		t.Errorf("state %+v", r.State)
	}
}
