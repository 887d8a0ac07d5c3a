package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/socket"
	"github.com/seed-82afce7a/rewind/engine"
)

// failingWatch is of a new worktree, in which no store can be made until mend is called.
func failingWatch(t *testing.T) (w *watch, log *bytes.Buffer, mend func()) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	state := filepath.Join(home, "XDG_STATE_HOME")
	root := filepath.Join(home, "tree")
	if err := errors.Join(os.Mkdir(root, 0o755), os.WriteFile(filepath.Join(root, "f"), []byte("precious"), 0o644), os.WriteFile(state, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	w = &watch{Keeper: NewKeeper(), quiet: time.Nanosecond, root: root, said: map[string]bool{},
		app: &app{&cli.App{Stdio: cli.Stdio{Out: io.Discard, Err: log}, NoGit: true}}}
	w.Watch.Any = true
	t.Cleanup(func() { w.Close(context.Background()) })
	return w, log, func() {
		if err := os.Remove(state); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPointThatFailedIsTriedAgainThoughNothingChanges(t *testing.T) {
	w, log, mend := failingWatch(t)
	tries := func() bool { // the time has come
		before := w.looked
		w.again = time.Now()
		w.turn(t.Context())
		return w.looked.After(before)
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if !tries() || w.wait != want*time.Second || w.failing.Load() == nil {
			t.Fatalf("it waits %v for the next one, which is to be %v s: %s", w.wait, int(want), log)
		}
		if pace, rests := w.pace(time.Hour, false); rests || pace > w.wait || pace < w.wait-5*time.Second {
			t.Errorf("it looks again after %v, rests: %v", pace, rests)
		}
		looked := w.looked
		if w.turn(t.Context()); w.looked != looked {
			t.Error("it does not wait for that")
		}
	}
	said := log.String()
	if since := w.failing.Load().Since; strings.Count(said, "it tries again: ") != 1 || time.Since(since) < 0 || since.After(w.looked) {
		t.Errorf("since %v: %s", since, said)
	}
	mend()
	if !tries() || w.failing.Load() != nil || !w.again.IsZero() || w.seen.IsZero() {
		t.Fatalf("it does not record: %s", log)
	}
	if said = strings.TrimPrefix(log.String(), said); !strings.Contains(said, "rewind: it records again\n") {
		t.Errorf("%s", said)
	}
	e, err := w.Watch.Open(t.Context(), w.root, w.options())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := e.List(t.Context(), nil); err != nil || len(list) != 1 {
		t.Errorf("%d snapshots, %v", len(list), err)
	}
}

// A watch that has all that changed in a point waits for the kernel alone, but for a look each hour at what nobody tells,
// or each minute where it cannot be told that its socket is gone.
func TestAWatchWithNothingToDoWaitsForTheKernel(t *testing.T) {
	const begins = "the watching begins"
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	dir := filepath.Join(home, "tree")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := watch{Keeper: NewKeeper(), quiet: 2 * time.Second}
	w.Watch.Any = true
	defer w.Close(t.Context())
	watched, why := false, begins
	for !watched && why == begins { // beside turns
		e, err := w.Watch.Open(t.Context(), dir, &engine.Options{NoGit: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Snapshot(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		watched, why = w.Watch.State()
	}
	if !watched {
		t.Skip("SKIPPED: it is not watched: " + why)
	}
	const soon = 250 * time.Millisecond
	for _, c := range []struct {
		idle     time.Duration
		changed  bool
		noPoints bool
		pace     time.Duration
		rests    bool
	}{
		{0, false, false, time.Minute, true},
		{20 * time.Second, false, false, 40 * time.Second, true},
		{0, true, false, soon, false},
		{0, false, true, soon, false}, // there the kernel is not asked
		{2 * time.Minute, true, false, time.Minute, true},
		{2 * time.Minute, false, true, time.Minute, true},
	} {
		w.noPoints = c.noPoints
		if pace, rests := w.pace(c.idle, c.changed); rests != c.rests || pace != c.pace {
			t.Errorf("%+v: it looks again after %v, rests: %v", c, pace, rests)
		}
	}
	if err := errors.Join(os.Mkdir(os.Getenv("XDG_RUNTIME_DIR"), 0o700), w.Offer(t.Context(), &cli.App{}, dir)); err != nil {
		t.Fatal(err)
	}
	askOffer(t, &w, dir)
	<-w.requests() // it sleeps no longer
	for idle, want := range map[time.Duration]time.Duration{0: time.Hour, time.Hour: 59 * time.Minute} {
		w.idle = idle
		if pace, _ := w.pace(time.Minute, false); pace != want {
			t.Errorf("with a socket, it ends after %v: it looks again after %v", idle, pace)
		}
	}
}

// askOffer has a watch take a snapshot for another process.
func askOffer(t *testing.T, w *watch, dir string) {
	t.Helper()
	place, err := socket.Open(os.Getenv, false)
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	c, err := socket.Dial(t.Context(), place, dir, program())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body, err := json.Marshal(asked{What: askSnapshot, Dir: dir, Alike: w.offer.alike, Path: os.Getenv("PATH")})
	if err = errors.Join(err, c.Send(body)); err != nil {
		t.Fatal(err)
	}
	for text := []byte(nil); err == nil; text, err = c.Next() {
		if bytes.Contains(text, []byte("Refused")) {
			t.Fatalf("%s", text)
		}
	}
}

func TestAWatchGivesItsMemoryBackOnceEachTimeThatItRests(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else collects
	w := &watch{}
	for _, c := range []struct {
		idle    time.Duration
		gives   bool
		thinned bool
	}{
		{time.Second, false, false},
		{time.Minute, true, true},
		{time.Hour, false, true},
		{0, false, false},
		{2 * time.Minute, true, true},
	} {
		before := new(debug.GCStats)
		debug.ReadGCStats(before)
		w.thin(c.idle)
		after := new(debug.GCStats)
		debug.ReadGCStats(after)
		if w.thinned != c.thinned || c.gives && after.NumGC == before.NumGC {
			t.Errorf("%+v: %v, %d collections", c, w.thinned, after.NumGC-before.NumGC)
		}
		if !c.gives && after.NumGC != before.NumGC {
			t.Errorf("%+v: %d collections", c, after.NumGC-before.NumGC)
		}
	}
}
