//go:build linux

package power

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
)

type picture = kit.Picture

// A world is what lies on the disk: a worktree, and a home with rewind's state.
// It is made anew for each mount; only paths and the environment are in it.
type world struct {
	testing.TB
	mnt  string // where the disk is mounted
	root string // the worktree
	git  bool   // it is a repository
}

func newWorld(t testing.TB, m *machine, git bool) *world {
	return &world{TB: t, mnt: m.mnt, root: filepath.Join(m.mnt, "work"), git: git}
}

func (w *world) path(rel string) string { return filepath.Join(w.root, rel) }

func (w *world) environ() []string {
	return []string{
		"HOME=" + filepath.Join(w.mnt, "home"), "XDG_STATE_HOME=" + filepath.Join(w.mnt, "state"), "PATH=" + os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "TMPDIR=" + os.TempDir(),
	}
}

// A finished is a program that has run; its JSON is read if it printed any.
type finished struct {
	code        int
	out, errors string
	ID          string `json:"id"`
	Undo        string `json:"undo"`
	Skipped     []struct {
		Path   string `json:"path"`
		Reason string `json:"reason"`
	} `json:"skipped"`
	Dropped []struct {
		ID string `json:"id"`
	} `json:"dropped"`
}

// said is how a program ended, in one line.
func (f finished) said() string {
	text := strings.TrimSpace(f.errors)
	if text == "" {
		text = strings.TrimSpace(f.out)
	}
	return fmt.Sprintf("exit %d: %.300s", f.code, strings.ReplaceAll(text, "\n", " | "))
}

// run runs a program in the worktree, with input.
func (w *world) run(input, name string, args ...string) finished {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.root, w.environ(), strings.NewReader(input), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatalf("%s %q: %v", name, args, err)
	}
	f := finished{code: cmd.ProcessState.ExitCode(), out: out.String(), errors: errs.String()}
	if name == program && strings.HasPrefix(f.out, "{") {
		if err := json.Unmarshal(out.Bytes(), &f); err != nil {
			w.Fatalf("rewind %q printed no JSON object: %v\n%s", args, err, f.out)
		}
	}
	return f
}

func (w *world) rewind(args ...string) finished {
	w.Helper()
	return w.run("", program, args...)
}

// look takes a picture of the worktree.
func (w *world) look() picture {
	w.Helper()
	p, err := kit.Look(w.root, kit.Git)
	must(w, err)
	return p
}

// export takes a picture of a snapshot. What rewind says of a failure comes back.
func (w *world) export(id string) (picture, string) {
	w.Helper()
	dir, err := os.MkdirTemp("", "export-")
	must(w, err)
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out")
	if f := w.rewind("export", id, out); f.code != 0 {
		return nil, f.said()
	}
	p, err := kit.Look(out, kit.Git)
	must(w, err)
	return p, ""
}

// write writes a file, with the directories on the way to it.
func (w *world) write(rel string, b []byte) {
	w.Helper()
	must(w, os.MkdirAll(filepath.Dir(w.path(rel)), 0o755))
	must(w, os.WriteFile(w.path(rel), b, 0o644))
}

// text makes lines that compress, or bytes that do not.
func text(rng *rand.Rand) []byte {
	if rng.IntN(8) == 0 {
		b := make([]byte, 20000+rng.IntN(300000))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	var b bytes.Buffer
	for range 1 + rng.IntN(200) {
		fmt.Fprintf(&b, "line %d\n", rng.Uint32())
	}
	return b.Bytes()
}
