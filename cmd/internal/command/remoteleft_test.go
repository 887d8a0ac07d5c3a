package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that cannot be read is no snapshot that has an id: its name is in the reason alone.
func TestASnapshotThatCannotBeReadIsNamedByItsFile(t *testing.T) {
	g := newGround(t)
	g.json("snapshot")
	repo, work := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "work")
	g.json("remote", "add", "disk", repo)
	g.json("push")
	name := "snapshots/" + strings.Repeat("a", 64)
	put(t, repo, name, "{}")
	left := 0
	for _, args := range [][]string{{"fetch"}, {"resume", repo, work}} {
		_, errs, exit := g.does(args...)
		if want := "\nleft: not what was written: " + name; exit == 0 || !strings.Contains("\n"+errs, want) {
			t.Errorf("%v ends with %d and says %q, without %q", args, exit, errs, want)
		}
		left += strings.Count(errs, "left:")
	}
	if left != 2 {
		t.Errorf("%d files are named, want one by each command", left)
	}
	if err := os.Remove(filepath.Join(repo, name)); err != nil {
		t.Fatal(err)
	}
	if _, errs, exit := g.does("fetch"); exit != 0 || strings.Contains(errs, "left") {
		t.Errorf("a fetch of what is whole ends with %d: %s", exit, errs)
	}
}
