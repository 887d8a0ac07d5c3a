package durable

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// FileSystem names the kind of file system on which a path lies or will lie, as the system
// calls it: ext4, apfs, NTFS; its number where it has no name here; "" if that is not
// known.
func FileSystem(path string) string {
	for {
		name, err := fileSystem(path)
		if up := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && up != path {
			path = up
			continue
		}
		if err != nil {
			return ""
		}
		return name
	}
}
