//go:build linux

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAServerThatWatchesSaysSoAndMissesNothing(t *testing.T) {
	t.Parallel()
	dir, home := repository(t), t.TempDir()
	s := serveAt(t, dir, "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home+"/config",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "REWIND_WATCH=true", "XDG_RUNTIME_DIR="+home)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/b/c", "1")
	for range 500 {
		s.must("snapshot", nil)
		if st := s.must("status", nil); st["watched"] == true {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if st := s.must("status", nil); st["watched"] != true {
		t.Skipf("SKIPPED: nothing can be watched here: %v", st["unwatched"])
	}
	for i, name := range []string{"a/b/c", "new/deep/er", "new/deep/er", "a/b/c", "top"} {
		write(name, time.Now().String())
		if r := s.must("snapshot", nil); r["changed"] == 0.0 {
			t.Errorf("snapshot %d after one change: %v", i, r)
		}
		if r := s.must("preview", nil); r["reused"] != true {
			t.Errorf("a look at everything after snapshot %d differs: %v", i, r)
		}
	}
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "new/deep/a")); err != nil {
		t.Fatal(err)
	}
	s.must("snapshot", nil)
	write("new/deep/a/b/c", "after the move")
	if r := s.must("snapshot", nil); r["changed"] == 0.0 {
		t.Errorf("a change in a directory that was moved: %v", r)
	}
	missSomething(t, s, filepath.Join(dir, "top"))
}

// missSomething changes a file as no watcher is told. The audit must find it.
func missSomething(t *testing.T, s *served, path string) {
	t.Helper()
	time.Sleep(2100 * time.Millisecond) // until the file is not read again for its youth
	s.must("snapshot", nil)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := syscall.Mmap(int(f.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(page)
	page[0] = '!'
	if r := s.must("snapshot", nil); r["reused"] != true {
		t.Fatalf("a mapped write was told: %v", r)
	}
	for range 2000 {
		s.must("status", nil)
		if len(s.notes) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if len(s.notes) != 1 || s.notes[0].Method != "warning" || !strings.Contains(string(s.notes[0].Params), `\"top\" went unnoticed`) {
		t.Errorf("told: %+v", s.notes)
	}
	if r := s.must("preview", nil); r["reused"] != true {
		t.Errorf("what was missed is in no snapshot: %v", r)
	}
	if st := s.must("status", nil); st["watched"] == true || !strings.Contains(fmt.Sprint(st["unwatched"]), "top") {
		t.Errorf("still watched: %v", st)
	}
}
