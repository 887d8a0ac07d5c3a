package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// endsByItself looks at how a process that watches was begun: it ends after an hour in which
// nothing was asked for, and there is no other one.
func (g *ground) endsByItself(pid int) {
	g.t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if args := string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})); err != nil || !strings.HasSuffix(args, "watch --no-points --idle 1h ") {
		g.t.Errorf("it was begun by %q: %v", args, err)
	}
	if _, errs, exit := g.does("watch"); exit == 0 || !strings.Contains(errs, "is watched already") {
		g.t.Errorf("a second one: exit %d, %s", exit, errs)
	}
}

// agree runs a command in a terminal, and says yes to all that it asks.
func (g *ground) agree(args ...string) (said string) {
	g.t.Helper()
	person, program := terminal(g.t)
	cmd := g.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	program.Close()
	var all []byte
	for answered, buf := 0, make([]byte, 4<<10); ; {
		n, err := person.Read(buf)
		if err != nil { // nobody has it open any more
			break
		}
		all = append(all, buf[:n]...)
		for ; bytes.Count(all, []byte("[y/N]")) > answered; answered++ {
			if _, err := person.WriteString("y\n"); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		g.t.Errorf("%v: %v: %s", args, err, all)
	}
	return string(all)
}

func TestSetupOffersToWatchLargeWorktrees(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	home := t.TempDir()
	g.env = append(g.env, "HOME="+home, "XDG_CONFIG_HOME="+home+"/c", "XDG_STATE_HOME="+home+"/s", "CLAUDE_CONFIG_DIR="+home+"/claude")
	settings := filepath.Join(home, "c", "rewind", "config")
	if out, _, exit := g.does("setup", "claude", "--yes"); exit != 0 || !strings.Contains(out, "rewind setup --watch") {
		t.Errorf("exit %d: %s", exit, out)
	}
	if _, err := os.Stat(settings); err == nil {
		t.Error("nobody was asked, and it is set up")
	}
	g.does("setup", "claude", "--remove", "--yes")
	if said := g.agree("setup", "claude"); strings.Count(said, "[y/N]") != 2 || !strings.Contains(said, "Watch worktrees of more than 5000 files") {
		t.Errorf("it asks %q", said)
	}
	if text, err := os.ReadFile(settings); err != nil || !strings.Contains(string(text), "watch = large") {
		t.Errorf("%q: %v", text, err)
	}
	g.does("snapshot")
	if st := g.state(); st != nil || len(g.sockets()) > 0 {
		t.Errorf("a small worktree: %v", st)
	}
	for i := range 5001 {
		put(t, g.dir, fmt.Sprintf("many%d", i), "")
	}
	g.does("snapshot")
	until(t, "a process watches", func() bool { return g.state() != nil })
	pid := int(g.state()["pid"].(float64))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	g.endsByItself(pid)
	_ = syscall.Kill(pid, syscall.SIGTERM)
	until(t, "it ends", func() bool { return len(g.sockets()) == 0 })
	if out, errs, exit := g.does("setup", "--remove", "--yes"); exit != 0 {
		t.Errorf("exit %d: %s %s", exit, out, errs)
	}
	if _, err := os.Stat(settings); err == nil {
		t.Error("it is not taken back")
	}
}

func TestTheWatchingIsTakenBackWhereNoAgentIsHere(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	home := t.TempDir()
	g.env = append(g.env, "HOME="+home, "XDG_CONFIG_HOME="+home+"/c", "XDG_STATE_HOME="+home+"/s")
	settings := filepath.Join(home, "c", "rewind", "config")
	if _, errs, exit := g.does("setup", "--remove", "--yes"); exit == 0 || !strings.Contains(errs, "none of these agents is here") {
		t.Errorf("nothing was set up: exit %d, %s", exit, errs)
	}
	g.does("setup", "--watch", "--yes")
	if _, err := os.Stat(settings); err != nil {
		t.Fatal(err)
	}
	if out, errs, exit := g.does("setup", "--remove", "--yes"); exit != 0 {
		t.Errorf("exit %d: %s %s", exit, out, errs)
	}
	if _, err := os.Stat(settings); err == nil {
		t.Error("it is not taken back")
	}
}
