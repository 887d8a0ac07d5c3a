package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

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
