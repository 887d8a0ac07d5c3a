package dirfd

import (
	"errors"

	"golang.org/x/sys/windows"
)

// RenameNoReplace renames within the directory. If the new name exists, the
// error is [io/fs.ErrExist] and nothing changed.
func (d *Dir) RenameNoReplace(from, to string) error {
	a, err := d.at("rename", from)
	if err != nil {
		return err
	}
	b, err := d.at("rename", to)
	if err != nil {
		return err
	}
	p, err := windows.UTF16PtrFromString(a)
	if err != nil {
		return pathError("rename", from, err)
	}
	q, err := windows.UTF16PtrFromString(b)
	if err != nil {
		return pathError("rename", to, err)
	}
	return pathError("rename", to, windows.MoveFileEx(p, q, 0))
}

// TakeAway renames within the directory what other processes may replace at any
// moment, to a name that only the caller knows.
func (d *Dir) TakeAway(from, to string) error { return d.RenameNoReplace(from, to) }

// Exchange cannot be done in one step here: the error is always
// [errors.ErrUnsupported].
func (d *Dir) Exchange(_, b string) error { return pathError("exchange", b, errors.ErrUnsupported) }
