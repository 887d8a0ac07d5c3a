package engine

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"golang.org/x/sys/unix"
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

// accessList is an access control list in the kernel's form, in which user 65534 has bits of
// his own, and the others have theirs.
func accessList(user, group, others byte) []byte {
	mask := user | group
	return []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00" + string(user) + "\x00\xfe\xff\x00\x00" +
		"\x04\x00" + string(group) + "\x00\xff\xff\xff\xff" + "\x10\x00" + string(mask) + "\x00\xff\xff\xff\xff" + "\x20\x00" + string(others) + "\x00\xff\xff\xff\xff")
}

func TestAFileThatAListOpensToOneUserIsNotOpenToAll(t *testing.T) {
	p := newOpenPlace(t)
	p.put("lent", "for one reader", 0o600)
	if err := unix.Setxattr(filepath.Join(p.dir, "lent"), "system.posix_acl_access", accessList(4, 0, 0), 0); err != nil {
		t.Skipf("SKIPPED: no access control lists here: %v", err)
	}
	p.put("open", "for all", 0o644)
	p.must(os.Mkdir(filepath.Join(p.dir, "dir"), 0o700))
	p.put("dir/lent", "for one reader too", 0o644)
	p.must(unix.Setxattr(filepath.Join(p.dir, "dir"), "system.posix_acl_access", accessList(5, 0, 0), 0))
	e := p.open()
	r := p.take(e)
	for name, want := range map[string]bool{"lent": false, "dir/lent": false, "open": true} {
		if got := p.inTree(e, r, name); got != want {
			t.Errorf("%s in git: %v, want %v", name, got, want)
		}
	}
	p.must(os.Remove(filepath.Join(p.dir, "lent")))
	p.do(e, Op{To: r.ID})
	if got := p.read("lent"); got != "for one reader" {
		t.Errorf("restored: %q", got)
	}
}

func TestUnderADefaultListOfItsDirectoryTheStoreIsClosed(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		above := p.home
		if git {
			above = filepath.Join(p.dir, ".git")
		}
		open := accessList(7, 7, 7)
		if err := unix.Setxattr(above, "system.posix_acl_default", open, 0); err != nil {
			t.Skipf("SKIPPED: no access control lists here: %v", err)
		}
		e := p.open()
		first := p.snap(e, "one", nil)
		p.write("file", "another")
		p.snap(e, "two", nil)
		p.do(e, Op{To: first.ID})
		p.wantClosed(e)
		if os.Geteuid() != 0 {
			t.Log("SKIPPED: only root can become another user and try")
			continue
		}
		for _, name := range []string{storeFile, statTableFile} {
			out, err := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", filepath.Join(e.dir, name)).Output()
			if err == nil || len(out) > 0 {
				t.Errorf("git %v: another user reads %d bytes of %s", git, len(out), name)
			}
		}
	}
}

// wantClosed checks that nobody else may come to the store, nor read any file beside it.
func (p *place) wantClosed(e *Engine) {
	p.t.Helper()
	p.must(filepath.WalkDir(e.dir, func(at string, _ fs.DirEntry, err error) error {
		st, serr := os.Lstat(at)
		if err = errors.Join(err, serr); err == nil && st.Mode().Perm()&0o077 != 0 {
			p.t.Errorf("%s is %v", at, st.Mode())
		}
		return err
	}))
}

// An archive keeps the modes of the files in it. Those of a store are closed to others
// as soon as it is used, so that nobody reads or locks them.
func TestAStoreThatIsOpenToOthersIsClosed(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		if git {
			p.must(os.Chmod(filepath.Dir(filepath.Dir(p.dir)), 0o755))
		}
		p.write("file", "one")
		e := p.open()
		p.snap(e, "one", nil)
		lock, err := e.lockOperations(t.Context())
		p.must(errors.Join(err, lock.Unlock(), e.Close()))
		p.must(errors.Join(os.Chmod(e.dir, 0o755), os.Chmod(filepath.Dir(e.dir), 0o755)))
		list, err := os.ReadDir(e.dir)
		p.must(err)
		for _, f := range list {
			p.must(os.Chmod(filepath.Join(e.dir, f.Name()), 0o666))
		}
		p.put("secret", "the private words", 0o600)
		e = p.open()
		p.snap(e, "two", nil)
		lock, err = e.lockOperations(t.Context())
		p.must(errors.Join(err, lock.Unlock()))
		p.wantClosed(e)
		if !git || os.Geteuid() != 0 {
			t.Log("SKIPPED: only root can become another user, who finds an open way to a repository")
			continue
		}
		for _, args := range [][]string{{"cat", filepath.Join(e.dir, storeFile)}, {"flock", "-n", filepath.Join(e.dir, storeFile+".lock"), "true"}} {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("another user did %v: %d bytes", args, len(out))
			}
		}
	}
}

// A prune, a purge and a sync write the store and its notes anew, and git its packs:
// whoever runs them under an open umask opens nothing that was closed.
func TestWhatIsWrittenAnewUnderAnotherUmaskStaysClosed(t *testing.T) {
	p := newOpenPlace(t)
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	p.put("secret", "the private words", 0o600)
	p.write("file", "one")
	e := p.open()
	p.snap(e, "one", nil)
	p.write("file", "two")
	p.snap(e, "two", nil)
	p.write("file", "three")
	p.snap(e, "three", nil)
	syscall.Umask(0)
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	_, err := e.Purge(t.Context(), []string{"file"}, false)
	p.must(err)
	p.sync(e)
	p.git("gc", "-q", "--prune=now")
	p.write("file", "four")
	p.snap(e, "four", nil)
	p.wantClosed(e)
	if _, err := p.tryGit("cat-file", "-e", p.gitBlob("the private words")); err == nil {
		t.Error("the private bytes are in git now")
	}
}

// gitBlob is the id that git has for a text.
func (p *place) gitBlob(text string) string { return oid.SHA1.Sum(oid.Blob, []byte(text)).String() }
