package apply_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What no scan records lies where a plan expects nothing: it stays, and the
// conflict says what it is instead of that somebody changed it.
func TestAConflictSaysWhatWasInTheWayAllTheTime(t *testing.T) {
	root := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "unseen"), []byte("theirs"), 0o644))
	to := world{"pipe": file("p"), "unseen": file("u")}
	var steps []apply.Step
	for _, path := range []string{"pipe", "unseen"} {
		steps = append(steps, apply.Step{Path: path, Want: to[path].node()})
	}
	out, err := apply.Apply(t.Context(), root, steps, shelve(to).source, &apply.Options{Alg: oid.SHA1})
	must(t, err)
	want := map[string]string{"pipe": "a pipe, socket or device stands here", "unseen": "what is there was not recorded: it was left out, as a file that may not be read, or came since"}
	if len(out.Conflicts) != len(want) || out.Written > 0 {
		t.Fatalf("%+v", out)
	}
	for _, c := range out.Conflicts {
		if c.Reason != want[c.Path] {
			t.Errorf("%s: %s", c.Path, c.Reason)
		}
		if c.Path == "unseen" && !errors.Is(c.Err, apply.ErrChanged) {
			t.Errorf("%s is no conflict of a path that is not as the plan expects it: %v", c.Path, c.Err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(root, "unseen")); err != nil || string(got) != "theirs" {
		t.Errorf("%q %v", got, err)
	}
}
