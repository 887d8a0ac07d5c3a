//go:build unix

package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A budget is a context that ends after it was asked so many times.
type budget struct {
	context.Context
	left int
}

func (b *budget) Err() error {
	if b.left--; b.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestAPipeOrDeviceThatIsCalledASessionIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, device := filepath.Join(dir, "pipe.jsonl"), filepath.Join(dir, "zero.jsonl")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", device)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "real.jsonl"), newScript("").text())
	n := 0
	for f := range Discover(context.Background(), Places{SessionDirs: []string{dir}}) {
		if n++; f.Err != nil || filepath.Base(f.Path) != "real.jsonl" {
			t.Errorf("found %+v", f)
		}
	}
	if n != 1 {
		t.Errorf("found %d", n)
	}
	for _, path := range []string{pipe, device, dir} {
		if _, err := look(path); !errors.Is(err, ErrNotSession) {
			t.Errorf("open %s: %v", path, err)
		}
		if _, err := readHeader(path); !errors.Is(err, ErrNotSession) {
			t.Errorf("header of %s: %v", path, err)
		}
		if _, err := Mentioned(context.Background(), path); !errors.Is(err, ErrNotSession) {
			t.Errorf("mentioned in %s: %v", path, err)
		}
	}
}

func TestAFileLongerThanAnySessionIsAnErrorAndNotRead(t *testing.T) {
	path := write(t, "s.jsonl", newScript("").text())
	if err := os.Truncate(path, sessionBytesMax+1); err != nil {
		t.Skip("SKIPPED: the file system has no sparse files: ", err)
	}
	if _, err := look(path); !errors.Is(err, errTooLong) {
		t.Errorf("open: %v", err)
	}
	if _, err := Mentioned(context.Background(), path); !errors.Is(err, errTooLong) {
		t.Errorf("mentioned: %v", err)
	}
	// It may grow while it is read.
	b := &bounded{context.Background(), strings.NewReader("abc"), 2}
	if n, err := b.Read(make([]byte, 5)); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := b.Read(make([]byte, 5)); n != 0 || !errors.Is(err, errTooLong) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestAHeaderIsNotLookedForInAWholeFile(t *testing.T) {
	path := write(t, "s.jsonl", "")
	if err := os.Truncate(path, 4<<30); err != nil {
		t.Skip("SKIPPED: the file system has no sparse files: ", err)
	}
	if _, err := look(path); !errors.Is(err, ErrNotSession) {
		t.Error(err)
	}
	if _, err := readHeader(path); !errors.Is(err, ErrNotSession) {
		t.Error(err)
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	s := newScript("")
	u := s.user("x")
	s.record(Record{Kind: Turn, Bindings: []Binding{{u, id(1)}}})
	s.user(strings.Repeat("long ", 1<<20))
	path := write(t, "s.jsonl", s.text())
	sessions := Sessions{Context: &budget{context.Background(), 4}}
	if _, err := sessions.Open(path); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := Mentioned(&budget{context.Background(), 4}, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "empty"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var last Found
	n := 0
	for f := range Discover(&budget{context.Background(), 3}, Places{SessionDirs: []string{dir}}) {
		last, n = f, n+1
	}
	if n != 1 || !errors.Is(last.Err, context.DeadlineExceeded) || errors.Is(last.Err, fs.ErrNotExist) {
		t.Errorf("%d, %+v", n, last)
	}
}
