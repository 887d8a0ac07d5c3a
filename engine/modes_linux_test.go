package engine

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

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
		p.must(filepath.WalkDir(e.dir, func(at string, _ fs.DirEntry, err error) error {
			st, serr := os.Lstat(at)
			if err = errors.Join(err, serr); err == nil && st.Mode().Perm()&0o077 != 0 {
				t.Errorf("git %v: %s is %v", git, at, st.Mode())
			}
			return err
		}))
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
