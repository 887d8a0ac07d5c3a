package engine

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// newOpenPlace is a repository that every user of the machine can enter.
func newOpenPlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t, true)
	p.must(os.Chmod(filepath.Dir(filepath.Dir(p.dir)), 0o755)) // testing made it for its owner alone
	for at := p.dir; ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		if p.must(err); st.Mode().Perm()&0o011 != 0o011 {
			t.Skipf("SKIPPED: others cannot enter %s, so nothing below it is open to them", at)
		}
		if at == filepath.Dir(at) {
			return p
		}
	}
}

// put makes a file with permission bits.
func (p *place) put(name, text string, mode os.FileMode) {
	p.t.Helper()
	p.write(name, text)
	p.must(os.Chmod(filepath.Join(p.dir, name), mode))
}

func (p *place) inTree(e *Engine, r *Recorded, name string) bool {
	p.t.Helper()
	n, _, err := tree.Lookup(tree.State{Tree: r.Tree}, name, e.alg, e.objects.Trees(p.t.Context(), objects.Reading{}))
	p.must(err)
	return n.Git.Name != ""
}

func TestWhatOthersMayNotReadBecomesNoObjectThatTheyMay(t *testing.T) {
	p := newOpenPlace(t)
	p.put("tracked", "tracked", 0o600)
	p.commit("one")
	p.put("tracked", "tracked and new", 0o600)
	private := map[string]os.FileMode{"secret": 0o600, "group": 0o640, "others": 0o604, "program": 0o700, "closed/open": 0o644, "closed/deep/open": 0o644}
	for name, mode := range private {
		p.put(name, "private "+name, mode)
	}
	p.must(os.Chmod(filepath.Join(p.dir, "closed"), 0o700))
	p.must(os.Symlink("where", filepath.Join(p.dir, "closed", "link")))
	p.put("open", "open", 0o644)
	e := p.open()
	first := p.take(e)
	for name := range private {
		if p.inTree(e, first, name) || p.gitHas(e, "private "+name) {
			t.Errorf("%s is in git", name)
		}
	}
	if p.inTree(e, first, "closed/link") || p.gitHas(e, "where") || p.inTree(e, first, "closed") {
		t.Error("what lies in a closed directory is in git")
	}
	if !p.inTree(e, first, "open") || !p.inTree(e, first, "tracked") || !p.gitHas(e, "tracked and new") {
		t.Error("what others may read, or git tracks, is not in git")
	}
	if again := p.take(e); again.ID != first.ID {
		t.Error("nothing has changed, and it is another snapshot")
	}
	for name := range private {
		p.must(os.Remove(filepath.Join(p.dir, name)))
	}
	p.do(e, Op{To: first.ID})
	for name, mode := range private {
		st, err := os.Stat(filepath.Join(p.dir, name))
		if p.must(err); p.read(name) != "private "+name || st.Mode().Perm() != mode {
			t.Errorf("%s came back as %q, %v", name, p.read(name), st.Mode())
		}
	}
	p.wantClean(e)

	p.must(os.Chmod(filepath.Join(p.dir, "secret"), 0o644))
	p.must(os.Chmod(filepath.Join(p.dir, "closed"), 0o755))
	opened := p.take(e)
	for _, name := range []string{"secret", "closed/open", "closed/link", "closed/deep/open"} {
		if !p.inTree(e, opened, name) {
			t.Errorf("%s is open now, and not in git", name)
		}
	}
	if p.inTree(e, opened, "group") {
		t.Error("what is closed still is in git")
	}
}

// Where a directory above the repository is closed nothing is kept out of git. What is
// closed in it does not count: a collection writes objects anew, and a project is opened.
func TestWhereNobodyReachesTheObjectsNothingIsKeptOut(t *testing.T) {
	for what, c := range map[string]struct {
		close func(*place)
		all   bool
	}{
		"above the worktree": {func(p *place) { p.must(os.Chmod(filepath.Dir(p.dir), 0o700)) }, true},
		"the worktree":       {func(p *place) { p.must(os.Chmod(p.dir, 0o700)) }, false},
		"the git directory":  {func(p *place) { p.must(os.Chmod(filepath.Join(p.dir, ".git"), 0o700)) }, false},
		"the objects":        {func(p *place) { p.must(os.Chmod(filepath.Join(p.dir, ".git", "objects"), 0o700)) }, false},
		"each object":        {func(p *place) { p.git("config", "core.sharedRepository", "0600") }, false},
		"the umask":          {func(p *place) { old := syscall.Umask(0o077); p.t.Cleanup(func() { syscall.Umask(old) }) }, false},
		"by somebody else": {func(p *place) {
			if os.Geteuid() != 0 {
				p.t.Skip("SKIPPED: only root can give a directory to another user")
			}
			p.must(errors.Join(os.Chmod(filepath.Dir(p.dir), 0o700), os.Chown(filepath.Dir(p.dir), somebody, somebody)))
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			p := newOpenPlace(t)
			p.put("secret", "private", 0o600)
			p.put("open", "open", 0o644)
			e := p.open()
			if r := p.take(e); p.inTree(e, r, "secret") {
				t.Error("it is in git while others read the objects")
			}
			c.close(p)
			e = p.open()
			r := p.take(e)
			if p.inTree(e, r, "secret") != c.all || p.gitHas(e, "private") != c.all {
				t.Errorf("in git: %v, want %v", !c.all, c.all)
			}
			if !p.inTree(e, r, "open") {
				t.Error("what is open is kept out")
			}
		})
	}
}

// A linked worktree may be closed where the repository is not.
func TestAClosedWorktreeOfAnOpenRepositoryIsPrivate(t *testing.T) {
	p := newOpenPlace(t)
	p.write("file", "one")
	p.commit("one")
	closed := filepath.Join(filepath.Dir(p.dir), "closed")
	p.must(os.Mkdir(closed, 0o700))
	p.git("worktree", "add", "-q", filepath.Join(closed, "w"))
	p.must(os.WriteFile(filepath.Join(closed, "w", "note"), []byte("private"), 0o644))
	e := p.openAt(filepath.Join(closed, "w"))
	if r := p.take(e); p.inTree(e, r, "note") || !p.inTree(e, r, "file") {
		t.Error("git has what nobody else may read, or has not what it tracks")
	}
}
