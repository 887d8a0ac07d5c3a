package gitodb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Each link to "." gives the directory one more name at each level: with n of them it
// would be looked into 1+n+n²+… times, up to the fifth power.
func TestADirectoryOfObjectsThatNamesItselfByLinksIsOneSource(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o777); err != nil {
		t.Fatal(err)
	}
	lines := []string{other}
	for i := range 4 {
		name := fmt.Sprintf("l%d", i)
		if err := os.Symlink(".", filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
		lines = append(lines, name)
	}
	text := strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var dirs []string
	for _, s := range d.all() {
		dirs = append(dirs, s.dir)
	}
	if len(dirs) != 2 || dirs[0] != dir || dirs[1] != other {
		t.Errorf("%d sources, the first %q; want %q and %q", len(dirs), dirs[:min(4, len(dirs))], dir, other)
	}
}
