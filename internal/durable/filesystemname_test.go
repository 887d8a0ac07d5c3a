package durable

import (
	"path/filepath"
	"testing"
)

func TestTheKindOfAFileSystemIsThatOfTheDirectoryAbove(t *testing.T) {
	dir := t.TempDir()
	here := FileSystem(dir)
	if here == "" {
		t.Error("it is not known")
	}
	if below := FileSystem(filepath.Join(dir, "not", "there", "yet")); below != here {
		t.Errorf("%q below %q", below, here)
	}
}
