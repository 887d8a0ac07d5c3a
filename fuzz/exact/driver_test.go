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

// open is for what needs the Go API: whatever is done while files change.
func (w *world) open() *engine.Engine {
	w.Helper()
	e, err := engine.Open(context.Background(), w.place(), &engine.Options{Getenv: func(name string) string { return w.env[name] }})
	w.must(err)
	w.Cleanup(func() { e.Close() })
	return e
}

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

func (w *world) snapshot() (id string, skipped []string) {
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

func (w *world) restore(id string, paths ...string) outcome {
	w.Helper()
	args := []string{"restore", id, "--yes", "--json"}
	if len(paths) > 0 {
		args = append(append(args, "--"), paths...)
	}
	return w.run(args...)
}

func (w *world) undo() outcome {
	w.Helper()
	return w.run("undo", "--yes", "--json")
}

func (w *world) redo() outcome {
	w.Helper()
	return w.run("redo", "--yes", "--json")
}

func (w *world) run(args ...string) outcome {
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
