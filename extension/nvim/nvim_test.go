// Package nvim_test runs the plug-in for Neovim in the editor: headless by the script
// test/flows.lua, and with keys in a terminal.
package nvim_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bin is the directory in which the program is.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "nvim"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(bin)
		if _, err := exec.LookPath("nvim"); err != nil {
			return m.Run()
		}
		out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "rewind"), "github.com/seed-82afce7a/rewind/cmd/rewind").CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// An editor is Neovim with the plug-in and nothing else, in a place of its own.
type editor struct {
	dir, home string
	args, env []string
}

func newEditor(t *testing.T) *editor {
	t.Helper()
	if _, err := exec.LookPath("nvim"); err != nil {
		t.Skip("SKIPPED: there is no nvim: the plug-in for Neovim was not tried")
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{dir: t.TempDir(), home: t.TempDir()}
	if e.dir, err = filepath.EvalSymlinks(e.dir); err != nil {
		t.Fatal(err)
	}
	e.args = []string{"-u", "NONE", "-i", "NONE", "-n", "--cmd", "set rtp^=" + folder, "-c", "runtime plugin/rewind.lua"}
	e.env = []string{"HOME=" + e.home, "XDG_STATE_HOME=" + e.home + "/state", "XDG_CONFIG_HOME=" + e.home + "/config",
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=tmux-256color",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "TMPDIR=" + e.home}
	return e
}

// Each function of the script is a test; REWIND_NVIM names some of them.
func TestTheEditorWithoutATerminal(t *testing.T) { runScript(t, "0", os.Getenv("REWIND_NVIM")) }

// What meets them has the names that newer versions have, and not those that they drop.
func TestAnEditorWithoutDeprecatedNames(t *testing.T) {
	runScript(t, "1", "lines_are_put_back,the_prompt_of_a_line,a_server_that_died,names_of_any_bytes,checkhealth")
}

func runScript(t *testing.T, newer, only string) {
	t.Helper()
	e := newEditor(t)
	results := filepath.Join(e.home, "results")
	script, err := filepath.Abs("test/flows.lua")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nvim", append(append([]string{"--headless"}, e.args...), "-c", "luafile "+script)...)
	cmd.Dir, cmd.Env = e.dir, append(e.env, "RESULTS="+results, "ONLY="+only, "NEWER="+newer)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(15*time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	ended := cmd.Wait()
	text, _ := os.ReadFile(results)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if ended != nil || len(lines) < 2 || lines[len(lines)-1] != "end" {
		t.Fatalf("%v\n%s\n%s", ended, text, out.String())
	}
	for _, line := range lines[:len(lines)-1] {
		result, rest, _ := strings.Cut(line, " ")
		name, why, _ := strings.Cut(rest, " ")
		t.Run(name, func(t *testing.T) {
			if result != "ok" {
				t.Error(strings.ReplaceAll(why, "\x01", "\n"))
			}
		})
	}
}

// A terminal has the editor in it, kept by a tmux of its own.
type terminal struct {
	t *testing.T
	*editor
	socket string
}

func newTerminal(t *testing.T, e *editor, file string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: there is no tmux to draw in")
	}
	term := &terminal{t, e, filepath.Join(e.home, "tmux")}
	quoted := "cd '" + e.dir + "' && exec env -i '" + strings.Join(e.env, "' '") + "' nvim '" + strings.Join(e.args, "' '") + "' " + file
	term.tmux("new-session", "-d", "-s", "s", "-x", "100", "-y", "30", quoted)
	group := strings.TrimSpace(term.tmux("display-message", "-p", "-t", "s", "#{pane_pid}"))
	t.Cleanup(func() { // the editor writes into its directories as it ends
		term.tmux("kill-server")
		for exec.Command("sh", "-c", "kill -0 -- -"+group).Run() == nil {
			time.Sleep(10 * time.Millisecond)
		}
	})
	term.tmux("set-option", "-g", "escape-time", "0")
	return term
}

func (s *terminal) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// press sends keys and waits until the screen shows a text.
func (s *terminal) press(until string, keys ...string) string {
	s.t.Helper()
	if len(keys) > 0 {
		s.tmux(append([]string{"send-keys", "-t", "s"}, keys...)...)
	}
	var text string
	for range 600 {
		if text = s.tmux("capture-pane", "-p", "-t", "s"); strings.Contains(text, until) {
			return text
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("after %v the screen has no %q:\n%s", keys, until, text)
	return ""
}

func (e *editor) rewind(t *testing.T, input string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "rewind"), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = e.dir, e.env, strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func (e *editor) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (e *editor) has(t *testing.T, name, want string) {
	t.Helper()
	var got []byte
	for range 200 { // it may be about to be written
		if got, _ = os.ReadFile(filepath.Join(e.dir, name)); string(got) == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s has %q, want %q", name, got, want)
}

func TestAPersonGoesBackByKeys(t *testing.T) {
	e := newEditor(t)
	e.put(t, "f.txt", "a\nb\n")
	e.rewind(t, `{"session":"S","prompt_id":"P","prompt":"fix the test"}`, "hook", "generic", "before")
	e.put(t, "f.txt", "a\nB\n")
	e.rewind(t, `{"session":"S","prompt_id":"P"}`, "hook", "generic", "after")
	s := newTerminal(t, e, "f.txt")
	s.press("f.txt", ":RewindBlame", "Enter", "j")
	s.press("“fix the test”")
	s.press("g? shows the keys", ":Rewind", "Enter")
	s.press("yank the id", "g", "?")
	s.press("generic S", "Enter")
	s.press("M f.txt", "Tab")
	s.press("│", "j", "d", "d")
	s.press("M f.txt", ":tabclose", "Enter")
	s.press("before “fix the test”", "]", "]")
	s.press("(Y)es, [N]o", "r")
	s.press("nothing was changed", "n")
	e.has(t, "f.txt", "a\nB\n")
	s.press("(Y)es, [N]o", "r")
	s.press("1 written, 0 deleted", "y")
	e.has(t, "f.txt", "a\nb\n")
	text := s.press("g? shows the keys")
	if !strings.HasPrefix(text, "a\nb\n") {
		t.Errorf("the window of the file shows\n%s", text)
	}
	s.press("(Y)es, [N]o", "u")
	s.press("undone", "y")
	e.has(t, "f.txt", "a\nB\n")
	s.press("Label", "s")
	s.press("by hand", "by hand", "Enter")
}

// While the editor waits it reads no keys by itself.
func TestCtrlCCallsOffWhatTheServerDoesNotAnswer(t *testing.T) {
	e := newEditor(t)
	script := filepath.Join(e.home, "deaf")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nwhile read -r line; do :; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e.put(t, "f.txt", "a\n")
	e.args = append(e.args, "--cmd", "let g:rewind_program = \""+script+"\"")
	s := newTerminal(t, e, "f.txt")
	s.press("f.txt", ":Rewind", "Enter")
	time.Sleep(300 * time.Millisecond)
	s.press("rewind: called off", "j", "C-c")
	s.press("one more", "i", "one more", "Escape")
}
