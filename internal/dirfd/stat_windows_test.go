package dirfd

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAFileHasANumberAndATimeOfChange(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	was := put(t, d, "f", "1")
	if was.Ino == 0 || was.Ctime == 0 || was.Nlink != 1 || was.Mode != tree.GitFile {
		t.Errorf("a file: %+v", was)
	}
	time.Sleep(20 * time.Millisecond)
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("2"), 0o600))
	must(t, d.SetMtime("f", was.Mtime))
	if now, err := d.Lstat("f"); err != nil || now.Mtime != was.Mtime || now.Ctime == was.Ctime || now.Same(&was) {
		t.Errorf("after a write whose time was set back: %+v, %v; before: %+v", now, err, was)
	}
	must(t, os.Link(filepath.Join(root, "f"), filepath.Join(root, "g")))
	if g, err := d.Lstat("g"); err != nil || g.Ino != was.Ino || g.Nlink != 2 {
		t.Errorf("another name: %+v, %v", g, err)
	}
}

func TestANameInOtherCaseIsAnotherName(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "file", "1")
	must(t, d.Mkdir("dir", 0o755))
	_, seen := d.Lstat("File")
	_, entered := d.OpenDir("Dir")
	for _, err := range []error{seen, entered} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("by a name in other case: %v", err)
		}
	}
	if _, err := d.Create("FILE", 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is made over another: %v", err)
	}
	must(t, d.RenameNoReplace("file", "between")) // as a restore does
	must(t, d.RenameNoReplace("between", "File"))
	if got := names(t, d); strings.Join(got, " ") != "File dir" {
		t.Errorf("names %q", got)
	}
}

func TestReservedAndLongNamesAreNames(t *testing.T) {
	d := open(t, t.TempDir())
	for range 3 {
		long := strings.Repeat("x", 120)
		must(t, d.Mkdir(long, 0o755))
		below, err := d.OpenDir(long)
		must(t, err)
		d = below
	}
	all := []string{"aux.txt", "blank ", "con", "dot.", "nul", "plain"}
	for _, name := range all {
		put(t, d, name, name)
		if data, _, err := ReadBelow(d.path, name, false, 100); err != nil || string(data) != name {
			t.Errorf("%q has %q, %v", name, data, err)
		}
	}
	if got := names(t, d); strings.Join(got, "|") != strings.Join(all, "|") {
		t.Errorf("names %q", got)
	}
	for _, name := range all {
		must(t, d.Remove(name))
	}
}

func TestANameThatTheSystemCannotHoldIsRefused(t *testing.T) {
	d := open(t, t.TempDir())
	put(t, d, "a", "")
	for _, name := range []string{"a:b", `a\b`, "bad\xff", "a::$DATA"} {
		_, seen := d.Lstat(name)
		_, made := d.Create(name, 0o600)
		for _, err := range []error{seen, made, d.Remove(name), d.RenameNoReplace("a", name)} {
			if !errors.Is(err, ErrNotPlain) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

func TestNobodyFailsBecauseAFileIsRead(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "f", "1")
	f, err := d.OpenFile("f")
	must(t, err)
	defer f.Close()
	must(t, os.WriteFile(filepath.Join(root, "f"), []byte("22"), 0o600))
	must(t, os.Rename(filepath.Join(root, "f"), filepath.Join(root, "g")))
	must(t, os.Remove(filepath.Join(root, "g")))
}

func TestAReadOnlyFileIsRenamedAndRemoved(t *testing.T) {
	root := t.TempDir()
	d := open(t, root)
	put(t, d, "f", "1")
	must(t, os.Chmod(filepath.Join(root, "f"), 0o444))
	if st, err := d.Lstat("f"); err != nil || st.Mode != Storable(tree.File|0o400) || st.Mode == tree.GitFile {
		t.Errorf("read-only: %o, %v", st.Mode, err)
	}
	must(t, d.RenameNoReplace("f", "g"))
	must(t, d.Remove("g"))
}

func TestAJunctionIsNotEntered(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "f"), []byte("theirs"), 0o600))
	if out, err := exec.Command("cmd", "/c", "mklink", "/J", filepath.Join(root, "j"), outside).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no junction can be made here: %v: %s", err, out)
	}
	d := open(t, root)
	st, err := d.Lstat("j")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: no junction can be made here, though the system says that it was")
	}
	if err != nil || st.Mode.Type() == tree.Dir || st.Mode.Type() == tree.Symlink {
		t.Errorf("a junction: %o, %v", st.Mode, err)
	}
	if _, err := d.OpenDir("j"); err == nil {
		t.Error("it was entered")
	}
}
