package locate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

// A directory whose permissions were taken away was said to be gone.
func TestADirectoryThatMayNotBeReadIsNotSaidToBeGone(t *testing.T) {
	for cause, want := range map[error]string{syscall.ENOENT: "is gone", syscall.EACCES: "cannot be read"} {
		if err := nowhere(&os.PathError{Op: "stat", Path: ".", Err: cause}); !strings.Contains(err.Error(), "the current directory "+want) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// Where locks have to be given back before a folder is renamed, another process may have them
// for a moment, and record.
func TestAStoreInWhichSomethingWasRecordedMeanwhileGoesBack(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store")
	aside, file := folder+removedSuffix, filepath.Join(folder, StoreFile)
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(file, []byte("one"), 0o600)); err != nil {
		t.Fatal(err)
	}
	stamp := Stamp(folder)
	if err := os.WriteFile(file, []byte("one and two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := setAside(folder, aside, stamp); !errors.Is(err, ErrInUse) {
		t.Errorf("it says %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one and two" {
		t.Errorf("the store is %q, %v", text, err)
	}
	if err := setAside(folder, aside, Stamp(folder)); err != nil {
		t.Errorf("with nobody there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(aside, StoreFile)); err != nil {
		t.Error(err)
	}
}

// The folder had the new name, and the note the old path, until something was recorded.
// So the history of a directory that stands was said to be of one that is gone, and removed.
func TestAStoreThatFollowedItsDirectoryIsNotRemovedForThePathInItsNote(t *testing.T) {
	state := t.TempDir()
	s, err := OpenStores(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] })
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old")
	for folder, want := range map[string]string{s.folder(old): Gone, s.folder(old + "-new"): Unknown} {
		n := note{Root: records.Path(old), identity: identity{"born then", 1}}
		if err := errors.Join(os.MkdirAll(folder, 0o700), n.write(folder)); err != nil {
			t.Fatal(err)
		}
		st := s.look(t.Context(), folder)
		if removable := st.Removable(false) == nil; st.State != want || removable != (want == Gone) {
			t.Errorf("%s: %s, removable: %v", folder, st.State, removable)
		}
	}
}
