package apply_test

import (
	"os"
	"path/filepath"
	"strings"
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
	want := map[string]string{"pipe": "a pipe, socket or device stands here", "unseen": "what is there was not recorded"}
	if len(out.Conflicts) != len(want) || out.Written > 0 {
		t.Fatalf("%+v", out)
	}
	for _, c := range out.Conflicts {
		if !strings.HasSuffix(c.Reason, want[c.Path]) || c.Path == "pipe" && c.Reason != want[c.Path] {
			t.Errorf("%s: %s", c.Path, c.Reason)
		}
	}
	if got, err := os.ReadFile(filepath.Join(root, "unseen")); err != nil || string(got) != "theirs" {
		t.Errorf("%q %v", got, err)
	}
}
