package gitconf

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// A place is a temporary directory with a home, in which git is asked and our
// code answers with the same environment.
type place struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git program, which is the oracle of this test")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: dir, env: map[string]string{
		"HOME": filepath.Join(dir, "home"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": filepath.Dir(dir),
	}}
	p.mkdir("home")
	return p
}

func (p *place) options() *Options {
	return &Options{Env: func(name string) string { return p.env[name] }}
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) mkdir(name string) {
	p.t.Helper()
	if err := os.MkdirAll(p.path(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(name, content string) {
	p.t.Helper()
	p.mkdir(filepath.Dir(name))
	if err := os.WriteFile(p.path(name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// try runs git in a directory of the place.
func (p *place) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = p.path(dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	for k, v := range p.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := gittest.Run(cmd); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return out.String(), nil
}

func (p *place) git(dir string, args ...string) string {
	p.t.Helper()
	out, err := p.try(dir, args...)
	if err != nil {
		p.t.Fatalf("git %q in %s: %v", args, dir, err)
	}
	return out
}
