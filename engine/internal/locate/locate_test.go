package locate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
