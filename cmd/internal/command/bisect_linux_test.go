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

func TestCtrlCDuringABisectPutsThePresentBack(t *testing.T) {
	t.Parallel()
	rewind, files := searched(t)
	person, program := terminal(t)
	cmd := rewind("bisect", "--good", "@~7", "--bad", "@", "--", "sh", "-c", `echo dirt > f; trap 'echo heard; exit 0' INT; echo ready; while :; do sleep 0.1; done`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	var seen strings.Builder
	for lines := bufio.NewScanner(person); lines.Scan(); {
		seen.WriteString(lines.Text() + "\n")
		if strings.TrimSpace(lines.Text()) == "ready" {
			if _, err := person.Write([]byte{3}); err != nil { // Ctrl-C
				t.Fatal(err)
			}
		}
	}
	err := cmd.Wait()
	if ended := (*exec.ExitError)(nil); !errors.As(err, &ended) || ended.ExitCode() != exit.Failed {
		t.Errorf("%v", err)
	}
	if all := seen.String(); !strings.Contains(all, "heard") || !strings.Contains(all, "interrupted; the files are as they were before") {
		t.Errorf("it said:\n%s", all)
	}
	if got := files(); got != "the present" {
		t.Errorf("the file has %q", got)
	}
	if out, err := rewind("list").CombinedOutput(); err != nil || bytes.Contains(out, []byte("bisect")) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestATermSignalDuringABisectReachesTheCommandAndPutsThePresentBack(t *testing.T) {
	t.Parallel()
	rewind, files := searched(t)
	cmd := rewind("bisect", "--good", "@~7", "--bad", "@", "--", "sh", "-c", `trap 'echo heard; exit 1' TERM; echo ready; while :; do sleep 0.1; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	heard := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		heard = heard || lines.Text() == "heard"
		if lines.Text() == "ready" {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if ended := (*exec.ExitError)(nil); !errors.As(err, &ended) || ended.ExitCode() != exit.Failed || !heard {
		t.Errorf("%v, heard %v: %s", err, heard, said.String())
	}
	if got := files(); got != "the present" {
		t.Errorf("the file has %q: %s", got, said.String())
	}
}

func TestABisectWhoseReaderIsGonePutsThePresentBack(t *testing.T) {
	t.Parallel()
	rewind, files := searched(t)
	gone := filepath.Join(t.TempDir(), "gone")
	cmd := rewind("bisect", "--good", "@~7", "--bad", "@", "--", "sh", "-c", `echo dirt > f; while ! test -e "$0"; do sleep 0.05; done`, gone)
	r, w, err := os.Pipe() // as of: rewind bisect … 2>&1 | head -1
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.Contains(line, "testing") {
		t.Fatalf("%q, %v", line, err)
	}
	r.Close()
	if err := os.WriteFile(gone, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := files(); got != "the present" {
		t.Errorf("the file has %q", got)
	}
	if out, err := rewind("list").CombinedOutput(); err != nil || bytes.Contains(out, []byte("bisect")) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestATerminalThatIsClosedDuringABisectPutsThePresentBack(t *testing.T) {
	// Under nohup the program would be started with the signal ignored, as it is here.
	// A signal that is heard here is not.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	rewind, files := searched(t)
	cmd := rewind("bisect", "--good", "@~7", "--bad", "@", "--", "sh", "-c", `echo dirt > f; echo ready; sleep 60`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr, cmd.SysProcAttr = &said, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for running := true; running; { // the shell says it, then the system: here it is said without an end
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
		select {
		case err = <-ended:
			running = false
		case <-time.After(time.Millisecond):
		}
	}
	if err == nil {
		t.Errorf("the search went on to its end: %s", said.String())
	}
	if got := files(); got != "the present" {
		t.Errorf("the file has %q, %v: %s", got, err, said.String())
	}
	if out, err := rewind("list").CombinedOutput(); err != nil || bytes.Contains(out, []byte("bisect")) {
		t.Errorf("%v: %s", err, out)
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
