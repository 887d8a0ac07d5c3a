package regular

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/windows"
)

func TestAFileIsSyncedWhileAnotherProgramRenamesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(path, []byte("text"), 0o444); err != nil {
		t.Fatal(err)
	}
	renaming, err := openFor(windows.DELETE, path) // as MoveFileEx has it open
	if err != nil {
		t.Fatal(err)
	}
	defer renaming.Close()
	if err := Sync(path); err != nil {
		t.Error(err)
	}
}

func TestAReadOnlyFileIsSyncedByManyAtOnceAndStaysReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(path, []byte("text"), 0o444); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if err := Sync(path); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o444 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}
