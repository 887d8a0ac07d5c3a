package depot

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOfManyWhoWriteOneFileOneDoesAlsoWhereThereAreNoLinks(t *testing.T) {
	for range 50 {
		d := &dir{root: t.TempDir(), link: func(string, string) error { return os.ErrPermission }}
		var wg sync.WaitGroup
		var wrote atomic.Int32
		var text atomic.Value
		for i := range 8 {
			wg.Go(func() {
				mine := string(rune('a' + i))
				if d.Put(t.Context(), "config", []byte(mine)) == nil {
					wrote.Add(1)
					text.Store(mine)
				}
			})
		}
		wg.Wait()
		got, err := d.Get(t.Context(), "config", 0, 0)
		if err != nil || wrote.Load() != 1 || string(got) != text.Load() {
			t.Fatalf("%d wrote it, and it is %q, not %v: %v", wrote.Load(), got, text.Load(), err)
		}
		if list, err := os.ReadDir(d.root); err != nil || len(list) != 1 {
			t.Fatalf("it leaves %v, %v", list, err)
		}
	}
	d := &dir{root: t.TempDir(), link: func(string, string) error { return os.ErrPermission }}
	if err := os.WriteFile(filepath.Join(d.root, "config-tmp-claim"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), "config", nil); err == nil || errors.Is(err, ErrExists) {
		t.Errorf("beside the claim of another one it says %v", err)
	}
}

