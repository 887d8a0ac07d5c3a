// Package durable handles the program's own files: whole-file locks shared by
// goroutines and processes, and writes that survive a power loss.
//
// A file written here is either wholly old or wholly new, and new for good
// once the call returned nil. The package does not know what is in the files,
// and is never used on a user's.
package durable

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// WriteFile replaces the file at path by data, atomically and durably: after a
// crash at any moment the file is either what it was or exactly data, and it
// is data once WriteFile has returned nil. The directory must exist. The
// permission bits are perm less the umask.
func WriteFile(path string, data []byte, perm os.FileMode) (err error) {
	f, err := createTemp(path, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return Rename(f.Name(), path)
}

// Rename moves a file, whose content the caller has synced, over another in
// the same directory, and makes the new name durable.
func Rename(from, to string) error {
	if err := Move(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// Move is [Rename] for a name that need not be durable.
func Move(from, to string) error {
	d, err := openDir(filepath.Dir(to))
	if err != nil {
		return err
	}
	err = Patiently(func() error { return d.root.Rename(filepath.Base(from), filepath.Base(to)) })
	return errors.Join(err, d.done())
}

// createTemp makes a new file beside path. os.CreateTemp is not used because
// it fixes the permission bits and so ignores the umask.
func createTemp(path string, perm os.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := path + ".tmp-" + strconv.FormatUint(rand.Uint64(), 36)
		f, err := OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, os.ErrExist) && try < 100 {
			continue
		}
		return f, err
	}
}
