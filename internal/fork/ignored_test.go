package fork

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// installed is a worktree with ignored files, and a fork of its newest snapshot that has
// them too.
func installed(t *testing.T, git bool) (e *engine.Engine, dir string, along *Ignored) {
	t.Helper()
	open := recorded
	if git {
		open = committed
	}
	e, _ = open(t)
	at := func(name string) string { return filepath.Join(e.Root(), name) }
	for _, dir := range []string{"node_modules/x", "src/node_modules", "build"} {
		must(t, os.MkdirAll(at(dir), 0o755))
	}
	for name, text := range map[string]string{".gitignore": "node_modules/\nbuild/\n.env\n", "node_modules/x/index.js": "x", "src/node_modules/y": "y", "src/main": "main", "build/out": strings.Repeat("out", 1000)} {
		put(t, at(name), text)
	}
	r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{})
	must(t, err)
	put(t, at(".env"), "made since")
	must(t, os.Mkdir(at("conf"), 0o755))
	put(t, at("conf/.env"), "in a directory that the snapshot does not have")
	put(t, at("untracked"), "made since")
	if dir, err = Place(t.Context(), e, filepath.Join(t.TempDir(), "f")); err != nil {
		t.Fatal(err)
	}
	if along, err = Look(t.Context(), e, r.Snapshot, dir, How{Copy: true}); err != nil {
		t.Fatal(err)
	}
	made, err := Make(t.Context(), e, r.Snapshot, dir, along)
	if err != nil || len(made.Taken.Failed)+len(made.Conflicts) > 0 || made.Taken.Files != 4 || along.Files != 4 || len(along.Left) != 1 || along.Left[0].Path != "conf" {
		t.Fatalf("%+v, %v", made, err)
	}
	return e, dir, along
}

func TestAnIgnoredFileThatTheSnapshotHasStaysAsItHasIt(t *testing.T) {
	e, _ := recorded(t)
	put(t, filepath.Join(e.Root(), ".gitignore"), ".env\n")
	put(t, filepath.Join(e.Root(), ".env"), "old")
	r, err := e.Snapshot(t.Context(), &engine.SnapshotOptions{})
	must(t, err)
	put(t, filepath.Join(e.Root(), ".env"), "new one")
	dir, err := Place(t.Context(), e, filepath.Join(t.TempDir(), "f"))
	must(t, err)
	along, err := Look(t.Context(), e, r.Snapshot, dir, How{Copy: true})
	if err != nil || along.Files != 0 {
		t.Fatalf("%+v, %v", along, err)
	}
	made, err := Make(t.Context(), e, r.Snapshot, dir, along)
	if err != nil || len(made.Taken.Failed) != 0 || made.Taken.Files != 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, ".env")); string(got) != "old" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestWhatWasTakenAlongDoesNotKeepAForkUnlessItIsTheOnlyOne(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(root, dir string) error
		kept string
	}{
		"nothing":       {func(string, string) error { return nil }, ""},
		"changed there": {func(_, dir string) error { return os.WriteFile(dir+"/build/out", []byte("other"), 0o600) }, "build/out"},
		"its beginning": {func(_, dir string) error { return os.Truncate(dir+"/build/out", 6) }, "build/out"},
		"as long":       {func(_, dir string) error { return os.WriteFile(dir+"/node_modules/x/index.js", []byte("z"), 0o600) }, "node_modules/x/index.js"},
		"made there":    {func(_, dir string) error { return os.WriteFile(dir+"/build/new", nil, 0o600) }, "build/new"},
		"gone here":     {func(root, _ string) error { return os.RemoveAll(root + "/node_modules") }, "node_modules/x/index.js"},
		"changed here":  {func(root, _ string) error { return os.WriteFile(root+"/build/out", nil, 0o600) }, "build/out"},
		"removed there": {func(_, dir string) error { return os.RemoveAll(dir + "/build") }, ""},
		"another kind": {func(root, _ string) error {
			return errors.Join(os.Remove(root+"/build/out"), os.Symlink("x", root+"/build/out"))
		}, "build/out"},
		"a link in part": {func(_, dir string) error { return os.Symlink("x", dir+"/build/link") }, "build/link"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another kind" || name == "a link in part" {
				gittest.Links(t)
			}
			e, dir, _ := installed(t, false)
			must(t, change.do(e.Root(), dir))
			_, err := Remove(t.Context(), e, dir, false, &engine.Options{})
			if change.kept == "" && err != nil || change.kept != "" && (!errors.Is(err, ErrUnsaved) || !strings.Contains(err.Error(), change.kept)) {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(dir); (err == nil) != (change.kept != "") {
				t.Errorf("the fork: %v", err)
			}
		})
	}
}

func TestAForkThatWasInterruptedWhileFilesWereTakenAlongIsRemoved(t *testing.T) {
	for _, git := range []bool{false, true} {
		e, dir, _ := installed(t, git)
		f, r, err := find(t.Context(), e, dir)
		must(t, err)
		f.Whole = false
		must(t, r.put(f))
		put(t, filepath.Join(dir, "build", "out"), "outout") // the beginning
		put(t, filepath.Join(dir, "build", "mine"), "mine")
		if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); !errors.Is(err, ErrUnsaved) || !strings.Contains(err.Error(), "build/mine") {
			t.Errorf("git %v: %v", git, err)
		}
		must(t, os.Remove(filepath.Join(dir, "build", "mine")))
		if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); err != nil {
			t.Errorf("git %v: %v", git, err)
		}
	}
}

// Package managers take the right to write away from directories too.
func TestDirectoriesThatMayNotBeWrittenInGoWithAFork(t *testing.T) {
	gittest.Modes(t)
	e, dir, _ := installed(t, false)
	locked := filepath.Join(dir, "node_modules", "x")
	must(t, os.Chmod(locked, 0o500))
	f, _, err := find(t.Context(), e, dir)
	must(t, err)
	f.unlock() // root could remove it all the same
	if info, err := os.Stat(locked); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); err != nil {
		t.Error(err)
	}
}

func TestARefusedRemovalLeavesPermissionsAsTheyWere(t *testing.T) {
	gittest.Modes(t)
	e, s := committed(t)
	dir := forked(t, e, s)
	for _, name := range []string{"d", "d/e"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	put(t, filepath.Join(dir, "d/e/x"), "x")
	for _, name := range []string{"d/e", "d"} {
		must(t, os.Chmod(filepath.Join(dir, name), 0o555))
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "d"), 0o755); _ = os.Chmod(filepath.Join(dir, "d/e"), 0o755) })
	(&gittest.Repo{T: t, Dir: dir}).Git("commit", "-q", "--allow-empty", "-m", "of no branch")
	if _, err := Remove(t.Context(), e, dir, false, &engine.Options{}); !errors.Is(err, ErrUnsaved) {
		t.Fatal(err)
	}
	for _, name := range []string{"d", "d/e"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
