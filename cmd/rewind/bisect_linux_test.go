package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
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
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !heard {
		t.Errorf("%v, heard %v: %s", err, heard, said.String())
	}
	if got := files(); got != "the present" {
		t.Errorf("the file has %q: %s", got, said.String())
	}
}

func TestTwoBisectsDoNotWorkInOneWorktree(t *testing.T) {
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
