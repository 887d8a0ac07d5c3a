package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A screen is a terminal with the interface in it, kept by a tmux of its own.
type screen struct {
	t      *testing.T
	socket string
	dir    string
	env    []string
}

// screenTries is how often a screen is looked at for a text before it counts as
// missing: a minute, where the machine is busy.
const screenTries = 1200

// newScreen makes a worktree with two snapshots, and opens the interface in it.
func newScreen(t *testing.T, w, h int, setting ...string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: there is no tmux to draw in")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s := &screen{t: t, dir: t.TempDir(), socket: filepath.Join(home, "tmux")}
	s.env = []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "XDG_CONFIG_HOME=" + home + "/config", "LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH"), "TERM=tmux-256color"}
	s.env = append(s.env, setting...)
	put(t, s.dir, "kept", "one\n")
	put(t, s.dir, "名前 with \x1b[31mred", "one\n")
	s.rewind("snapshot", "-m", "the first")
	put(t, s.dir, "kept", "two\n")
	put(t, s.dir, "made", "two\n")
	s.rewind("snapshot", "-m", "\x1b[2J 全部")
	put(t, s.dir, "later", "three\n")
	script := filepath.Join(home, "start.sh")
	before, after := filepath.Join(home, "before"), filepath.Join(home, "after")
	text := fmt.Sprintf("#!/bin/bash\ncd '%s' && stty -a >'%s'\n(exec -a rewind '%s' ui)\necho ended with $?; stty -a >'%s'\nsleep 1000\n", s.dir, before, self, after)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	s.tmux("new-session", "-d", "-s", "s", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "env -i '"+strings.Join(s.env, "' '")+"' "+script)
	t.Cleanup(func() { s.tmux("kill-server") })
	s.tmux("set-option", "-g", "escape-time", "0")
	return s
}

// rewind runs the program beside the screen.
func (s *screen) rewind(args ...string) {
	s.t.Helper()
	self, _ := os.Executable()
	cmd := exec.Command(self)
	cmd.Args, cmd.Dir, cmd.Env = append([]string{"rewind"}, args...), s.dir, append(os.Environ(), s.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (s *screen) keys(names ...string) { s.tmux(append([]string{"send-keys", "-t", "s"}, names...)...) }

func (s *screen) text() string { return s.tmux("capture-pane", "-p", "-t", "s") }

// until waits for all of some texts.
func (s *screen) until(texts ...string) string {
	s.t.Helper()
	for range screenTries {
		text, all := s.text(), true
		for _, want := range texts {
			all = all && strings.Contains(text, want)
		}
		if all {
			return text
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("the screen never showed %q:\n%s", texts, s.text())
	return ""
}

// sane checks that the terminal is as it was before the interface.
func (s *screen) sane() {
	s.t.Helper()
	home := filepath.Dir(s.socket)
	var before, after string
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(home, name))
		_, rest, _ := strings.Cut(string(text), "\n") // the first line has the size
		return rest
	}
	for range screenTries {
		if before, after = read("before"), read("after"); len(after) == len(before) && len(before) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if before != after {
		s.t.Errorf("the terminal was\n%s\nand is\n%s", before, after)
	}
	if flags := s.tmux("display-message", "-p", "-t", "s", "#{alternate_on}#{mouse_any_flag}#{cursor_flag}"); strings.TrimSpace(flags) != "001" {
		s.t.Errorf("alternate screen, mouse, cursor: %s", flags)
	}
}

func TestTheInterfaceOnATerminalOfSeveralSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 36}, {300, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			s := newScreen(t, size[0], size[1])
			text := s.until("the first", `\x1b[2J`, "1 path changed", "? help")
			if n := strings.Count(text, "┏"); n != 1 {
				t.Errorf("%d panes have the keys:\n%s", n, text)
			}
			s.keys("Down")
			s.until("A kept")
			s.keys("d")
			s.until("all 3 changes")
			s.keys("r")
			s.until("Restore ", "− delete  later", "− delete  made", "~ change  kept", "deletes 2 paths")
			has(t, s.dir, "made", "two\n")
			s.keys("y")
			s.until("1 written, 2 deleted", "undo:1")
			has(t, s.dir, "kept", "one\n")
			s.keys("z")
			s.until("Undo the last restore?", "+ create  later")
			s.keys("y")
			s.until("3 written")
			has(t, s.dir, "kept", "two\n")
			has(t, s.dir, "later", "three\n")
			s.keys("q")
			s.until("ended with 0")
			s.sane()
		})
	}
}

