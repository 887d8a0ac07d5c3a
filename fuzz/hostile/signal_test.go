//go:build linux

package hostile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A waiter is a command that runs; its standard input stays open.
type waiter struct {
	*exec.Cmd
	said *bytes.Buffer
}

// start starts a command.
func (w *world) start(args ...string) waiter {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), hangs)
	w.Cleanup(cancel)
	c := waiter{exec.CommandContext(ctx, program, args...), &bytes.Buffer{}}
	c.Dir, c.Env, c.Stderr, c.WaitDelay = w.root, w.env, c.said, time.Second
	_, err := c.StdinPipe()
	w.must(err)
	w.must(c.Start())
	return c
}

// endsBy waits for the end of a process that was asked to end.
func (w *world) endsBy(cmd waiter) {
	w.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(cmd.said.String(), "goroutine ") {
			w.Errorf("%q ended with %v, want exit 1: %s", cmd.Args[1:], err, cmd.said)
		}
	case <-time.After(hangs / 4):
		_ = cmd.Process.Kill()
		<-done
		w.Errorf("%q goes on after it was asked to end: %s", cmd.Args[1:], cmd.said)
	}
}

// waits are situations in which the program has to wait for somebody else for
// as long as that one likes.
var waits = map[string]struct {
	prepare func(w *world) (undo func())
	args    []string
}{
	"the lock of the store":                {locked(".git/rewind/store.db.lock"), []string{"snapshot"}},
	"the store itself":                     {locked(".git/rewind/store.db"), []string{"snapshot"}},
	"the lock of the store, for a list":    {locked(".git/rewind/store.db.lock"), []string{"list"}},
	"the lock of the store, for a status":  {locked(".git/rewind/store.db.lock"), []string{"status"}},
	"the lock of the store, for a restore": {locked(".git/rewind/store.db.lock"), []string{"restore", "@", "--yes"}},
	"a filter":                             {slow("clean", "exec sleep 1000"), []string{"snapshot"}},
	"a filter that starts others":          {slow("clean", "sleep 1000 | (sleep 1001; true); true"), []string{"snapshot"}},
	"a filter process that starts others":  {slow("process", "sleep 1000 & sleep 1001; true"), []string{"snapshot"}},
	"a filter process":                     {slow("process", "exec sleep 1000"), []string{"snapshot"}},
	"a client that says nothing":           {func(w *world) func() { return func() {} }, []string{"serve", "--stdio"}},
}

// slow gives a file a filter that takes its time.
func slow(kind, command string) func(w *world) func() {
	return func(w *world) func() {
		w.git("config", "filter.slow."+kind, command)
		w.write(".gitattributes", "slow filter=slow\n")
		w.write("slow", "text\n")
		return func() {}
	}
}

// locked holds a lock on a file.
func locked(name string) func(w *world) func() {
	return func(w *world) func() {
		f, err := os.OpenFile(w.at(name), os.O_RDWR|os.O_CREATE, 0o600)
		w.must(err)
		w.must(unix.Flock(int(f.Fd()), unix.LOCK_EX))
		return func() { f.Close() }
	}
}

func TestASignalEndsACommandThatWaits(t *testing.T) {
	for name, wait := range waits {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(name+"/"+unix.SignalName(sig), func(t *testing.T) {
				t.Parallel()
				if signal.Ignored(sig) {
					t.Skipf("SKIPPED: this run was told to ignore %v, as by nohup, and so is what it starts", sig)
				}
				w := newWorld(t).recorded()
				defer wait.prepare(w)()
				cmd := w.waiting(wait.args...)
				w.must(cmd.Process.Signal(sig))
				w.endsBy(cmd)
				w.nothingStays()
			})
		}
	}
}

func TestADeadlineEndsASnapshotThatWaits(t *testing.T) {
	for name, wait := range waits {
		if wait.args[0] != "snapshot" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).recorded()
			defer wait.prepare(w)()
			w.endsBy(w.start("snapshot", "--deadline", "100ms"))
			w.nothingStays()
		})
	}
}

// waiting starts a command and returns when it waits: when it has slept for a
// while, with nothing of its processor time used meanwhile.
func (w *world) waiting(args ...string) waiter {
	w.Helper()
	cmd := w.start(args...)
	last, same := "", 0
	for same < 10 {
		time.Sleep(30 * time.Millisecond)
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "stat"))
		w.must(err)
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if fields[0] == "Z" {
			_ = cmd.Wait()
			w.Fatalf("%q did not wait: %s", args, cmd.said)
		}
		now := fields[0] + fields[11] + fields[12] // the state, and the time it took
		if same++; now != last {
			last, same = now, 0
		}
	}
	return cmd
}

// nothingStays checks that no process of the command is left behind.
func (w *world) nothingStays() {
	w.Helper()
	for try := 0; ; try++ {
		left := ""
		dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
		w.must(err)
		for _, dir := range dirs {
			if at, err := os.Readlink(dir); err == nil && strings.HasPrefix(at, w.base) {
				left = dir
			}
		}
		if left == "" {
			return
		}
		if try == 100 {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(left), "cmdline"))
			w.Errorf("a process stays behind: %q", line)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestAFewFilesAreAnErrorAndNotACrash(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: there is no sh, whose ulimit limits the files of a process")
	}
	for _, files := range []string{"4", "5", "6", "7", "8", "12", "20", "26", "27", "28", "30", "36"} {
		t.Run(files, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).recorded()
			for _, args := range append(w.commands(), []string{"serve", "--stdio"}) {
				cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -n "$0" && exec "$@"`, files, program}, args...)...)
				cmd.Dir, cmd.Env = w.root, w.env
				out, _ := cmd.CombinedOutput()
				code := cmd.ProcessState.ExitCode()
				if code < 0 || code > 5 || bytes.Contains(out, []byte("goroutine ")) {
					t.Errorf("rewind %q with %s files: exit %d: %.1500s", args, files, code, out)
				}
			}
			w.good("snapshot") // and it has broken nothing
		})
	}
}
