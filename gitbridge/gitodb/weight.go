package gitodb

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Weight returns the bytes of files: those of objects that have a file of their
// own, and those of the packs named, by their base names. What is not there has
// none. No file is opened.
func (d *DB) Weight(loose []oid.ID, packs []string) (bytes int64) {
	add := func(path string) {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			bytes += st.Size()
		}
	}
	for _, id := range distinct(loose) {
		if d.fits(id) {
			add(loosePath(d.dir, id))
		}
	}
	for _, base := range packs {
		if !strings.HasPrefix(base, "pack-") || strings.ContainsAny(base, "/\\.") {
			continue
		}
		for _, ext := range []string{".pack", ".idx", ".rev"} {
			add(filepath.Join(d.dir, "pack", base+ext))
		}
	}
	return bytes
}
