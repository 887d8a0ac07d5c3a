package fork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// recorded opens a directory without git of which there is a snapshot.
func recorded(t *testing.T) (*engine.Engine, *engine.Snapshot) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "a")
	e, err := engine.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e, r.Snapshot
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An archive may bring a note along, and a kill leave one: of a directory that had not
// been made yet. What somebody else has put there since is not ours.
func TestANoteWithoutABirthTakesNothingAway(t *testing.T) {
	e, s := recorded(t)
	r, err := registryOf(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	file := filepath.Join(home, "file")
	put(t, file, "theirs")
	for _, whole := range []bool{false, true} {
		for _, dir := range []string{home, file} {
			for _, force := range []bool{false, true} {
				if err := r.put(&Fork{Dir: dir, Snapshot: s.ID, Time: time.Now(), Whole: whole}); err != nil {
					t.Fatal(err)
				}
				list, err := List(t.Context(), e, &engine.Options{})
				if err != nil || len(list) != 1 || list[0].State != Another || list[0].Bytes != 0 {
					t.Errorf("%s: %+v, %v", dir, list, err)
				}
				_, err = Remove(t.Context(), e, dir, force, &engine.Options{})
				if force && err != nil || !force && !errors.Is(err, ErrAnother) {
					t.Errorf("%s, force %v: %v", dir, force, err)
				}
				if text, err := os.ReadFile(file); err != nil || string(text) != "theirs" {
					t.Fatalf("%s, whole %v, force %v: the file has %q, %v", dir, whole, force, text, err)
				}
			}
		}
	}
	if list, err := List(context.Background(), e, &engine.Options{}); err != nil || len(list) > 0 {
		t.Errorf("not forgotten: %v, %v", list, err)
	}
}

func TestAForkUnderANameThatIsNotUTF8IsListedAndRemoved(t *testing.T) {
	e, s := recorded(t)
	dir := filepath.Join(t.TempDir(), "f\xff")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skipf("SKIPPED: the file system takes no such name: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	place, err := Place(t.Context(), e, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), e, s, place); err != nil {
		t.Fatal(err)
	}
	list, err := List(t.Context(), e, &engine.Options{})
	if err != nil || len(list) != 1 || list[0].Dir != place || list[0].State != Stands {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there still: %v", err)
	}
}

func TestADirectoryThatComesBeforeAForkIsMadeIsNotTheFork(t *testing.T) {
	e, s := recorded(t)
	dir, err := Place(t.Context(), e, filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // another process is faster
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "theirs"), "theirs")
	if _, err := Make(t.Context(), e, s, dir); err == nil {
		t.Error("a fork was made in a directory of somebody else's")
	}
	if list, err := List(t.Context(), e, &engine.Options{}); err != nil || len(list) > 0 {
		t.Errorf("it is called a fork: %+v, %v", list, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("in it are %v, %v", names, err)
	}
}