// Under the name of a mount point lies another directory once the disk is gone, which may be on the same file system.
func TestNothingIsWrittenWhereTheDiskWasTakenAway(t *testing.T) {
	for _, config := range []string{"", "of a repository"} {
		d := &dir{root: filepath.Join(t.TempDir(), "d")}
		put := func(name, text string) {
			t.Helper()
			if err := d.Put(t.Context(), name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		put("data/aa/one", "1")
		if config != "" {
			put("config", config)
		}
		away := func(what string) {
			t.Helper()
			if err := d.Put(t.Context(), "data/aa/two", []byte("2")); err == nil || errors.Is(err, ErrExists) {
				t.Errorf("%s: a file is put: %v", what, err)
			}
			if _, err := d.Get(t.Context(), "data/aa/one", 0, 0); err == nil || errors.Is(err, ErrNotThere) {
				t.Errorf("%s: a file is read: %v", what, err)
			}
			if list, err := d.List(t.Context(), "data"); err == nil {
				t.Errorf("%s: it lists %v", what, list)
			}
			if err := d.Delete(t.Context(), "data/aa/one"); err == nil {
				t.Errorf("%s: a file is deleted", what)
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Rename(d.root, d.root+"2"))
		away("gone")
		if _, err := os.Lstat(d.root); err == nil {
			t.Error("a directory that has gone was made anew")
		}
		must(os.Mkdir(d.root, 0o700))
		away("an empty one in its place")
		must(os.WriteFile(filepath.Join(d.root, "config"), []byte("of another one"), 0o600))
		away("another repository in its place")
		must(errors.Join(os.RemoveAll(d.root), os.Rename(d.root+"2", d.root)))
		put("data/aa/back", "3")
		if config == "" {
			continue
		}
		must(os.CopyFS(d.root+"3", os.DirFS(d.root))) // as a share looks that counts its files anew
		must(errors.Join(os.RemoveAll(d.root), os.Rename(d.root+"3", d.root)))
		put("data/aa/again", "4")
		if list, err := d.List(t.Context(), "data"); err != nil || len(list) != 3 {
			t.Errorf("once it is back it lists %v, %v", list, err)
		}
	}
}

// Who has moved the packs to another disk, with a link in their place, is told: that disk may be away while this one is there.
func TestAFolderThatIsALinkIsRefusedInWords(t *testing.T) {
	top := t.TempDir()
	d, disk := &dir{root: filepath.Join(top, "d")}, filepath.Join(top, "disk")
	if err := errors.Join(os.Mkdir(d.root, 0o700), os.MkdirAll(filepath.Join(disk, "aa"), 0o700), os.Symlink(disk, d.at("data"))); err != nil {
		t.Skipf("SKIPPED: this system makes no links: %v", err)
	}
	if about, err := os.Lstat(d.at("data")); err != nil || about.Mode()&fs.ModeSymlink == 0 {
		t.Skipf("SKIPPED: this system (Wine) shows a link as what it leads to: %v", err)
	}
	for _, there := range []bool{true, false} {
		_, got := d.Get(t.Context(), "data/aa/one", 0, 0)
		_, listed := d.List(t.Context(), "data")
		for what, err := range map[string]error{"put": d.Put(t.Context(), "data/aa/one", nil), "get": got, "list": listed, "delete": d.Delete(t.Context(), "data/aa/one")} {
			if err == nil || errors.Is(err, ErrNotThere) || !strings.Contains(err.Error(), "is a link") {
				t.Errorf("%s, the disk is there: %v: %v", what, there, err)
			}
		}
		if list, err := os.ReadDir(filepath.Join(disk, "aa")); there && (err != nil || len(list) > 0) {
			t.Errorf("behind the link are %v, %v", list, err)
		}
		if err := os.RemoveAll(disk); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy of the repository on another disk has the same config, and not what was put since.
func TestACopyThatComesInTheMiddleIsAnotherDirectory(t *testing.T) {
	d := &dir{root: filepath.Join(t.TempDir(), "d")}
	put := func(name string) error { return d.Put(t.Context(), name, []byte(name)) }
	if err := errors.Join(put("config"), put("data/aa/one")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.CopyFS(d.root+"2", os.DirFS(d.root)), put("locks/mine"), os.Rename(d.root, d.root+"1"), os.Rename(d.root+"2", d.root)); err != nil {
		t.Fatal(err)
	}
	if err := put("data/aa/two"); err == nil {
		t.Error("half of a push goes to a copy")
	}
	if err := errors.Join(os.RemoveAll(d.root), os.Rename(d.root+"1", d.root), put("data/aa/two")); err != nil {
		t.Error(err)
	}
}

func TestAConfigThatIsNoneHoldsNobodyUp(t *testing.T) {
	for name, harm := range map[string]func(string) error{
		"large":       func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":      func(path string) error { return exec.Command("mkfifo", path).Run() },
	} {
		d := &dir{root: t.TempDir()}
		if err := harm(d.at("config")); err != nil {
			t.Logf("SKIPPED: %s: %v", name, err)
			continue
		}
		if err := d.Put(t.Context(), "locks/one", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnErrorOfADirectoryNamesIt(t *testing.T) {
	d := &dir{root: t.TempDir()}
	if err := os.WriteFile(d.at("locks"), nil, 0o600); err != nil { // no directory, also for root
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), "locks/one", nil); err == nil || !strings.Contains(err.Error(), d.root) {
		t.Errorf("it says %v", err)
	}
}

func TestAGroupThatMayReadARepositoryMayReadWhatIsBroughtThere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: there are no groups of files")
	}
	for _, group := range []bool{false, true} {
		d, mode, folder := &dir{root: t.TempDir()}, fs.FileMode(0o600), fs.FileMode(0o700)
		if group {
			mode, folder = 0o660, 0o770
		}
		config := filepath.Join(d.root, "config")
		if err := errors.Join(os.WriteFile(config, nil, 0o600), os.Chmod(config, mode)); err != nil {
			t.Fatal(err)
		}
		if err := d.Put(t.Context(), "data/aa/one", []byte("1")); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{"data": folder, "data/aa": folder, "data/aa/one": mode} {
			if info, err := os.Stat(d.at(name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("group %v: %s has %v, want %v: %v", group, name, info.Mode(), want, err)
			}
		}
	}
}
