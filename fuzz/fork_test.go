//go:build linux && (amd64 || arm64)

package fuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestAKillOfAForkLosesNothing kills a process before each n-th call that changes a
// disk, while it makes a fork with the ignored files of the present, adopts what is done
// there, takes that back and removes the fork. What was done there is there or in a snapshot, the worktree is as it was or
// has all that was adopted, and the fork can be removed and made again.
// REWIND_FUZZ_EVERY=1 tries every call.
func TestAKillOfAForkLosesNothing(t *testing.T) {
	for _, git := range []bool{false, true} {
		total := forkAndBeKilled(t, git, 0)
		seed := seed.Of(t)
		t.Logf("git %v: %d durable calls, seed %d", git, total, seed)
		for n := range someOf(total, rand.New(rand.NewPCG(seed, 7)), 3*time.Second) {
			forkAndBeKilled(t, git, n+1)
		}
	}
}

// A forked world is a worktree, and the place of a fork of it.
type forked struct {
	t         *testing.T
	what      string
	root, dir string
	env       map[string]string
	begin     map[string]string // the worktree's files before
}

func (f *forked) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", f.what, err)
	}
}

func (f *forked) options() *engine.Options {
	return &engine.Options{Getenv: func(name string) string { return f.env[name] }}
}

func newForked(t *testing.T, git bool, n int) *forked {
	base := t.TempDir()
	f := &forked{t: t, what: fmt.Sprintf("git %v, killed before call %d", git, n), root: filepath.Join(base, "w"), dir: filepath.Join(base, "f")}
	home := filepath.Join(base, "home")
	f.env = map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "REWIND_FUZZ_CHILD": "fork", "REWIND_FUZZ_DIE": strconv.Itoa(n), "REWIND_FUZZ_TARGET": f.dir}
	f.must(errors.Join(os.Mkdir(home, 0o755), os.MkdirAll(filepath.Join(f.root, "d"), 0o755), os.MkdirAll(filepath.Join(f.root, "modules", "m"), 0o755)))
	for name, text := range map[string]string{"text": "one\ntwo\nthree\nfour\nfive\n", "gone": "x", "d/file": strings.Repeat("long\n", 5000), ".gitignore": ".env\nmodules/\n", ".env": "secret", "modules/m/one": strings.Repeat("module\n", 50000), "modules/two": "two"} {
		f.must(os.WriteFile(filepath.Join(f.root, name), []byte(text), 0o644))
	}
	if git {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "one"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = f.root
			f.must(cmd.Run())
		}
	}
	e := f.open()
	_, err := e.Snapshot(t.Context(), nil)
	f.must(errors.Join(err, e.Close()))
	f.must(os.WriteFile(filepath.Join(f.root, "text"), []byte("one\ntwo\nthree\nfour\nFIVE\n"), 0o644))
	f.begin = files(t, f.root)
	return f
}

func (f *forked) open() *engine.Engine {
	f.t.Helper()
	e, err := engine.Open(f.t.Context(), f.root, f.options())
	f.must(err)
	return e
}

// forkAndBeKilled returns how many durable calls the child made, if it came to its end.
func forkAndBeKilled(t *testing.T, git bool, n int) int {
	t.Helper()
	f := newForked(t, git, n)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Dir = f.root
	for name, value := range f.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, _ := cmd.Output()
	switch {
	case bytes.HasPrefix(out, []byte("unsupported")):
		t.Skipf("NOT TESTED: the system does not report system calls: %s", out)
	case bytes.Contains(out, []byte("error")):
		t.Fatalf("%s: %s", f.what, out)
	}
	f.check(bytes.Contains(out, []byte("edited")))
	calls, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(out[max(0, bytes.LastIndex(out, []byte("calls"))):]), "calls")))
	return calls
}

