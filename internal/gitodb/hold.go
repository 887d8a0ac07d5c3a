package gitodb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/regular"
)

// A collection drops from the packs that it finds what no ref names. So a pack is
// held until the ref names what is in it: a file beside it, with the extension
// .keep, lets git leave the pack alone (git-index-pack(1), --keep, which git's own
// fetch uses for the same end).

// holdText tells our files from those that a user made.
const holdText = "rewind: until the ref names it\n"

// hold makes git leave a pack alone, which has no index yet. A pack that a user
// holds stays as it is.
func (d *DB) hold(name string) error {
	f, err := os.OpenFile(name+".keep", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(holdText)
	return errors.Join(err, f.Close())
}

// Release ends that a pack is held, which WritePack named.
func (d *DB) Release(name string) {
	if isHold(name + ".keep") {
		_ = os.Remove(name + ".keep")
	}
}

// ReleaseOlder releases the packs that were written so long ago that who holds
// them must have died.
func (d *DB) ReleaseOlder(age time.Duration) {
	dir := filepath.Join(d.dir, "pack")
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		name, keep := strings.CutSuffix(entry.Name(), ".keep")
		if st, err := entry.Info(); keep && err == nil && time.Since(st.ModTime()) > age {
			d.Release(filepath.Join(dir, name))
		}
	}
}

// Held reports whether the pack of this base name is held by us.
func (d *DB) Held(base string) bool { return isHold(filepath.Join(d.dir, "pack", base+".keep")) }

func isHold(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	p := make([]byte, len(holdText)+1)
	n, _ := f.Read(p)
	return string(p[:n]) == holdText
}
