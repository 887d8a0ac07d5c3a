package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a new terminal: what a person types goes into the first file, and
// what programs print comes out of it; the second is the programs' end.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIPPED: no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("SKIPPED: no terminal can be made here: %v", err)
	}
	return person, program
}

func TestACommandUnderRunHasTheTerminalAndOneCtrlC(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	person, program := terminal(t)
	dir := t.TempDir()
	cmd := exec.Command(self)
	cmd.Args = []string{"rewind", "run", "--", "sh", "-c", `test -t 0 && test -t 1 && test -t 2 && echo terminal
		trap 'echo heard; n=$((n+1))' INT; echo ready; while test -z "$n"; do sleep 0.1; done; sleep 0.3; echo "$n times"; exit 3`}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, program, program, program
	cmd.Env = append(os.Environ(), "HOME="+dir+"/home", "XDG_STATE_HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	var seen []string
	for lines := bufio.NewScanner(person); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		seen = append(seen, line)
		if line == "ready" {
			if _, err := person.Write([]byte{3}); err != nil { // Ctrl-C
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	all := strings.Join(seen, "\n")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v\n%s", err, all)
	}
	if !strings.Contains(all, "terminal") || !strings.Contains(all, "1 times") {
		t.Errorf("the command had no terminal, or not one signal:\n%s", all)
	}
}