// check looks at everything after the child, and makes and removes the fork again.
func (f *forked) check(edited bool) {
	f.t.Helper()
	e, ctx := f.open(), f.t.Context()
	defer e.Close()
	_, err := e.Snapshot(ctx, nil) // which finishes what was interrupted
	f.must(err)
	adopted := maps.Clone(f.begin)
	adopted["/text"], adopted["/new"] = "ONE\ntwo\nthree\nfour\nFIVE\n", "made there"
	delete(adopted, "/gone")
	if now := files(f.t, f.root); !maps.Equal(now, f.begin) && !maps.Equal(now, adopted) {
		f.t.Errorf("%s: the worktree has %.300q", f.what, now)
	}
	list, err := fork.List(ctx, e, f.options())
	f.must(err)
	if _, err := os.Lstat(f.dir); err == nil && len(list) != 1 {
		f.t.Fatalf("%s: the directory is there, and no fork is known", f.what)
	}
	for _, l := range list {
		if l.Err != nil {
			f.t.Errorf("%s: %s: %v", f.what, l.State, l.Err)
		}
		_, err := fork.Remove(ctx, e, f.dir, false, f.options())
		f.must(err)
	}
	if edited && !f.recorded(e) {
		f.t.Errorf("%s: what was done in the fork is nowhere", f.what)
	}
	s, err := e.Resolve(ctx, "@")
	f.must(err)
	dir, err := fork.Place(ctx, e, f.dir)
	f.must(err)
	_, err = fork.Make(ctx, e, s, dir, nil)
	f.must(err)
	_, err = fork.Remove(ctx, e, f.dir, false, f.options())
	f.must(err)
}

// recorded reports whether a snapshot has what was done in the fork.
func (f *forked) recorded(e *engine.Engine) bool {
	all, err := e.List(f.t.Context(), &engine.ListOptions{All: true})
	f.must(err)
	for _, s := range all {
		var text, made bytes.Buffer
		if e.Cat(f.t.Context(), s, "text", &text) == nil && e.Cat(f.t.Context(), s, "new", &made) == nil &&
			strings.HasPrefix(text.String(), "ONE\n") && made.String() == "made there" {
			return true
		}
	}
	return false
}

// forkAndDie makes a fork, adopts what is done there, takes that back, removes the fork,
// and dies before a durable call that is given by number.
func forkAndDie() {
	n, _ := strconv.Atoi(os.Getenv("REWIND_FUZZ_DIE"))
	ctx, opt := context.Background(), &engine.Options{}
	e, err := engine.Open(ctx, ".", opt)
	childExit(err)
	s, err := e.Resolve(ctx, "@")
	childExit(err)
	dir, err := fork.Place(ctx, e, os.Getenv("REWIND_FUZZ_TARGET"))
	childExit(err)
	count, err := dieAt(n)
	if err != nil {
		fmt.Println("unsupported", err)
		os.Exit(4)
	}
	along, err := fork.Look(ctx, e, s, dir, fork.How{Copy: true})
	childExit(err)
	_, err = fork.Make(ctx, e, s, dir, along)
	childExit(err)
	childExit(errors.Join(os.WriteFile(filepath.Join(dir, "text"), []byte("ONE\ntwo\nthree\nfour\nfive\n"), 0o644),
		os.Remove(filepath.Join(dir, "gone")), os.WriteFile(filepath.Join(dir, "new"), []byte("made there"), 0o644)))
	fmt.Println("edited")
	a, err := fork.Adopt(ctx, e, dir, opt, engine.Op{})
	childExit(err)
	done, err := a.Merge(e, ctx, engine.Op{})
	childExit(err)
	if len(done.Conflicts) > 0 {
		childExit(fmt.Errorf("%v", done.Conflicts))
	}
	_, err = e.Do(ctx, engine.Op{Verb: engine.Undo})
	childExit(err)
	_, err = fork.Remove(ctx, e, dir, false, opt)
	childExit(err)
	fmt.Println("calls", count())
	os.Exit(0)
}
