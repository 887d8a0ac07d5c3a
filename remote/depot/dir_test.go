package depot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// Under the name of a mount point lies another directory once the disk is gone. That it is on another one is feigned here.
func TestNothingIsWrittenWhereTheDiskWasTakenAway(t *testing.T) {
	d := &dir{root: filepath.Join(t.TempDir(), "d")}
	if err := d.Put(t.Context(), "data/aa/one", []byte("1")); err != nil {
		t.Fatal(err)
	}
	held := d.disk
	if runtime.GOOS == "windows" {
		if held != 0 {
			t.Error("there are disks to compare: test it")
		}
		return
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
	d.disk++
	away("another disk")
	d.disk = held
	if list, err := d.List(t.Context(), "data"); err != nil || len(list) != 1 {
		t.Errorf("once it is back it lists %v, %v", list, err)
	}
	if err := os.Rename(d.root, d.root+"2"); err != nil {
		t.Fatal(err)
	}
	away("gone")
	if _, err := os.Lstat(d.root); err == nil {
		t.Error("a directory that has gone was made anew")
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
