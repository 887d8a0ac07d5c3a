package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that all may read is nobody's business in a directory that is closed.
func TestAnExportIsAsPrivateAsTheWorktree(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	p := newPlace(t, false)
	p.write("a", "1")
	e := p.open()
	s := p.take(e)
	above, open := t.TempDir(), true
	for at := p.dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if at != p.dir && strings.HasPrefix(at, filepath.Clean(os.TempDir())+"/") { // the test's own
			p.must(os.Chmod(at, 0o755))
		}
		st, err := os.Stat(at)
		p.must(err)
		open = open && st.Mode()&0o011 == 0o011
	}
	for i, closed := range []bool{true, false} {
		if !closed && !open {
			t.Log("SKIPPED in part: a directory above the temporary one is closed to others")
			continue
		}
		perm, want := os.FileMode(0o755), os.FileMode(0o755)
		if closed {
			perm, want = 0o700, 0o700
		}
		p.must(os.Chmod(p.dir, perm))
		out := filepath.Join(above, "new", string(rune('a'+i)))
		if _, err := e.Export(t.Context(), s.Snapshot, out); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(out)
		p.must(err)
		if st.Mode().Perm() != want {
			t.Errorf("the worktree is %v: the export has %v, want %v", perm, st.Mode().Perm(), want)
		}
	}
}
