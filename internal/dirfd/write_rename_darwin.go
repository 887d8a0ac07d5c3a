package dirfd

import "golang.org/x/sys/unix"

// RenameNoReplace renames within the directory. If the new name exists, the
// error is [io/fs.ErrExist] and nothing changed.
func (d *Dir) RenameNoReplace(from, to string) error {
	return d.renamex("rename", from, to, unix.RENAME_EXCL)
}

// TakeAway renames within the directory what other processes may replace at any
// moment, to a name that only the caller knows.
func (d *Dir) TakeAway(from, to string) error { return d.RenameNoReplace(from, to) }

// Exchange swaps what two names of the directory hold, in one step. Where the
// file system cannot, the error is [errors.ErrUnsupported].
func (d *Dir) Exchange(a, b string) error { return d.renamex("exchange", a, b, unix.RENAME_SWAP) }

func (d *Dir) renamex(op, from, to string, flag uint32) error {
	a, err := d.at(op, from)
	if err != nil {
		return err
	}
	b, err := d.at(op, to)
	if err != nil {
		return err
	}
	return pathError(op, to, unix.RenameatxNp(unix.AT_FDCWD, a, unix.AT_FDCWD, b, flag))
}
