package command

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

// searched makes a directory with history and edits, and returns how rewind is
// called there, and what is in the files.
func searched(t *testing.T) (rewind func(args ...string) *exec.Cmd, files func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	rewind = func(args ...string) *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Args, cmd.Dir, cmd.Env = append([]string{"rewind"}, args...), dir, env
		return cmd
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		write(strings.Repeat("x", i))
		if out, err := rewind("snapshot").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write("the present")
	return rewind, func() string {
		text, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// An ending is how a search is ended from outside, once its command has said "ready".
type ending struct {
	terminal bool
	command  string
	end      func(p *os.Process, out *os.File)
	says     []string
}

var endings = map[string]ending{
	"Ctrl-C": {true, `trap 'echo heard; exit 0' INT; echo ready; while :; do sleep 0.1; done`,
		func(_ *os.Process, out *os.File) { _, _ = out.Write([]byte{3}) }, []string{"heard", "interrupted; the files are as they were before"}},
	"SIGTERM": {false, `trap 'echo heard; exit 1' TERM; echo ready; while :; do sleep 0.1; done`,
		func(p *os.Process, _ *os.File) { _ = p.Signal(syscall.SIGTERM) }, []string{"heard"}},
	"a reader that is gone": {false, `echo ready; while ! test -e gone; do sleep 0.05; done`, // as of: rewind bisect … 2>&1 | head -1
		func(_ *os.Process, out *os.File) { _ = out.Close() }, nil},
	"a terminal that is closed": {false, `echo ready; sleep 60`,
		func(p *os.Process, _ *os.File) { // the shell says it, then the system: here it is said without an end
			for syscall.Kill(-p.Pid, syscall.SIGHUP) == nil {
				time.Sleep(time.Millisecond)
			}
		}, nil},
}

func TestWhateverEndsABisectThePresentIsPutBack(t *testing.T) {
	// Under nohup the program would be started with the signal ignored, as it is here.
	// A signal that is heard here is not.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	for what, e := range endings {
		rewind, files := searched(t)
		cmd := rewind("bisect", "--good", "@~7", "--bad", "@", "--", "sh", "-c", "echo dirt > f; "+e.command)
		out, in, err := os.Pipe()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if e.terminal {
			out, in = terminal(t)
			cmd.Stdin, cmd.SysProcAttr = in, &syscall.SysProcAttr{Setsid: true, Setctty: true}
		}
		cmd.Stdout, cmd.Stderr = in, in
		if err := errors.Join(err, cmd.Start(), in.Close()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		said := ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if said += lines.Text() + "\n"; strings.TrimSpace(lines.Text()) == "ready" {
				e.end(cmd.Process, out)
				if what == "a reader that is gone" {
					put(t, cmd.Dir, "gone", "")
				}
			}
		}
		if err := <-ended; err == nil {
			t.Errorf("%s: the search went on to its end:\n%s", what, said)
		}
		for _, text := range e.says {
			if !strings.Contains(said, text) || cmd.ProcessState.ExitCode() != exit.Failed {
				t.Errorf("%s: %v, and not %q:\n%s", what, cmd.ProcessState, text, said)
			}
		}
		if got := files(); got != "the present" {
			t.Errorf("%s: the file has %q:\n%s", what, got, said)
		}
		if out, err := rewind("list").CombinedOutput(); err != nil || bytes.Contains(out, []byte("bisect")) {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
}

func TestTwoBisectsDoNotWorkInOneWorktree(t *testing.T) {
	t.Parallel()
	rewind, files := searched(t)
	self, _ := os.Executable()
	inner := filepath.Join(t.TempDir(), "rewind")
	if err := os.Symlink(self, inner); err != nil {
		t.Fatal(err)
	}
	out, err := rewind("bisect", "--good", "@~7", "--bad", "@", "--", "sh", "-c", inner+` bisect reset; exit 0`).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("another process is bisecting here")) {
		t.Errorf("%v: %s", err, out)
	}
	if got := files(); got != "the present" {
		t.Errorf("the file has %q", got)
	}
}
