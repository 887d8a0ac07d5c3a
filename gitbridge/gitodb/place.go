package gitodb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Symlinks returns the paths of the links in the place of the database's directory, and of
// those among what lies in it, such as its directory of packs. An archive may bring
// them, and git follows them.
func (d *DB) Symlinks() ([]string, error) {
	names, err := d.listed.symlinks(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var links []string
	if st, err := os.Lstat(d.dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		links = append(links, d.dir)
	}
	for _, name := range names {
		links = append(links, filepath.Join(d.dir, name))
	}
	return links, err
}

// A listed is what a directory of objects had when it was listed. It has hundreds of
// names, and a turn asks three times: it is listed again if it changed.
type listed struct {
	sync.Mutex
	at    dirfd.Stat // zero if a later change may not show in it
	names []string   // of the links
}

// symlinks returns the names of the links in a directory. Its time of modification alone
// would not do: who may write it may set that.
func (l *listed) symlinks(path string) ([]string, error) {
	l.Lock()
	defer l.Unlock()
	dir, err := dirfd.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	at, err := dir.Stat()
	if err != nil {
		return nil, err
	}
	if at == l.at {
		return l.names, nil
	}
	lasting := settled(time.Unix(0, at.Ctime)) && dir.Local()
	l.at, l.names = dirfd.Stat{}, nil
	list, err := dir.List()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Type == 0 {
			st, err := dir.Lstat(e.Name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			e.Type = st.Mode.Type()
		}
		if e.Type == tree.Symlink {
			l.names = append(l.names, e.Name)
		}
	}
	if lasting {
		l.at = at
	}
	return l.names, nil
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
