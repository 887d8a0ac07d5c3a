package gitodb

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestAPackIsKeptFromBeforeItHasItsIndexUntilItIsReleased(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir, oid.SHA1, &Options{Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	source := func(oid.ID) (Object, error) { return Payload(oid.Blob, []byte("x")), nil }
	name, err := d.WritePack(t.Context(), []oid.ID{oid.SHA1.Sum(oid.Blob, []byte("x"))}, source)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(name)
	if !d.Kept(base) || d.HasPack(base) {
		t.Error("it is not kept, or may be replaced")
	}
	if err := os.Mkdir(name+"2.keep", 0o700); err != nil { // no file of ours
		t.Fatal(err)
	}
	other, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.ReleaseDead()
	if !d.Kept(base) {
		t.Error("another took it for a dead one's")
	}
	d.Release(name)
	if d.Kept(base) || !d.HasPack(base) {
		t.Error("it is still kept")
	}
	for text, stays := range map[string]bool{keepText: false, "": true, "a user's\n": true} {
		if err := os.WriteFile(name+".keep", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		other.ReleaseDead()
		if _, err := os.Stat(name + ".keep"); (err == nil) != stays {
			t.Errorf("%q: %v", text, err)
		}
		_ = os.Remove(name + ".keep")
	}
	if _, err := os.Stat(name + "2.keep"); err != nil {
		t.Error(err)
	}
}

func TestTheDirectoriesOfObjectsAreFoundBelowANameWithBrackets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[ab]")
	for _, name := range []string{"00", "fe", "pack", "0g", "abc"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got, err := d.looseDirs()
	if want := []string{filepath.Join(dir, "00"), filepath.Join(dir, "fe")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
