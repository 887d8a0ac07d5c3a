//go:build !linux && !darwin && !windows

package dirfd

import (
	"errors"
	"io/fs"
	"os"
)

// RenameNoReplace renames within the directory. If the new name exists, the
// error is [io/fs.ErrExist] and nothing changed. A file is linked and
// unlinked, which keeps that promise where hard links exist; otherwise the
// name is looked at first, and what another process makes there in that
// moment may be replaced.
func (d *Dir) RenameNoReplace(from, to string) error {
	return d.renameTo(from, to, func(a, b string) error {
		if info, err := os.Lstat(a); err == nil && info.Mode().IsRegular() {
			err := os.Link(a, b)
			if err == nil {
				return os.Remove(a)
			}
			if errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return move(a, b)
	})
}

// TakeAway renames within the directory what other processes may replace at any
// moment, to a name that only the caller knows. If the new name exists, the error is
// [io/fs.ErrExist]. It unlinks nothing: what somebody puts under the old name meanwhile
// is moved, or stays.
func (d *Dir) TakeAway(from, to string) error { return d.renameTo(from, to, move) }

func (d *Dir) renameTo(from, to string, rename func(a, b string) error) error {
	a, err := d.at("rename", from)
	if err != nil {
		return err
	}
	b, err := d.at("rename", to)
	if err != nil {
		return err
	}
	return rename(a, b)
}

func move(a, b string) error {
	if _, err := os.Lstat(b); err == nil {
		return pathError("rename", b, fs.ErrExist)
	}
	return os.Rename(a, b)
}

// Exchange cannot be done in one step here: the error is always
// [errors.ErrUnsupported].
func (d *Dir) Exchange(_, b string) error { return pathError("exchange", b, errors.ErrUnsupported) }
