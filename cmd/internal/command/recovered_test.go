package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// rewind carries out one command line in this process.
func rewind(t *testing.T, args ...string) (out, prose string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, cli.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), code
}

// interrupted is a directory in which a restore was cut short, and a file that
// it had not come to was edited since.
func interrupted(t *testing.T, git bool) (dir, id string) {
	t.Helper()
	base := t.TempDir()
	t.Setenv("HOME", base)
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(base, "config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir = filepath.Join(base, "w")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o755))
	if git {
		if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no git here: %s", out)
		}
	}
	fill := func(text string) {
		for n := range 60 {
			must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d", n)), []byte(text), 0o644))
		}
	}
	fill("one")
	id, _, code := rewind(t, "-C", dir, "snapshot")
	if code != exit.Done {
		t.Fatalf("snapshot exits with %d", code)
	}
	id = strings.Fields(id)[0]
	fill("two")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := engine.Open(ctx, dir, &engine.Options{Progress: func(p engine.Progress) {
		if p.Step == "restore" && p.Done >= 10 {
			cancel()
		}
	}})
	must(err)
	defer e.Close()
	s, err := e.Find(ctx, id)
	must(err)
	if _, err := e.Do(ctx, engine.Op{To: s.ID}); !errors.Is(err, engine.ErrUnfinished) {
		t.Fatalf("the restore was not cut short: %v", err)
	}
	must(os.WriteFile(filepath.Join(dir, "059"), []byte("edited since"), 0o644))
	return dir, id
}

// wantConflict checks that an object tells what was finished, with its conflict.
func wantConflict(t *testing.T, what, object string) {
	t.Helper()
	var got struct {
		Recovered *struct {
			Written   int
			Conflicts []struct{ Path string }
		}
	}
	if err := json.Unmarshal([]byte(object), &got); err != nil {
		t.Fatalf("%s prints %s: %v", what, object, err)
	}
	if r := got.Recovered; r == nil || r.Written == 0 || len(r.Conflicts) != 1 || r.Conflicts[0].Path != "059" {
		t.Errorf("%s says nothing of what it finished: %s", what, object)
	}
}

func TestEachCommandSaysWhatItFinished(t *testing.T) {
	for _, args := range [][]string{
		{"snapshot"}, {"prune"}, {"purge", "--yes", "001"}, {"import"}, {"sync"}, {"restore", "--yes", "@"},
	} {
		t.Run(args[0], func(t *testing.T) {
			dir, _ := interrupted(t, true)
			json := args[0] != "sync"
			if json {
				args = append(args, "--json")
			}
			out, prose, code := rewind(t, append([]string{"-C", dir}, args...)...)
			if code != exit.Partial {
				t.Errorf("exits with %d: %s", code, prose)
			}
			if !strings.Contains(prose, "conflict: 059: changed since") || !strings.Contains(prose, "finished what had been interrupted") {
				t.Errorf("the prose is %s", prose)
			}
			if json {
				wantConflict(t, args[0], out)
			}
		})
	}
}

func TestARequestSaysWhatItFinished(t *testing.T) {
	for _, method := range []string{"snapshot", "prune", "sync"} {
		dir, _ := interrupted(t, false)
		s := serveAt(t, dir)
		text, err := json.Marshal(s.must(method, map[string]any{}))
		if err != nil {
			t.Fatal(err)
		}
		wantConflict(t, method, string(text))
	}
}

// In a copy of the directory an operation that was interrupted is left as it is.
func TestARequestSaysWhatItLeftUnfinished(t *testing.T) {
	gittest.Slashes(t) // it copies with cp
	dir, _ := interrupted(t, true)
	copied := filepath.Join(t.TempDir(), "copied")
	must(t, exec.Command("cp", "-a", dir, copied), dir, nil)
	s := serveAt(t, copied)
	for _, method := range []string{"prune", "snapshot"} {
		if text, _ := s.must(method, nil)["unfinished"].(string); !strings.Contains(text, "it is left alone") {
			t.Errorf("%s says nothing of what is unfinished: %q", method, text)
		}
	}
	if len(s.notes) != 1 || !strings.Contains(string(s.notes[0].Params), "it is left alone") {
		t.Errorf("snapshot warns of %+v", s.notes)
	}
}

// full is an output that has no room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/full", Err: errors.New("no space left on device")}
}

func TestAResultThatCannotBeWrittenIsAFailure(t *testing.T) {
	dir, _ := interrupted(t, false)
	for _, args := range [][]string{{"list", "--json"}, {"list"}, {"status"}, {"snapshot", "--json"}, {"cat", "@:000"}} {
		var stderr bytes.Buffer
		code := run(context.Background(), append([]string{"-C", dir}, args...), cli.Stdio{In: strings.NewReader(""), Out: full{}, Err: &stderr})
		if code != exit.Failed || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v exits with %d: %s", args, code, stderr.String())
		}
	}
	reader, writer := io.Pipe()
	reader.Close() // a reader who has seen enough
	if code := run(context.Background(), []string{"-C", dir, "list"}, cli.Stdio{In: strings.NewReader(""), Out: writer, Err: io.Discard}); code != exit.Done {
		t.Errorf("a closed pipe gives %d", code)
	}
}

// TestStatusSaysWhatBecomesOfAnInterruptedUndo: an undo does not take an undo back.
func TestStatusSaysWhatBecomesOfAnInterruptedUndo(t *testing.T) {
	dir, _ := interrupted(t, false)
	status := func(want string) {
		t.Helper()
		if out, _, _ := rewind(t, "-C", dir, "status"); !strings.Contains(out, want) {
			t.Errorf("status does not say %q:\n%s", want, out)
		}
	}
	status(": the next command finishes it, rewind undo takes it back\n")
	rewind(t, "-C", dir, "snapshot")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := engine.Open(ctx, dir, &engine.Options{Progress: func(p engine.Progress) {
		if p.Step != "scan" && p.Done >= 10 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Do(ctx, engine.Op{Verb: engine.Undo}); !errors.Is(err, engine.ErrUnfinished) {
		t.Fatalf("the undo was not cut short: %v", err)
	}
	status("unfinished undo of ")
	status(": the next command finishes it, also rewind undo; rewind redo takes it back\n")
	if _, prose, code := rewind(t, "-C", dir, "undo", "--yes"); code != exit.Done {
		t.Fatalf("undo exits with %d: %s", code, prose)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "000")); err != nil || string(b) != "two" {
		t.Errorf("the undo was not finished by undo: %q, %v", b, err)
	}
}
