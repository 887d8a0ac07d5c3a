//go:build linux

package power

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
)

// inside tells the second of two processes that it has mounts of its own.
const inside = "REWIND_POWER_INSIDE"

// program is the built command, made once for all tests; impossible says why
// no test can run here.
var (
	program    string
	impossible string
	theDisks   *disks
)

func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" && able() == nil {
		os.Exit(again())
	}
	os.Exit(testMain(m))
}

// able says why this system cannot cut the power of a disk.
func able() error {
	if os.Getuid() != 0 {
		return errors.New("only root can mount a disk")
	}
	for _, file := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		f.Close()
	}
	for _, name := range []string{"git", ext4.format[0]} {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	return nil
}

// again runs the tests in a second process, and serves the disks in this one:
//
//   - The second has a mount namespace of its own, so no mount outlives it.
//   - A process that waits for a disk cannot be killed. If it served that disk
//     itself it would wait for ever, and so would whoever lists loop devices.
//
// This one holds the only descriptor of the FUSE connection and never touches
// what is mounted. So if either is killed, the other ends by itself.
func again() int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "serving disks:", err)
		return 1
	}
	connection, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "calls"), os.NewFile(uintptr(pair[1]), "calls")
	runtime.LockOSThread() // the signal below comes when the thread dies
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(connection), "/dev/fuse"), theirs} // 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil { // as in most containers: every test says so
		return plain(err)
	}
	theirs.Close()
	go func() {
		if err := serve(connection, ours); err != nil {
			fail(err)
			_ = cmd.Process.Kill()
		}
	}()
	if err := cmd.Wait(); err != nil {
		return max(1, cmd.ProcessState.ExitCode())
	}
	return 0
}

// plain runs the tests where they can only be skipped.
func plain(why error) int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"="+why.Error())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.Run() != nil {
		return 1
	}
	return 0
}

func testMain(m *testing.M) int {
	switch err := able(); {
	case err != nil:
		impossible = err.Error()
		return m.Run()
	case os.Getenv(inside) != "1":
		impossible = "no mount namespace: " + os.Getenv(inside)
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "rewind-power-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if theDisks, err = connect(filepath.Join(dir, "disks")); err != nil {
		impossible = err.Error()
		return m.Run()
	}
	defer theDisks.close()
	return kit.Run(m, &program)
}

// start gives a test its machine, or skips it.
func start(t *testing.T) *machine {
	t.Helper()
	if impossible != "" {
		t.Skip("SKIPPED: the power of no disk can be cut here: " + impossible)
	}
	m, err := newMachine(t.TempDir(), theDisks)
	must(t, err)
	t.Cleanup(func() { must(t, m.close()) })
	return m
}
