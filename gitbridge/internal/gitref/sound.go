package gitref

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// sound checks that a ref and its log lie where they seem to. Between the place
// of all refs, where the user may have put a link to that of another repository of
// his, and the file, nothing is a link, and all of it is the user's.
func (s *Store) sound(name string) error {
	for _, at := range []string{s.dir(name), filepath.Join(s.dir(name), "logs")} {
		if err := soundDir(durable.CheckLinked, at); err != nil {
			return err
		}
		check := durable.CheckLinked
		for parts := strings.Split(name, "/"); len(parts) > 1; parts = parts[1:] {
			at = filepath.Join(at, parts[0])
			if err := soundDir(check, at); err != nil {
				return err
			}
			check = durable.CheckDir
		}
	}
	if st, err := os.Lstat(s.path(name)); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%w: %s is a symbolic link", ErrConflict, s.path(name))
	}
	return nil
}

// soundDir ignores what is not there, and a file, which may be another ref: that is found
// out when something is to be made below it.
func soundDir(check func(string) error, path string) error {
	if st, err := os.Lstat(path); err != nil || st.Mode().IsRegular() {
		return nil
	}
	if err := check(path); errors.Is(err, durable.ErrForeign) {
		return err
	}
	return nil
}
