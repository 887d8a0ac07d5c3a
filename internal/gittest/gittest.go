// Package gittest makes repositories for tests with the git program, which is the
// oracle of what this module reads and writes of git's.
//
// Nothing but the repository has a say in what git does: neither the user's
// configuration nor the machine's.
package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Need skips a test where the git program is not installed.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: the git program is not here, and it is what this test compares with")
	}
}

// alone is the environment in which nobody's configuration counts.
var alone = [][2]string{
	{"GIT_CONFIG_NOSYSTEM", "1"}, {"GIT_ATTR_NOSYSTEM", "1"}, {"GIT_CONFIG_GLOBAL", os.DevNull},
	{"GIT_TERMINAL_PROMPT", "0"}, {"HOME", os.DevNull},
}

var isAlone bool

// Alone makes that the environment of the process, for what is tested may read it too.
// A test may change it.
func Alone() {
	isAlone = true
	for _, v := range alone {
		if err := os.Setenv(v[0], v[1]); err != nil {
			panic(err)
		}
	}
}

// A Repo is a directory in which git is asked.
type Repo struct {
	T   testing.TB
	Dir string
	Env []string // beside what the process has; later ones win
}

// New makes a repository whose first branch is main. Init are options of git init.
func New(t testing.TB, init ...string) *Repo {
	t.Helper()
	Need(t)
	r := &Repo{T: t, Dir: t.TempDir()}
	r.Git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	for name, value := range map[string]string{"gc.auto": "0", "user.name": "A. User", "user.email": "user@example.org"} {
		r.Git("config", name, value)
	}
	return r
}

// Of makes a repository of a hash.
func Of(t testing.TB, alg oid.Algorithm) *Repo {
	t.Helper()
	return New(t, "--object-format="+alg.String())
}

// Both calls a test for each hash that git knows, as tests of their own.
func Both(t *testing.T, f func(t *testing.T, alg oid.Algorithm)) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		t.Run(alg.String(), func(t *testing.T) { f(t, alg) })
	}
}

// Command is git in the repository.
func (r *Repo) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = os.Environ()
	for _, v := range alone {
		if !isAlone {
			cmd.Env = append(cmd.Env, v[0]+"="+v[1])
		}
	}
	cmd.Env = append(cmd.Env, r.Env...)
	return cmd
}

// Ask gives a text to git, and returns what that writes to its standard output. An
// error has what it complains of.
func (r *Repo) Ask(stdin string, args ...string) (string, error) {
	cmd := r.Command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := Run(cmd)
	if err != nil {
		err = fmt.Errorf("git %q: %w: %s", args, err, complaint.String())
	}
	return out.String(), err
}

// Give is Ask for what must succeed, without the blanks at both ends.
func (r *Repo) Give(stdin string, args ...string) string {
	r.T.Helper()
	out, err := r.Ask(stdin, args...)
	if err != nil {
		r.T.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// Git is Give without a text.
func (r *Repo) Git(args ...string) string {
	r.T.Helper()
	return r.Give("", args...)
}

// Try runs git, and returns all that it says.
func (r *Repo) Try(args ...string) (string, error) {
	cmd := r.Command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := Run(cmd)
	return strings.TrimSpace(out.String()), err
}

// ID is what a name leads to.
func (r *Repo) ID(name string) oid.ID {
	r.T.Helper()
	return r.Parse(r.Git("rev-parse", "--verify", name))
}

// Parse reads an id.
func (r *Repo) Parse(text string) oid.ID {
	r.T.Helper()
	id, err := oid.Parse(text)
	if err != nil {
		r.T.Fatal(err)
	}
	return id
}

// Path is where a name lies in the repository.
func (r *Repo) Path(name ...string) string {
	return filepath.Join(append([]string{r.Dir}, name...)...)
}

// Write writes a file of the repository, with the directories above it.
func (r *Repo) Write(name, text string) {
	r.T.Helper()
	path := r.Path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		r.T.Fatal(err)
	}
}

// Script writes a program of the shell into the repository, and returns its path.
func (r *Repo) Script(name, text string) (path string) {
	r.T.Helper()
	r.Write(name, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(r.Path(name), 0o755); err != nil {
		r.T.Fatal(err)
	}
	return r.Path(name)
}

// Clean asks git whether everything is whole.
func (r *Repo) Clean() {
	r.T.Helper()
	out, err := r.Try("fsck", "--strict", "--full", "--no-dangling")
	for _, bad := range []string{"missing", "error", "warning", "corrupt"} {
		if err != nil || strings.Contains(out, bad) {
			r.T.Errorf("fsck: %v %s", err, out)
			break
		}
	}
}
