//go:build linux && (amd64 || arm64)

package fuzz

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestAKillWhileAHistoryFollowsItsDirectoryLosesNothing kills the first command in a
// directory with history that was renamed, or made a repository, before each n-th
// call that changes a disk. The next one has all of the history, once, and every
// byte of it. REWIND_FUZZ_EVERY=1 tries every call.
func TestAKillWhileAHistoryFollowsItsDirectoryLosesNothing(t *testing.T) {
	if birth, err := dirfd.Birth(t.TempDir()); err != nil || !strings.HasPrefix(birth, "born ") {
		t.Skipf("SKIPPED: the file system of the tests does not tell when a directory was made: %q, %v", birth, err)
	}
	for _, how := range []string{"renamed", "git init"} {
		total := follow(t, how, 0)
		t.Logf("%s: %d durable calls", how, total)
		for n := range someOf(total, rand.New(rand.NewPCG(seed.Of(t), 3)), 3*time.Second) {
			follow(t, how, n+1)
		}
	}
}

// follow makes a directory with history, lets a child that dies before its n-th
// durable call use it under its new name or as a repository, and looks what is there.
// It returns how many calls the child made, if it came to its end.
func follow(t *testing.T, how string, n int) int {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s, killed before call %d: %v", how, n, err)
		}
	}
	base, ctx := t.TempDir(), t.Context()
	root, home := filepath.Join(base, "w"), filepath.Join(base, "home")
	must(os.Mkdir(root, 0o755))
	must(os.Mkdir(home, 0o755))
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "REWIND_FUZZ_CHILD": "follow", "REWIND_FUZZ_DIE": strconv.Itoa(n)}
	open := func() *engine.Engine {
		t.Helper()
		e, err := engine.Open(ctx, root, &engine.Options{Getenv: func(name string) string { return env[name] }})
		must(err)
		return e
	}
	e := open()
	texts := map[oid.ID]string{}
	for i := range 4 {
		text := strings.Repeat(fmt.Sprint("version ", i, "\n"), 1<<(6*i%17))
		must(os.WriteFile(filepath.Join(root, "f"), []byte(text), 0o644))
		must(os.WriteFile(filepath.Join(root, "only"+strconv.Itoa(i)), []byte(text+"x"), 0o600))
		r, err := e.Snapshot(ctx, nil)
		must(err)
		texts[r.ID] = text
	}
	must(e.Close())
	if how == "renamed" {
		must(os.Rename(root, root+"2"))
		root += "2"
	} else {
		cmd := exec.Command("git", "init", "-q", "-b", "main")
		cmd.Dir = root
		must(cmd.Run())
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Dir = root
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, _ := cmd.Output()
	said := strings.Fields(string(out))
	if bytes.HasPrefix(out, []byte("unsupported")) {
		t.Skipf("NOT TESTED: the system does not report system calls: %s", out)
	}
	if bytes.HasPrefix(out, []byte("error")) {
		t.Fatalf("%s, killed before call %d: %s", how, n, out)
	}
	f := &followed{t: t, open: open, what: fmt.Sprintf("%s, killed before call %d", how, n), texts: texts}
	f.check()
	f.check() // not taken over twice
	e = open()
	if r, err := e.Snapshot(ctx, nil); err != nil || r.Bridge != nil {
		t.Errorf("%s: %v, %v", f.what, err, r)
	}
	must(e.Close())
	calls := 0
	if len(said) == 2 && said[0] == "calls" {
		calls, _ = strconv.Atoi(said[1])
	}
	return calls
}

// A followed is a directory whose history has to be all there.
type followed struct {
	t     *testing.T
	open  func() *engine.Engine
	what  string
	texts map[oid.ID]string
}

func (f *followed) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", f.what, err)
	}
}

func (f *followed) check() {
	f.t.Helper()
	e, ctx := f.open(), f.t.Context()
	list, err := e.List(ctx, nil)
	f.must(err)
	if len(list) != len(f.texts) {
		f.t.Errorf("%s: %d snapshots of %d; %q", f.what, len(list), len(f.texts), e.Warnings())
	}
	for id, text := range f.texts {
		s, err := e.Find(ctx, id)
		f.must(err)
		var got bytes.Buffer
		f.must(e.Cat(ctx, s, "f", &got))
		if got.String() != text {
			f.t.Errorf("%s: %v has %d bytes of %d", f.what, id, got.Len(), len(text))
		}
	}
	v, err := e.Verify(ctx)
	f.must(err)
	if len(v.Damaged) > 0 {
		f.t.Errorf("%s: damaged %+v", f.what, v.Damaged)
	}
	f.must(e.Close())
}

// followAndDie is the first command in such a directory.
func followAndDie() {
	n, _ := strconv.Atoi(os.Getenv("REWIND_FUZZ_DIE"))
	count, err := dieAt(n)
	if err != nil {
		fmt.Println("unsupported", err)
		os.Exit(4)
	}
	e, err := engine.Open(context.Background(), ".", nil)
	childExit(err)
	if w := e.Warnings(); len(w) != 1 {
		childExit(fmt.Errorf("warnings %q", w))
	}
	childExit(e.Close())
	fmt.Println("calls", count())
	os.Exit(0)
}
