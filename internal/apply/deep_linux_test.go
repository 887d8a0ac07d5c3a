package apply_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// deepSteps make so many directories, each in the one before, with a file in
// each; or, with the other direction, take them away.
func deepSteps(levels int, away bool) []apply.Step {
	d, f := apply.Node{Mode: tree.Dir | 0o755}, apply.Node{Mode: tree.File | 0o644, ID: oid.SHA1.Sum(oid.Blob, nil)}
	var steps []apply.Step
	for at, i := "d", 0; i < levels; at, i = at+"/d", i+1 {
		steps = append(steps, apply.Step{Path: at, Want: d}, apply.Step{Path: at + "/f", Want: f})
	}
	if away {
		for i := range steps {
			steps[i].Have, steps[i].Want = steps[i].Want, apply.Node{}
		}
	}
	return steps
}

func nothing(context.Context, oid.ID, io.Writer) error { return nil }

// The bound is linear: to open each directory from the root would go through
// millions.
func TestDirectoriesThousandsDeepCostWhatTheirNumberDoes(t *testing.T) {
	const levels = 1500
	const most = levels * 2 * 64 * 12 // two steps a level, a dozen looks at each
	root := t.TempDir()
	for _, what := range []struct {
		name  string
		steps []apply.Step
	}{
		{"make", deepSteps(levels, false)},
		{"delete", deepSteps(levels, true)},
		{"make again", deepSteps(levels, false)},
		{"swap", append(deepSteps(levels, true)[1:], apply.Step{Path: "d", Have: apply.Node{Mode: tree.Dir | 0o755}, Want: apply.Node{Mode: tree.Symlink, ID: oid.SHA1.Sum(oid.Blob, nil)}})},
	} {
		var walked atomic.Int64
		opt := &apply.Options{Alg: oid.SHA1}
		opt.NoSync()
		opt.Walked(&walked)
		source := nothing
		if what.name == "swap" {
			source = func(_ context.Context, _ oid.ID, w io.Writer) error { _, err := io.WriteString(w, "to"); return err }
			what.steps[len(what.steps)-1].Want.ID = oid.SHA1.Sum(oid.Blob, []byte("to"))
		}
		out, err := apply.Apply(context.Background(), root, what.steps, source, opt)
		if err != nil || len(out.Conflicts) > 0 || out.Written+out.Deleted != len(what.steps) {
			t.Fatalf("%s: %d written, %d deleted of %d, %d conflicts, %v", what.name, out.Written, out.Deleted, len(what.steps), len(out.Conflicts), err)
		}
		t.Logf("%s: %d directories gone through", what.name, walked.Load())
		if n := walked.Load(); n > most {
			t.Errorf("%s: %d directories gone through, want %d at most", what.name, n, most)
		}
	}
}

// A handle that is kept leads where the path led before. It serves few steps, and
// those above it go where the path leads now.
func TestADeepDirectoryThatWasMovedAwayIsUsedForFewSteps(t *testing.T) {
	const levels, movedAt, from = 200, 100, 150
	root := t.TempDir()
	opt := &apply.Options{Alg: oid.SHA1}
	if _, err := apply.Apply(context.Background(), root, deepSteps(levels, false), nothing, opt); err != nil {
		t.Fatal(err)
	}
	at, outside, moved := filepath.Join(root, strings.Repeat("d/", movedAt)), filepath.Join(t.TempDir(), "moved"), false
	opt = &apply.Options{Alg: oid.SHA1}
	opt.Alone()
	opt.Hook(func(op, path string) error {
		if moved || strings.Count(path, "/") > from {
			return nil
		}
		moved = true
		return errors.Join(os.Rename(at, outside), os.Mkdir(at, 0o755))
	})
	if _, err := apply.Apply(context.Background(), root, deepSteps(levels, true), nothing, opt); err != nil || !moved {
		t.Fatal(err, moved)
	}
	left := 0
	if err := filepath.WalkDir(outside, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if left < 128-movedAt {
		t.Errorf("%d files are left in the directory that was moved away, want %d at least", left, 128-movedAt)
	}
}
