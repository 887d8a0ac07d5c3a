package mirror

import (
	"os/exec"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// A program may be given one directory after the other.
func TestAnUpkeepForgetsWhatAnotherRepositoryWeighed(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git")
	}
	var u Upkeep
	open := func(dir string) *Mirror {
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		l, err := gitconf.Discover(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gitbridge.Open(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return (&Mirror{Objects: &objects.Objects{Git: r}}).With(&u)
	}
	one := t.TempDir()
	open(one)
	u.done(1<<40, true)
	if again := open(one); u.Weight(again.git()) != 1<<40 {
		t.Error("the same repository, opened again, was forgotten")
	}
	if other := open(t.TempDir()); u.Weight(other.git()) != 0 {
		t.Errorf("another repository weighs %d", u.Weight(other.git()))
	}
}
