package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A note is a file, and how what is remembered of it is asked for.
func read(t *testing.T, path, want string) {
	t.Helper()
	p, err := Read(path, 1<<10)
	if err != nil || string(p) != want {
		t.Errorf("%q %v, want %q", p, err, want)
	}
}

// remember reads a file as if it had not been touched for long.
func remember(t *testing.T, path string) bool {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	remembered.keep(path, st, p, time.Now().Add(settled))
	_, ok := remembered.text(path, st)
	return ok
}

func TestWhatIsRememberedIsNotOpenedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	read(t, path, "one")
	st, _ := os.Stat(path)
	if _, ok := remembered.text(path, st); ok {
		t.Error("a file that was just written is remembered")
	}
	if !remember(t, path) {
		t.Skip("SKIPPED: the times of this file system are not this machine's")
	}
	m := remembered.texts[path]
	m.bytes = []byte("from memory")
	remembered.texts[path] = m
	read(t, path, "from memory")
	if p, err := Read(path, 3); err == nil && string(p) == "from memory" {
		t.Error("the bound does not count")
	}
	p, _ := Read(path, 1<<10)
	p[0] = 'X'
	read(t, path, "from memory")
}

func TestAnyChangeIsRead(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"another content of the same length": func(path string) error { return os.WriteFile(path, []byte("two"), 0o600) },
		"with the time of before": func(path string) error {
			st, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, []byte("two"), 0o600), os.Chtimes(path, st.ModTime(), st.ModTime()))
		},
		"another file with the time of before": func(path string) error {
			st, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path+"2", []byte("two"), 0o600), os.Chtimes(path+"2", st.ModTime(), st.ModTime()), os.Rename(path+"2", path))
		},
		"a link in its place": func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("two"), 0o600), os.Remove(path), os.Symlink(path+"2", path))
		},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
			t.Fatal(err)
		}
		if !remember(t, path) {
			t.Skip("SKIPPED: the times of this file system are not this machine's")
		}
		read(t, path, "one")
		time.Sleep(30 * time.Millisecond) // more than the grain of any file system that is remembered from
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		t.Log(what)
		read(t, path, "two")
	}
}

func TestWhatIsGoneOrIrregularIsNotRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	remember(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if p, err := Read(path, 10); err == nil {
		t.Errorf("%q of a directory", p)
	}
}

func TestOnlySoMuchIsRemembered(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * textsMax {
		path := filepath.Join(dir, time.Duration(i).String())
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		remember(t, path)
	}
	if n := len(remembered.texts); n > textsMax {
		t.Errorf("%d texts", n)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, textBytesMax+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if remember(t, large) {
		t.Error("a large file is remembered")
	}
}
