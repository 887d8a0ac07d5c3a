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
	"github.com/seed-82afce7a/rewind/internal/bisect"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// TestAKillDuringABisectLosesNothing kills a bisect before each n-th call that
// changes a disk, while tests dirty the files. Closing it, in another process, puts
// every file back, and undo and redo are what they were. REWIND_FUZZ_EVERY=1 tries
// every call.
func TestAKillDuringABisectLosesNothing(t *testing.T) {
	for _, git := range []bool{false, true} {
		total := searchAndDie(t, git, 0)
		t.Logf("git %v: %d durable calls", git, total)
		for n := range someOf(total, rand.New(rand.NewPCG(seed.Of(t), 5)), 3*time.Second) {
			searchAndDie(t, git, n+1)
		}
	}
}

// searchAndDie makes a worktree with a history of undo and redo, lets a child bisect
// there that dies before its n-th durable call, and puts everything back. It returns
// how many calls the child made, if it came to its end.
func searchAndDie(t *testing.T, git bool, n int) int {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("git %v, killed before call %d: %v", git, n, err)
		}
	}
	base, ctx := t.TempDir(), t.Context()
	root, home := filepath.Join(base, "w"), filepath.Join(base, "home")
	must(errors.Join(os.MkdirAll(filepath.Join(root, "ignored"), 0o755), os.Mkdir(home, 0o755)))
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "REWIND_FUZZ_CHILD": "bisect", "REWIND_FUZZ_DIE": strconv.Itoa(n)}
	if git {
		must(exec.Command("git", "init", "-q", "-b", "main", root).Run())
	}
	write := func(name, text string) { must(os.WriteFile(filepath.Join(root, name), []byte(text), 0o644)) }
	write(".gitignore", "ignored/\n.env\n")
	open := func() *engine.Engine {
		t.Helper()
		e, err := engine.Open(ctx, root, &engine.Options{Getenv: func(name string) string { return env[name] }})
		must(err)
		return e
	}
	e := open()
	must(recordSix(ctx, e, write))
	write("ignored/dep", "dependency")
	write(".env", "secret")
	write("f", "the present")
	write("mine", "untracked")
	before, history := files(t, root), historyOf(t, e)
	must(e.Close())
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Dir = root
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, _ := cmd.Output()
	switch {
	case bytes.HasPrefix(out, []byte("unsupported")):
		t.Skipf("NOT TESTED: the system does not report system calls: %s", out)
	case bytes.Contains(out, []byte("error")):
		t.Fatalf("git %v, killed before call %d: %s", git, n, out)
	}
	e = open()
	defer e.Close()
	away, err := e.Away(ctx)
	must(err)
	if away != nil {
		b, err := bisect.Open(ctx, e)
		must(err)
		done, err := b.Close(ctx, false)
		must(err)
		b.Release()
		if len(done.Conflicts) > 0 {
			must(fmt.Errorf("conflicts %v", done.Conflicts))
		}
	}
	if after := files(t, root); !maps.Equal(before, after) {
		t.Errorf("git %v, killed before call %d:\nbefore %.300q\nafter  %.300q", git, n, before, after)
	}
	if now := historyOf(t, e); now != history {
		t.Errorf("git %v, killed before call %d: undo and redo were %s and are %s", git, n, history, now)
	}
	_, err = e.Do(ctx, engine.Op{Verb: engine.Redo}) // the snapshots behind it are there
	must(err)
	calls, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(out[max(0, bytes.LastIndex(out, []byte("calls"))):]), "calls")))
	return calls
}

// recordSix makes six snapshots, and something to redo.
func recordSix(ctx context.Context, e *engine.Engine, write func(name, text string)) error {
	var first *engine.Recorded
	for i := range 6 {
		write("f", strings.Repeat("line\n", 1+i*i*300))
		write("only"+strconv.Itoa(i), "x")
		if err := os.RemoveAll(filepath.Join(e.Root(), "only"+strconv.Itoa(i-2))); err != nil {
			return err
		}
		r, err := e.Snapshot(ctx, nil)
		if err != nil {
			return err
		}
		if first == nil {
			first = r
		}
	}
	if _, err := e.Do(ctx, engine.Op{To: first.ID}); err != nil {
		return err
	}
	_, err := e.Do(ctx, engine.Op{Verb: engine.Undo})
	return err
}

// historyOf says what undo and redo would do, and where the files stand.
func historyOf(t *testing.T, e *engine.Engine) string {
	t.Helper()
	st, err := e.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Plan(t.Context(), engine.Op{Verb: engine.Redo})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %d redo to %v here %v", st.Undo, st.Redo, p.Target.ID, st.Here)
}

// files are the contents below a directory, but for git's.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// bisectAndDie searches with tests that dirty the files, and dies before a durable
// call that is given by number.
func bisectAndDie() {
	n, _ := strconv.Atoi(os.Getenv("REWIND_FUZZ_DIE"))
	ctx := context.Background()
	e, err := engine.Open(ctx, ".", nil)
	childExit(err)
	list, err := e.List(ctx, &engine.ListOptions{OnPurpose: true})
	childExit(err)
	count, err := dieAt(n)
	if err != nil {
		fmt.Println("unsupported", err)
		os.Exit(4)
	}
	b, err := bisect.Start(ctx, e, &bisect.Options{Good: list[len(list)-1], Bad: list[0]})
	childExit(err)
	for {
		s, err := b.Next(ctx)
		childExit(err)
		if s == nil {
			break
		}
		verdict := bisect.Good
		if text, err := os.ReadFile("f"); err != nil || len(text) > 10000 {
			verdict = bisect.Bad
		}
		for name, text := range map[string]string{"f": "dirt", "dirt": "dirt", ".env": "dirt"} {
			childExit(os.WriteFile(name, []byte(text), 0o644))
		}
		childExit(b.Mark(ctx, bisect.Tested{ID: s.ID, Verdict: verdict}))
	}
	done, err := b.Close(ctx, false)
	childExit(err)
	if len(done.Conflicts) > 0 {
		childExit(fmt.Errorf("%v", done.Conflicts))
	}
	fmt.Println("calls", count())
	os.Exit(0)
}
