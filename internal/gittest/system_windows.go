package gittest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/seed-82afce7a/rewind/internal/gittest/winehost"
)

// Run runs git, without a process where it is that of the machine around Wine.
func Run(cmd *exec.Cmd) error {
	exit, err := winehost.Ask(cmd)
	if errors.Is(err, os.ErrNotExist) {
		return cmd.Run()
	}
	if err == nil && exit != 0 {
		err = fmt.Errorf("exit status %d", exit)
	}
	return err
}

// Nameable reports whether a file of this system can have a name or path.
func Nameable(path string) bool {
	p, err := windows.UTF16FromString(path)
	return err == nil && windows.UTF16ToString(p) == path && !strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>:"\|?*`, r) }) &&
		!strings.HasSuffix(path, " ") && !strings.Contains(path, " /") && !strings.HasSuffix(path, ".") && !strings.Contains(path, "./")
}

// Folded is one text for all paths that are the same on this system.
func Folded(path string) string { return strings.ToLower(path) }

// Programs skips a test under Wine, where git is that of the machine around it: neither
// it nor a shell can run a program for Windows, and it has another name for each path.
func Programs(t testing.TB) {
	t.Helper()
	if wine() {
		t.Skip("SKIPPED: git runs programs, and under Wine it is not one for Windows")
	}
}

// Slashes skips a test of paths, names or programs that Windows does not have.
func Slashes(t testing.TB) {
	t.Helper()
	t.Skip("SKIPPED: Windows has no such paths, names or programs")
}

// Stats skips a test under Wine, where git writes into its index what a stat of the
// machine around it gives.
func Stats(t testing.TB) {
	t.Helper()
	if wine() {
		t.Skip("SKIPPED: git's index has what a stat gives, and under Wine that is another one")
	}
}

// Real skips a test of what Wine does otherwise than Windows.
func Real(t testing.TB, why string) {
	t.Helper()
	if wine() {
		t.Skip("SKIPPED: under Wine ", why)
	}
}

func wine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
