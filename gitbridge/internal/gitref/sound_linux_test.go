package gitref

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Whatever has the name of a ref's lock file is a lock, and is not written through.
func TestALockFileThatIsALinkIsALock(t *testing.T) {
	for kind, set := range map[string]func(path, bait string) error{
		"a link":      func(path, bait string) error { return os.Symlink(bait, path) },
		"a dead link": func(path, bait string) error { return os.Symlink(bait+".none", path) },
		"a pipe":      func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path, _ string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		lock, bait := filepath.Join(dir, "refs", "pi-rewind", "store.lock"), filepath.Join(dir, "bait")
		if err := errors.Join(os.MkdirAll(filepath.Dir(lock), 0o755), os.WriteFile(bait, []byte("mine"), 0o600), set(lock, bait)); err != nil {
			t.Fatal(err)
		}
		s := Open(dir, dir, oid.SHA1, &Options{Patience: 20 * time.Millisecond, Own: filepath.Join(dir, "own")})
		u := Update{Name: "refs/pi-rewind/store", New: oid.SHA1.Sum(oid.Blob, []byte("x"))}
		if err := s.CompareAndSwap(t.Context(), u); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", kind, err)
		}
		if text, err := os.ReadFile(bait); err != nil || string(text) != "mine" {
			t.Errorf("%s: what it leads to has %q, %v", kind, text, err)
		}
		if _, err := os.Lstat(bait + ".none"); err == nil {
			t.Errorf("%s: what it leads to was made", kind)
		}
	}
}

// The directories between that of all refs and a ref are no links, nor is its log.
func TestNoLinkIsFollowedToARefOrItsLog(t *testing.T) {
	for _, name := range []string{"refs/pi-rewind", "logs/refs/pi-rewind", "refs/pi-rewind/deep", "logs/refs/pi-rewind/deep", "logs/refs/pi-rewind/deep/store"} {
		dir := t.TempDir()
		path, bait := filepath.Join(dir, name), filepath.Join(dir, "bait")
		if err := errors.Join(os.Mkdir(bait, 0o755), os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(bait, path)); err != nil {
			t.Fatal(err)
		}
		s := Open(dir, dir, oid.SHA1, &Options{Patience: time.Second, LogAlways: true})
		u := Update{Name: "refs/pi-rewind/deep/store", New: oid.SHA1.Sum(oid.Blob, []byte("x"))}
		if err := s.CompareAndSwap(t.Context(), u); !errors.Is(err, durable.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := os.ReadDir(bait); err != nil || len(list) != 0 {
			t.Errorf("%s leads to what has %v now, %v", name, list, err)
		}
	}
}
