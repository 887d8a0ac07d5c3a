//go:build !windows

package exact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/engine"
)

// A driver is one of the two ways to use rewind from outside. Each call is a
// process of its own, or as good as one: nothing is remembered in between.
type driver interface {
	snapshot(w *world) (id string, skipped []string)
	restore(w *world, id string, paths ...string) outcome
	undo(w *world) outcome
	redo(w *world) outcome
}

// An outcome is what a restore, undo or redo named; paths are sorted.
type outcome struct {
	kept, conflicts []string
	reasons         map[string]string // of both
}

func (w *world) place() string {
	if w.cwd == "" {
		return w.root
	}
	return w.cwd
}

// throughEngine uses the Go API.
type throughEngine struct{}

func (throughEngine) open(w *world) *engine.Engine {
	w.Helper()
	e, err := engine.Open(context.Background(), w.place(), &engine.Options{Getenv: func(name string) string { return w.env[name] }})
	if err != nil {
		w.Fatalf("open: %v", err)
	}
	w.Cleanup(func() { e.Close() })
	return e
}

func (d throughEngine) snapshot(w *world) (string, []string) {
	w.Helper()
	r, err := d.open(w).Snapshot(context.Background(), nil)
	if err != nil {
		w.Fatalf("snapshot: %v", err)
	}
	if r.Bridge != nil {
		w.Fatalf("the snapshot did not reach git: %v", r.Bridge)
	}
	var skipped []string
	for _, n := range r.Skipped {
		skipped = append(skipped, string(n.Path))
	}
	slices.Sort(skipped)
	return r.ID.String(), skipped
}

func (d throughEngine) restore(w *world, id string, paths ...string) outcome {
	w.Helper()
	e := d.open(w)
	s, err := e.Find(context.Background(), id)
	if err != nil {
		w.Fatalf("resolve %s: %v", id, err)
	}
	r, err := e.Do(context.Background(), engine.Op{To: s.ID, Paths: paths})
	return d.outcome(w, "restore", r, err)
}

func (d throughEngine) undo(w *world) outcome {
	w.Helper()
	r, err := d.open(w).Do(context.Background(), engine.Op{Verb: engine.Undo})
	return d.outcome(w, "undo", r, err)
}

func (d throughEngine) redo(w *world) outcome {
	w.Helper()
	r, err := d.open(w).Do(context.Background(), engine.Op{Verb: engine.Redo})
	return d.outcome(w, "redo", r, err)
}

func (throughEngine) outcome(w *world, verb string, r *engine.Restored, err error) outcome {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", verb, err)
	}
	o := outcome{reasons: map[string]string{}}
	for _, n := range r.Kept {
		o.kept = append(o.kept, string(n.Path))
		o.reasons[string(n.Path)] = n.Reason
	}
	for _, n := range r.Conflicts {
		o.conflicts = append(o.conflicts, string(n.Path))
		o.reasons[string(n.Path)] = n.Reason
	}
	slices.Sort(o.kept)
	slices.Sort(o.conflicts)
	return o
}

// throughCommand runs the program, as the user of the world.
type throughCommand struct{}

// A note is a path with a reason as the command line prints it.
type note struct {
	Path   string `json:"path"`
	B64    []byte `json:"path_b64"`
	Reason string `json:"reason"`
}

func (n note) path() string {
	if n.B64 != nil {
		return string(n.B64)
	}
	return n.Path
}

// A printed is the JSON object of any verb that these tests use.
type printed struct {
	ID         string                  `json:"id"`
	Tree       string                  `json:"tree"`
	Overlay    string                  `json:"overlay"`
	Reused     bool                    `json:"reused"`
	Bridged    bool                    `json:"bridged"`
	Skipped    []note                  `json:"skipped"`
	Unexpected []struct{ Path string } `json:"unexpected"`
	Unstable   []note                  `json:"unstable"`
	Kept       []note                  `json:"kept"`
	Conflicts  []note                  `json:"conflicts"`
}

// A finished is a command that has run.
type finished struct {
	printed
	code        int
	out, errors string
}

// command prepares the program in the place where the world starts it.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	if w.umask != 0 {
		script := fmt.Sprintf(`umask %03o; exec "$0" "$@"`, w.umask)
		cmd = exec.Command("sh", append([]string{"-c", script, program}, args...)...)
	}
	cmd.Dir = w.place()
	cmd.Env = w.environ()
	if w.user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.user), Gid: uint32(w.user)}}
	}
	return cmd
}

// rewind runs the program and reads its JSON object, if it printed one.
func (w *world) rewind(args ...string) finished {
	w.Helper()
	return w.finish(w.command(args...))
}

func (w *world) finish(cmd *exec.Cmd) finished {
	w.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatalf("%v: %v", cmd.Args, err)
	}
	f := finished{code: cmd.ProcessState.ExitCode(), out: out.String(), errors: errs.String()}
	if strings.HasPrefix(f.out, "{") {
		if err := json.Unmarshal(out.Bytes(), &f.printed); err != nil {
			w.Fatalf("%v printed no JSON object: %v\n%s", cmd.Args, err, f.out)
		}
	}
	return f
}

func (throughCommand) snapshot(w *world) (string, []string) {
	w.Helper()
	f := w.rewind("snapshot", "--json")
	want := 0
	if len(f.Unexpected) > 0 {
		want = 5
	}
	if f.code != want || f.ID == "" || !f.Bridged {
		w.Fatalf("snapshot exited with %d and printed\n%s%s", f.code, f.out, f.errors)
	}
	return f.ID, pathsOf(f.Skipped)
}

func (d throughCommand) restore(w *world, id string, paths ...string) outcome {
	w.Helper()
	args := []string{"restore", id, "--yes", "--json"}
	if len(paths) > 0 {
		args = append(append(args, "--"), paths...)
	}
	return d.run(w, args...)
}

func (d throughCommand) undo(w *world) outcome {
	w.Helper()
	return d.run(w, "undo", "--yes", "--json")
}

func (d throughCommand) redo(w *world) outcome {
	w.Helper()
	return d.run(w, "redo", "--yes", "--json")
}

func (throughCommand) run(w *world, args ...string) outcome {
	w.Helper()
	f := w.rewind(args...)
	want := 0
	if len(f.Conflicts) > 0 {
		want = 5
	}
	if f.code != want || f.ID == "" {
		w.Fatalf("%v exited with %d and printed\n%s%s", args, f.code, f.out, f.errors)
	}
	o := outcome{kept: pathsOf(f.Kept), conflicts: pathsOf(f.Conflicts), reasons: map[string]string{}}
	for _, n := range append(f.Kept, f.Conflicts...) {
		o.reasons[n.path()] = n.Reason
	}
	return o
}

func pathsOf(notes []note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, n.path())
	}
	slices.Sort(out)
	return out
}
