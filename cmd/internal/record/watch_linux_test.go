package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// A watch that has all that changed in a point waits for the kernel alone, but for a look each minute at what nobody tells.
func TestAWatchWithNothingToDoWaitsForTheKernel(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	dir := filepath.Join(home, "tree")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := watch{Keeper: NewKeeper(), quiet: 2 * time.Second}
	w.Watch.Any = true
	defer w.Close(t.Context())
	for range 2 { // the second turn finds it watched
		e, err := w.Watch.Open(t.Context(), dir, &engine.Options{NoGit: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Snapshot(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if watched, why := w.Watch.State(); !watched {
		t.Skip("SKIPPED: it is not watched: " + why)
	}
	for _, c := range []struct {
		idle     time.Duration
		changed  bool
		noPoints bool
		rests    bool
	}{
		{0, false, false, true},
		{0, true, false, false},
		{0, false, true, false}, // there the kernel is not asked
		{2 * time.Minute, true, false, true},
		{2 * time.Minute, false, true, true},
	} {
		w.noPoints = c.noPoints
		pace, rests := w.pace(c.idle, c.changed)
		if rests != c.rests || rests != (pace == time.Minute) {
			t.Errorf("%+v: it looks again after %v, rests: %v", c, pace, rests)
		}
	}
}