func TestTheInterfaceFollowsTheTerminalAndTheStore(t *testing.T) {
	t.Parallel()
	s := newScreen(t, 100, 30)
	s.until("the first")
	for _, size := range [][2]string{{"1", "1"}, {"19", "4"}, {"50", "14"}, {"300", "60"}, {"76", "24"}, {"120", "36"}} {
		s.tmux("resize-window", "-t", "s", "-x", size[0], "-y", size[1])
	}
	s.until("the first", "? help")
	s.rewind("snapshot", "-m", "from beside")
	s.until("from beside", "3 snapshots")
	s.rewind("pin", "@", "held")
	s.until("◆held")
	s.keys("c")
	s.until("Record the files as they are")
	s.keys("-l", "by hand")
	s.keys("Enter")
	s.until("by hand", "unchanged since the last snapshot")
	s.keys("C-c")
	s.until("ended with 0")
	s.sane()
}

func TestTheInterfaceLeavesTheTerminalAsItWasAfterASignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := newScreen(t, 90, 26)
		s.until("the first", "? help")
		if err := syscall.Kill(s.pid(), signal); err != nil {
			t.Fatal(err)
		}
		s.until("ended with 1")
		s.sane()
	}
}

// pid is the process of the interface.
func (s *screen) pid() (pid int) {
	s.t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		dir, _ := os.Readlink(link)
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		if dir == s.dir && string(args) == "rewind\x00ui\x00" {
			if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil {
				return pid
			}
		}
	}
	s.t.Fatal("the interface does not run")
	return 0
}

func TestTheInterfaceDrawsWithoutColoursIfNoneAreWanted(t *testing.T) {
	t.Parallel()
	s := newScreen(t, 100, 30, "NO_COLOR=1")
	s.until("the first", "? help")
	colours := s.tmux("capture-pane", "-p", "-e", "-t", "s")
	for _, code := range []string{"[3", "[4", ";3", ";4", "[9"} {
		for _, part := range strings.Split(colours, "\x1b")[1:] {
			if body, _, _ := strings.Cut(part, "m"); strings.Contains(body, code) && body != "[39" && body != "[49" {
				t.Fatalf("an escape of colour: %q", body)
			}
		}
	}
	if !strings.Contains(colours, "\x1b[1m\x1b[7m") && !strings.Contains(colours, "\x1b[1;7m") && !strings.Contains(colours, "\x1b[7m") {
		t.Errorf("the chosen row is not marked:\n%q", colours)
	}
}

func TestTheInterfaceWantsATerminalThatCanBeDrawnOn(t *testing.T) {
	t.Parallel()
	s := newScreen(t, 100, 30, "TERM=dumb")
	s.until("ui needs a terminal", "ended with 2")
}

// While a restore waits for the lock of another process the interface answers, and
// can call it off.
func TestTheInterfaceAnswersWhileAnotherProcessHasTheLock(t *testing.T) {
	t.Parallel()
	s := newScreen(t, 100, 30)
	s.until("the first", "? help")
	locks, err := filepath.Glob(filepath.Join(filepath.Dir(s.socket), "state", "rewind", "*", "operation.lock"))
	if err != nil || len(locks) > 1 {
		t.Fatalf("%v, %v", locks, err)
	}
	if len(locks) == 0 {
		stores, _ := filepath.Glob(filepath.Join(filepath.Dir(s.socket), "state", "rewind", "*", "store.db"))
		if len(stores) != 1 {
			t.Fatalf("stores: %v", stores)
		}
		locks = []string{filepath.Join(filepath.Dir(stores[0]), "operation.lock")}
	}
	f, err := os.OpenFile(locks[0], os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(errors.Join(err, errors.New("the lock is taken")))
	}
	s.keys("Down", "r")
	s.until("deletes 2 paths")
	s.keys("y")
	s.until("another process may be using the store")
	s.keys("Escape")
	s.until("nothing was changed")
	has(t, s.dir, "kept", "two\n")
}
