package gitodb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// Links returns the paths of the links in the place of the database's directory, and of
// those among what lies in it, such as its directory of packs. An archive may bring
// them, and git follows them. The directory is listed again if it changed.
func (d *DB) Links() ([]string, error) {
	d.links.Lock()
	defer d.links.Unlock()
	at, ok := stampOf(d.dir)
	if ok && at == d.links.at {
		return d.links.paths, nil
	}
	paths, err := links(d.dir)
	d.links.paths, d.links.at = paths, stamp{}
	if err == nil && ok && settled(time.Unix(0, at.ctime)) {
		d.links.at = at
	}
	return paths, err
}

// A stamp tells states of a directory from one another, if it is settled. The zero
// stamp is that of none.
type stamp struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds; who may write the directory may set the former, but not the latter
}

func links(dir string) ([]string, error) {
	var links []string
	if st, err := os.Lstat(dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		links = append(links, dir)
	}
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		if e.Type()&fs.ModeSymlink != 0 {
			links = append(links, filepath.Join(dir, e.Name()))
		}
	}
	return links, nil
}

// CheckLinks returns nil if all [DB.Links] lead to the user's own. What is
// no link is whoever's it is: several users may write into one database.
func (d *DB) CheckLinks() error {
	links, err := d.Links()
	for _, at := range links {
		err = errors.Join(err, durable.CheckLinked(at))
	}
	return err
}
