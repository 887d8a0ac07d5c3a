package command

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// A place in which commands are run, beside a process that watches it or without.
type ground struct {
	t   *testing.T
	dir string
	env []string
	run string // the runtime directory
}

func newGround(t *testing.T) *ground {
	t.Helper()
	dir, env := committed(t, 3)
	run := t.TempDir()
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	return &ground{t: t, dir: dir, env: append(env, "XDG_RUNTIME_DIR="+run), run: run}
}

func (g *ground) command(args ...string) *exec.Cmd {
	cmd := exec.Command("program", args...)
	cmd.Dir, cmd.Env = g.dir, append(os.Environ(), g.env...)
	return cmd
}

// does runs a command, and returns what it prints and how it exits.
func (g *ground) does(args ...string) (out, errs string, exit int) {
	g.t.Helper()
	cmd := g.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		g.t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

func (g *ground) json(args ...string) map[string]any {
	g.t.Helper()
	out, errs, _ := g.does(append(args, "--json")...)
	m := map[string]any{}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		g.t.Fatalf("%v: %q %q: %v", args, out, errs, err)
	}
	return m
}
