//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyARegularFileIsOpened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("pipe", at("link")), os.Mkdir(at("dir"), 0o700),
		os.Symlink("file", at("good")), os.WriteFile(at("file"), []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", at("s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, want := range map[string]error{
		at("pipe"): ErrIrregular, at("link"): ErrIrregular, at("s"): ErrIrregular, "/dev/null": ErrIrregular, "/dev/zero": ErrIrregular,
		at("dir"): syscall.EISDIR, at("none"): fs.ErrNotExist, at("file/below"): syscall.ENOTDIR,
	} {
		if _, err := Read(name, 100); !errors.Is(err, want) {
			t.Errorf("reading %s: %v, want %v", name, err, want)
		}
	}
	for _, name := range []string{"file", "good"} {
		if text, err := Read(at(name), 4); err != nil || string(text) != "text" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

func TestAFileIsReadUpToItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 511, 512, 513, 5000} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := Read(path, int64(size)); err != nil || len(text) != size {
			t.Errorf("%d bytes: %d, %v", size, len(text), err)
		}
		if _, err := Read(path, int64(size)-1); !errors.Is(err, ErrLarge) {
			t.Errorf("%d bytes where one less is allowed: %v", size, err)
		}
	}
	if err := os.Truncate(path, 1<<50); err != nil {
		t.Skipf("SKIPPED: this file system has no file of 1 PiB: %v", err)
	}
	if _, err := Read(path, 1<<20); !errors.Is(err, ErrLarge) {
		t.Errorf("a giant: %v", err)
	}
}
