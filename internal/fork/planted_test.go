package fork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// recorded opens a directory without git of which there is a snapshot.
func recorded(t *testing.T) (*engine.Engine, *engine.Snapshot) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "a")
	return opened(t, dir)
}

// committed opens a repository with a commit, of which there is a snapshot.
func committed(t *testing.T) (*engine.Engine, *engine.Snapshot) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := gittest.New(t)
	r.Write("a", "a")
	r.Git("add", "a")
	r.Git("commit", "-qm", "one")
	return opened(t, r.Dir)
}

func opened(t *testing.T, dir string) (*engine.Engine, *engine.Snapshot) {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, nil)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{})
	must(t, err)
	return e, r.Snapshot
}

// forked makes a fork.
func forked(t *testing.T, e *engine.Engine, s *engine.Snapshot) (dir string) {
	t.Helper()
	dir, err := Place(t.Context(), e, filepath.Join(t.TempDir(), "a fork"))
	if err == nil {
		_, err = Make(t.Context(), e, s, dir, nil)
	}
	must(t, err)
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// An archive may bring a note along, and a kill leave one: of a directory that had not
// been made yet. What somebody else has put there since is not ours.
func TestANoteWithoutABirthTakesNothingAway(t *testing.T) {
	e, s := recorded(t)
	r, err := registryOf(t.Context(), e)
	must(t, err)
	home := t.TempDir()
	file := filepath.Join(home, "file")
	put(t, file, "theirs")
	for _, whole := range []bool{false, true} {
		for _, dir := range []string{home, file} {
			for _, force := range []bool{false, true} {
				must(t, r.put(&Fork{Dir: dir, Snapshot: s.ID, Time: time.Now(), Whole: whole}))
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

func TestAnotherDirectoryInThePlaceOfAForkStays(t *testing.T) {
	e, s := recorded(t)
	dir := forked(t, e, s)
	f, _, err := find(t.Context(), e, dir)
	must(t, errors.Join(err, os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)))
	put(t, filepath.Join(dir, "a"), "a") // all of it is in a snapshot
	if state := f.state(); state != Another {
		t.Error("it", state)
	}
	if err := f.same(true); !errors.Is(err, ErrAnother) { // as it comes at the last moment
		t.Error(err)
	}
	for _, force := range []bool{false, true} {
		if _, err := Remove(t.Context(), e, dir, force, &engine.Options{}); !force && !errors.Is(err, ErrAnother) || force && err != nil {
			t.Errorf("force %v: %v", force, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "a")); err != nil {
			t.Errorf("force %v: %v", force, err)
		}
	}
}

func TestAForkUnderANameThatIsNotUTF8IsListedAndRemoved(t *testing.T) {
	e, s := recorded(t)
	dir := filepath.Join(t.TempDir(), "f\xff")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skipf("SKIPPED: the file system takes no such name: %v", err)
	}
	must(t, os.Remove(dir))
	place, err := Place(t.Context(), e, dir)
	must(t, err)
	if _, err := Make(t.Context(), e, s, place, nil); err != nil {
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
	must(t, err)
	if err := os.Mkdir(dir, 0o700); err != nil { // another process is faster
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "theirs"), "theirs")
	if _, err := Make(t.Context(), e, s, dir, nil); err == nil {
		t.Error("a fork was made in a directory of somebody else's")
	}
	if list, err := List(t.Context(), e, &engine.Options{}); err != nil || len(list) > 0 {
		t.Errorf("it is called a fork: %+v, %v", list, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("in it are %v, %v", names, err)
	}
}

// Git locks a worktree while it makes one. A kill then leaves the lock, and git refuses
// to make another one there.
func TestAForkDuringWhichGitWasKilledLeavesItsNameFree(t *testing.T) {
	for what, spoil := range map[string]func(dir string) error{
		"an empty directory": func(dir string) error { return os.Remove(filepath.Join(dir, ".git")) },
		"its .git file":      func(string) error { return nil },
		"nothing":            os.RemoveAll,
	} {
		t.Run(what, func(t *testing.T) {
			e, s := committed(t)
			dir := forked(t, e, s)
			f, r, err := find(t.Context(), e, dir)
			must(t, err)
			f.Whole = false
			put(t, filepath.Join(e.Root(), ".git", "worktrees", "a-fork", "locked"), "initializing")
			must(t, errors.Join(r.put(f), os.Remove(filepath.Join(dir, "a")), spoil(dir)))
			if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(filepath.Join(e.Root(), ".git", "worktrees")); err == nil && len(left) > 0 {
				t.Errorf("git keeps %v", left)
			}
			if _, err := Make(t.Context(), e, s, dir, nil); err != nil {
				t.Errorf("another one there: %v", err)
			}
		})
	}
}

func TestANoteOfALinkedWorktreeWithoutGitIsRefused(t *testing.T) {
	e, s := recorded(t)
	dir := forked(t, e, s)
	f, r, err := find(t.Context(), e, dir)
	must(t, err)
	f.Git = true
	must(t, r.put(f))
	if _, err := Remove(t.Context(), e, dir, true, &engine.Options{}); err == nil {
		t.Error("removed")
	}
	if _, err := os.Lstat(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
}

// Both have seen that nothing is there, as two commands that look for ignored files first.
func TestWhoComesSecondToADirectoryLeavesTheForkThatIsThereKnown(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (*engine.Engine, *engine.Snapshot){"git": committed, "no git": recorded} {
		t.Run(name, func(t *testing.T) {
			e, s := open(t)
			dir := forked(t, e, s)
			if made, err := Make(t.Context(), e, s, dir, nil); !errors.Is(err, ErrPlace) {
				t.Fatalf("the second one: %+v, %v", made, err)
			}
			list, err := List(t.Context(), e, &engine.Options{Force: true})
			if err != nil || len(list) != 1 || list[0].Dir != dir || list[0].State != Stands {
				t.Fatalf("the forks are %+v, %v", list, err)
			}
			away := dir + ".away"
			must(t, os.Rename(dir, away))
			if made, err := Make(t.Context(), e, s, dir, nil); !errors.Is(err, ErrPlace) {
				t.Fatalf("one that comes when it was moved away: %+v, %v", made, err)
			}
			must(t, os.Rename(away, dir))
			if _, err := Remove(t.Context(), e, dir, false, &engine.Options{Force: true}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A process that was stopped while it held the lock made everybody wait for ever.
func TestAHeldRegistryIsNotWaitedForWithoutEnd(t *testing.T) {
	e, s := recorded(t)
	dir := forked(t, e, s)
	r, err := registryOf(t.Context(), e)
	must(t, err)
	held, err := r.lock(t.Context())
	must(t, err)
	was := registryPatience
	registryPatience = time.Millisecond
	t.Cleanup(func() { registryPatience = was })
	f, err := r.find(dir)
	must(t, err)
	if err := r.put(f); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), dir) {
		t.Errorf("while the lock is held: %v", err)
	}
	must(t, held.Unlock())
	registryPatience = was
	must(t, r.put(f))
}

// An export wrote below a git directory, as .git/refs/heads, what git then took for
// its own; a fork was refused there.
func TestAnExportGoesNeitherIntoAGitDirectoryNorBesideTheStore(t *testing.T) {
	gittest.Links(t)
	e, _ := committed(t)
	git := filepath.Join(e.Root(), ".git")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(git, link))
	full := t.TempDir()
	put(t, filepath.Join(full, "a"), "mine")
	for _, dir := range []string{git, filepath.Join(git, "z"), filepath.Join(git, "refs", "tags"), filepath.Join(git, "rewind", "z"), filepath.Join(link, "z", "y"), full} {
		if err := PlaceExport(t.Context(), e, dir); !errors.Is(err, ErrPlace) {
			t.Errorf("an export into %s: %v", dir, err)
		}
	}
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "a", "b"), filepath.Join(e.Root(), "out")} {
		if err := PlaceExport(t.Context(), e, dir); err != nil {
			t.Errorf("an export into %s: %v", dir, err)
		}
	}
	e, _ = recorded(t)
	st, err := e.Status(t.Context())
	must(t, err)
	if err := PlaceExport(t.Context(), e, filepath.Join(filepath.Dir(st.Store), "z")); !errors.Is(err, ErrPlace) {
		t.Errorf("an export beside the store: %v", err)
	}
}

func TestARepositoryInsideAForkIsNoChangeOfItForWantOfItsGit(t *testing.T) {
	e, _ := committed(t)
	gittest.New(t).Git("init", "-q", filepath.Join(e.Root(), "nested"))
	put(t, filepath.Join(e.Root(), "nested", "f"), "f")
	r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{})
	must(t, err)
	dir := forked(t, e, r.Snapshot)
	changed := func() int {
		t.Helper()
		list, err := List(t.Context(), e, &engine.Options{})
		must(t, err)
		must(t, list[0].Err)
		return list[0].Changed
	}
	if n := changed(); n != 0 {
		t.Errorf("%d paths are changed in a fork that was made now", n)
	}
	put(t, filepath.Join(dir, "nested", "g"), "g")
	if n := changed(); n != 1 {
		t.Errorf("%d paths are changed in a fork, where one file was added", n)
	}
	must(t, os.Remove(filepath.Join(dir, "nested", "g")))
	gone, err := Remove(t.Context(), e, dir, false, &engine.Options{})
	if err != nil || gone.Recorded != nil {
		t.Errorf("nothing of it is new: %+v, %v", gone, err)
	}
}

// What could not be written into a fork is not there, but nobody has deleted it.
func TestAnAdoptionDoesNotDeleteWhatCouldNotBeWrittenIntoTheFork(t *testing.T) {
	for _, open := range []func(*testing.T) (*engine.Engine, *engine.Snapshot){recorded, committed} {
		e, _ := open(t)
		at := func(name string) string { return filepath.Join(e.Root(), name) }
		put(t, at("git~1"), "some file system takes this name for .git")
		r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{})
		must(t, err)
		dir, err := Place(t.Context(), e, filepath.Join(t.TempDir(), "f"))
		must(t, err)
		made, err := Make(t.Context(), e, r.Snapshot, dir, nil)
		if err != nil || len(made.Conflicts) != 1 || made.Conflicts[0].Path != "git~1" {
			t.Fatalf("%+v, %v", made, err)
		}
		list, err := List(t.Context(), e, &engine.Options{})
		if err != nil || len(list) != 1 || list[0].State != Stands || list[0].Changed != 0 || list[0].Err != nil {
			t.Errorf("%+v, %v", list, err)
		}
		for _, name := range []string{"first", "second"} {
			put(t, filepath.Join(dir, name), name)
			from, err := Adopt(t.Context(), e, dir, &engine.Options{}, engine.Op{})
			must(t, err)
			done, err := from.Merge(e, t.Context(), engine.Op{})
			if err != nil || done.Written != 1 || done.Deleted+len(done.Conflicts)+len(done.Kept) > 0 {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
		}
		for _, name := range []string{"git~1", "a", "first", "second"} {
			if _, err := os.Lstat(at(name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); err != nil {
			t.Error(err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
