package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The host answers late, so that there is something to wait for; it has more objects than there are files.
func TestAGitRemoteShowsHowFarItIsOnATerminalAlone(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("SKIPPED: there is no script, and so no terminal to draw on")
	}
	g := newGround(t)
	top := t.TempDir()
	must(t, exec.Command("git", "init", "-q", "--bare", "there.git"), top, g.env)
	put(t, top, "ssh", "#!/bin/sh\nsleep 1\nwhile [ \"$1\" != somewhere ]; do shift; done\nshift\nexec sh -c \"$*\"\n")
	if err := os.Chmod(filepath.Join(top, "ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.env = append(g.env, "GIT_SSH_COMMAND="+filepath.Join(top, "ssh"), "GIT_SSH_VARIANT=simple", "TERM=xterm")
	url := "somewhere:" + filepath.Join(top, "there.git")
	for _, args := range [][]string{{"snapshot"}, {"remote", "add", "--yes", "host", url}, {"push"}} {
		if out, errs, exit := g.does(args...); exit != 0 || errs != "" {
			t.Fatal(args, exit, out, errs)
		}
	}
	onTerminal := func(args ...string) string {
		t.Helper()
		cmd := g.command()
		cmd.Path, cmd.Args = script, []string{"script", "-qec", "program " + strings.Join(args, " "), "/dev/null"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %q", args, err, out)
		}
		return string(out)
	}
	for i := range 150 { // git unpacks fewer in silence
		put(t, g.dir, fmt.Sprint("n", i), fmt.Sprint(i))
	}
	g.does("snapshot")
	if out := onTerminal("push"); !regexp.MustCompile(`\x1b\[Kpush \[.*\] \d+ of 1[6-9]\d`).MatchString(out) || !strings.Contains(out, "\r\x1b[Kpushed 1 snapshot") {
		t.Errorf("a push shows %q", out)
	}
	to := filepath.Join(top, "to")
	if out := onTerminal("resume", url, to); !regexp.MustCompile(`\x1b\[Kfetch \[.*\] \d+ of 1[6-9]\d`).MatchString(out) || !strings.Contains(out, "\r\x1b[K") || !strings.Contains(out, "is snapshot") {
		t.Errorf("a resume shows %q", out)
	}
	if out, errs, exit := g.does("resume", url, to+"2"); exit != 0 || errs != "" {
		t.Errorf("a resume into a pipe ends with %d and says %s%s", exit, out, errs)
	}
}
