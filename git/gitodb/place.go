package gitodb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// Links returns the paths of the links in the place of a database's directory, and of
// those among what lies in it, such as its directory of packs. An archive may bring
// them, and git follows them.
func Links(dir string) ([]string, error) {
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

// CheckLinks returns nil if all [Links] of a database lead to the user's own. What is
// no link is whoever's it is: several users may write into one database.
func CheckLinks(dir string) error {
	links, err := Links(dir)
	for _, at := range links {
		err = errors.Join(err, durable.CheckLinked(at))
	}
	return err
}
