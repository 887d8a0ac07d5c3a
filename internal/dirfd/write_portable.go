//go:build !linux

package dirfd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// SyncReachesAll says what [Dir.Sync] promises on this system: true, that
// everything written on the directory's file system is durable; false, only
// the names in the directory.
const SyncReachesAll = false

// A Temp is a new file, open for writing by one goroutine.
type Temp struct {
	f *os.File
}

// Create makes a new, empty regular file. A name that exists, even as a
// dangling link, is an error ([io/fs.ErrExist]). Permissions are subject to the
// umask; ask [Temp.Stat], correct with [Temp.Chmod].
func (d *Dir) Create(name string, perm tree.Mode) (*Temp, error) {
	path, err := d.at("create", name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(perm&0o777))
	if err != nil {
		return nil, pathError("create", name, err)
	}
	return &Temp{f: f}, nil
}

// Write implements [io.Writer].
func (t *Temp) Write(p []byte) (int, error) { return t.f.Write(p) }

// Stat returns the stat data of the file.
func (t *Temp) Stat() (Stat, error) {
	return fstat(t.f)
}

// Chmod sets these permission bits, as far as the system knows them.
func (t *Temp) Chmod(perm tree.Mode) error { return t.f.Chmod(fileMode(perm)) }

// WriteAt implements [io.WriterAt].
func (t *Temp) WriteAt(p []byte, off int64) (int, error) { return t.f.WriteAt(p, off) }

// Truncate gives the file a size. What was not written reads as zero.
func (t *Temp) Truncate(size int64) error { return t.f.Truncate(size) }

// Clone is not done on this system: the error is [errors.ErrUnsupported].
func (t *Temp) Clone(*File) error { return errors.ErrUnsupported }

// CopyOwner gives the file the owner and group of was, as far as this process
// may.
func (t *Temp) CopyOwner(was Stat) { _ = t.f.Chown(int(was.UID), int(was.GID)) }

// CopyAttrs does nothing here: extended attributes of a replaced file are not
// carried over on this system.
func (t *Temp) CopyAttrs(*File) bool { return false }

// Close makes the bytes durable and closes the file.
func (t *Temp) Close() error { return errors.Join(t.f.Sync(), t.f.Close()) }

// Mkdir makes a directory; permissions are subject to the umask.
func (d *Dir) Mkdir(name string, perm tree.Mode) error {
	path, err := d.at("mkdir", name)
	if err != nil {
		return err
	}
	return pathError("mkdir", name, os.Mkdir(path, fs.FileMode(perm&0o777)))
}

// Symlink makes a symbolic link with these target bytes.
func (d *Dir) Symlink(target, name string) error {
	path, err := d.at("symlink", name)
	if err != nil {
		return err
	}
	if filepath.ToSlash(target) != target {
		return pathError("symlink", name, ErrNotPlain) // it would read otherwise
	}
	return pathError("symlink", name, os.Symlink(target, path))
}

// Remove unlinks a name that is no directory.
func (d *Dir) Remove(name string) error {
	path, err := d.at("remove", name)
	if err != nil {
		return err
	}
	st, err := lstat(path)
	if err == nil && st.Mode.Type() == tree.Dir {
		err = syscall.EISDIR
	}
	if err == nil {
		err = os.Remove(path)
	}
	return pathError("remove", name, err)
}

// Rmdir removes an empty directory. If it is not empty the error is
// [io/fs.ErrExist].
func (d *Dir) Rmdir(name string) error {
	path, err := d.at("rmdir", name)
	if err != nil {
		return err
	}
	list, err := os.ReadDir(path) // a link that leads to a directory is refused below
	if err == nil && len(list) > 0 {
		return pathError("rmdir", name, fs.ErrExist)
	}
	st, err := lstat(path)
	if err == nil && st.Mode.Type() != tree.Dir {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = os.Remove(path)
	}
	return pathError("rmdir", name, err)
}

// Chmod sets these permission bits on the file or directory that was
// describes. If the name holds another inode by now, or a link, the error is
// [io/fs.ErrNotExist]. Between that check and the change there is a moment in
// which another process can swap the name.
func (d *Dir) Chmod(name string, was Stat, perm tree.Mode) error {
	path, err := d.at("chmod", name)
	if err != nil {
		return err
	}
	st, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if st.Ino != was.Ino || st.Dev != was.Dev || st.Mode.Type() == tree.Symlink {
		return pathError("chmod", name, fs.ErrNotExist)
	}
	return pathError("chmod", name, os.Chmod(path, fileMode(perm)))
}

// ChmodSelf sets these permission bits on the directory itself.
func (d *Dir) ChmodSelf(perm tree.Mode) error {
	if err := d.check(); err != nil {
		return pathError("chmod", ".", err)
	}
	return os.Chmod(d.path, fileMode(perm))
}

// SetMtime sets the modification time, in nanoseconds since 1970, of what lies
// under a name. A symbolic link is left as it is.
func (d *Dir) SetMtime(name string, mtime int64) error {
	path, err := d.at("utimes", name)
	if err != nil {
		return err
	}
	if st, err := d.Lstat(name); err != nil || st.Mode.Type() == tree.Symlink {
		return err
	}
	return os.Chtimes(path, time.Time{}, time.Unix(0, mtime))
}

// Sync makes the names in the directory durable, where the system can.
func (d *Dir) Sync() error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced there
	}
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func fileMode(perm tree.Mode) fs.FileMode {
	m := fs.FileMode(perm & 0o777)
	for bit, mode := range map[tree.Mode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if perm&bit != 0 {
			m |= mode
		}
	}
	return m
}
