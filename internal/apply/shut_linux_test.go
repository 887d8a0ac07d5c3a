package apply_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ordinary makes the test work below root as a user to whom permissions count: as another
// one, if it is run by root.
func ordinary(t *testing.T, root string) (uid int) {
	t.Helper()
	if uid = os.Geteuid(); uid != 0 {
		return uid
	}
	uid = 65534
	must(t, os.Chown(root, uid, uid))
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := syscall.Setfsuid(uid); err != nil {
		t.Skip("NOT TESTED: cannot work as another user: " + err.Error())
	}
	t.Cleanup(func() { _ = syscall.Setfsuid(0) })
	if _, err := os.Stat(filepath.Join(root, ".")); err != nil {
		t.Skip("NOT TESTED: the directory for temporary files is closed to others: " + err.Error())
	}
	return uid
}

// TestADirectoryThatACrashLeftOpenIsClosedAgain stops a run before each of its changes.
// Whoever finishes it, and whoever takes it back, closes the directories that it opened.
func TestADirectoryThatACrashLeftOpenIsClosedAgain(t *testing.T) {
	from := world{"ro": dir(0o555), "ro/f": file("1"), "ro/sub": dir(0o500), "ro/sub/f": file("1"), "ro/sub/gone": file("1")}
	to := world{"ro": dir(0o555), "ro/f": file("2"), "ro/sub": dir(0o500), "ro/sub/f": file("2"), "ro/sub/new": file("2")}
	var idle []apply.Step
	for _, path := range []string{"ro", "ro/sub"} {
		idle = append(idle, apply.Step{Path: path, Have: from[path].node(), Want: from[path].node()})
	}
	opened := 0
	for n, stopped := 0, true; stopped && !t.Failed(); n++ {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/back=%v", n, back), func(t *testing.T) {
				root := t.TempDir()
				opt := &apply.Options{Alg: oid.SHA1, Key: "key"}
				opt.As(ordinary(t, root))
				opt.Alone() // the identity is this thread's
				opt.NoSync()
				from.make(t, root)
				steps := append(plan(t, root, to, nil), idle...)
				opt.Hook(stopAt(n))
				_, err := apply.Apply(t.Context(), root, steps, shelve(to).source, opt)
				if stopped = errors.Is(err, apply.ErrStopped); !stopped {
					must(t, err)
				}
				if got, _ := read(t, root); got["ro/sub"] != from["ro/sub"] {
					opened++
				}
				opt.Hook(nil)
				closed(t, root, from, to, steps, opt, back)
				for _, path := range []string{"ro", "ro/sub"} { // for the removal by the test's end
					must(t, os.Chmod(filepath.Join(root, path), 0o755))
				}
			})
		}
	}
	if opened < 5 {
		t.Errorf("only %d runs left a directory open", opened)
	}
}

// closed finishes a run that was stopped, or takes it back.
func closed(t *testing.T, root string, from, to world, steps []apply.Step, opt *apply.Options, back bool) {
	t.Helper()
	if back {
		out, err := apply.Clear(t.Context(), root, journalled(t, steps), opt)
		must(t, err)
		if got, _ := read(t, root); len(out.Conflicts) > 0 || got["ro"] != from["ro"] || got["ro/sub"] != from["ro/sub"] {
			t.Errorf("taken back: %+v, %o and %o", out, got["ro"].mode, got["ro/sub"].mode)
		}
		return
	}
	opt.Replay = true
	out := carry(t, root, journalled(t, steps), to, opt)
	if len(out.Conflicts) > 0 || out.Written+out.Deleted != 4 {
		t.Errorf("finished: %+v", out)
	}
	same(t, root, to)
}
