package socket

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestItIsToldThatASocketOrWhatItServesIsGone(t *testing.T) {
	for what, do := range map[string]func(l *Listener, dir string) error{
		"the socket is deleted":        func(l *Listener, _ string) error { return os.Remove(filepath.Join(l.place.path, l.name)) },
		"the place is deleted":         func(l *Listener, _ string) error { return os.RemoveAll(l.place.path) },
		"the place is moved":           func(l *Listener, _ string) error { return os.Rename(l.place.path, l.place.path+"2") },
		"one above the place is moved": func(l *Listener, _ string) error { up := filepath.Dir(l.place.path); return os.Rename(up, up+"2") },
		"the directory is deleted":     func(_ *Listener, dir string) error { return os.Remove(dir) },
		"it is moved":                  func(_ *Listener, dir string) error { return os.Rename(dir, dir+"2") },
		"one above it is moved":        func(_ *Listener, dir string) error { return os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"2") },
		"one far above it is moved": func(_ *Listener, dir string) error {
			up := filepath.Dir(filepath.Dir(dir))
			return os.Rename(up, up+"2")
		},
		"it and all above is deleted": func(_ *Listener, dir string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(dir))) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "b", "tree")
			must(t, os.MkdirAll(dir, 0o700))
			held, err := os.Open(dir) // as the watcher of its files has it
			must(t, err)
			defer held.Close()
			l := serving(t, runtime(t), dir, echo)
			if l.Stirs() == nil {
				t.Fatal("nobody tells")
			}
			rest(l)
			must(t, do(l, dir))
			<-l.Stirs()
		})
	}
}

// rest waits for what is told at the beginning, which is nothing.
func rest(l *Listener) {
	for {
		select {
		case <-l.Stirs():
		case <-time.After(20 * time.Millisecond):
			return
		}
	}
}

func TestADirectoryThatTookThePlaceOfOneIsWatchedToo(t *testing.T) {
	top := t.TempDir()
	a, old, gone := filepath.Join(top, "a"), filepath.Join(top, "old"), filepath.Join(top, "gone")
	dir := filepath.Join(a, "tree")
	must(t, os.MkdirAll(dir, 0o700))
	l := serving(t, runtime(t), dir, echo)
	must(t, os.Rename(a, old), os.Mkdir(a, 0o700), os.Rename(filepath.Join(old, "tree"), dir))
	rest(l)
	must(t, os.Rename(a, gone))
	<-l.Stirs()
}

func TestItIsToldThatAFileSystemIsUnmountedUnderOpenFiles(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(t.TempDir(), "tree")
	must(t, os.Mkdir(dir, 0o700))
	if err := unix.Mount("rewind-test", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("SKIPPED: nothing can be mounted here: %v", err)
	}
	held, err := os.Open(dir)
	must(t, err)
	defer held.Close()
	l := serving(t, runtime(t), dir, echo)
	rest(l)
	must(t, unix.Unmount(dir, unix.MNT_DETACH))
	<-l.Stirs()
}

func TestWhatElseGoesBesideADirectoryIsNotTold(t *testing.T) {
	event := func(name string) []byte {
		p := make([]byte, unix.SizeofInotifyEvent, 100)
		padded := append([]byte(name), make([]byte, 16-len(name)%16)...)
		if name == "" {
			padded = nil
		}
		binary.NativeEndian.PutUint32(p[12:], uint32(len(padded)))
		return append(p, padded...)
	}
	for _, c := range []struct {
		events [][]byte
		want   bool
	}{
		{nil, false},
		{[][]byte{event("other"), event("tree2"), event("tre")}, false},
		{[][]byte{event("other"), event("tree"), event("tre")}, true},
		{[][]byte{event("other"), event("")}, true}, // of the directory itself, or of the queue
		{[][]byte{event("other")[:20]}, true},       // not understood
	} {
		var all []byte
		for _, e := range c.events {
			all = append(all, e...)
		}
		if got := concern(all, []string{"socket", "tree"}); got != c.want {
			t.Errorf("%q: %v", all, got)
		}
	}
}

func TestBelowADirectoryThatMayNotBeListedNobodyTells(t *testing.T) {
	needRoot(t)
	closed := reachable(t)
	run, dir := filepath.Join(closed, "run"), filepath.Join(closed, "tree")
	must(t, os.Mkdir(run, 0o700), os.Mkdir(dir, 0o700), os.Chown(run, somebody, somebody), os.Chown(dir, somebody, somebody))
	for mode, want := range map[os.FileMode]string{0o755: "ready, told: true", 0o711: "ready, told: false"} {
		must(t, os.Chmod(closed, mode))
		cmd, line := role(t, somebody, "SOCKET_TEST_ROLE=serve", "SOCKET_TEST_PATH="+run, "SOCKET_TEST_DIR="+dir)
		if line != want {
			t.Errorf("%v: %s", mode, line)
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
}
