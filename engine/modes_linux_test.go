package engine

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

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
