package gitodb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// Symlinks returns the paths of the links in the place of the database's directory, and of
// those among what lies in it, such as its directory of packs. An archive may bring
// them, and git follows them.
func (d *DB) Symlinks() ([]string, error) {
	var links []string
	if st, err := os.Lstat(d.dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		links = append(links, d.dir)
	}
	list, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if e.Type()&fs.ModeSymlink != 0 {
			links = append(links, filepath.Join(d.dir, e.Name()))
		}
	}
	return links, nil
}

// CheckSymlinks returns nil if all [DB.Symlinks] lead to the user's own. What is
// no link is whoever's it is: several users may write into one database.
func (d *DB) CheckSymlinks() error {
	links, err := d.Symlinks()
	for _, at := range links {
		err = errors.Join(err, durable.CheckLinked(at))
	}
	return err
}
