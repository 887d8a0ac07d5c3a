package dirfd

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// SyncReachesAll says what [Dir.Sync] promises on this system: true, that
// everything written on the directory's file system is durable; false, only
// the names in the directory.
const SyncReachesAll = true

// A Temp is a new file, open for writing by one goroutine.
type Temp struct {
	fd   int
	name string
}

// Create makes a new, empty regular file. A name that exists, even as a
// dangling link, is an error ([io/fs.ErrExist]). Permissions are subject to the
// umask; ask [Temp.Stat], correct with [Temp.Chmod].
func (d *Dir) Create(name string, perm tree.Mode) (*Temp, error) {
	if err := plain(name); err != nil {
		return nil, pathError("create", name, err)
	}
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, uint32(perm.Perm())) })
	if err != nil {
		return nil, pathError("create", name, err)
	}
	return &Temp{fd: fd, name: name}, nil
}

// Write implements [io.Writer].
func (t *Temp) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := retry(func() (int, error) { return unix.Write(t.fd, p[done:]) })
		if err != nil {
			return done, pathError("write", t.name, err)
		}
		done += n
	}
	return done, nil
}

// WriteAt implements [io.WriterAt].
func (t *Temp) WriteAt(p []byte, off int64) (done int, err error) {
	for done < len(p) {
		n, err := retry(func() (int, error) { return unix.Pwrite(t.fd, p[done:], off+int64(done)) })
		if err != nil {
			return done, pathError("write", t.name, err)
		}
		done += n
	}
	return done, nil
}

// Truncate gives the file a size. What was not written reads as zero.
func (t *Temp) Truncate(size int64) error {
	return pathError("truncate", t.name, unix.Ftruncate(t.fd, size))
}

// Clone makes the file share the content of another one, of which neither sees what
// is written to the other (ioctl_ficlone(2)). Where that cannot be done the error is
// [errors.ErrUnsupported], and nothing was changed.
func (t *Temp) Clone(from *File) error {
	err := unix.IoctlFileClone(t.fd, from.fd)
	for _, no := range []error{unix.EOPNOTSUPP, unix.EXDEV, unix.EINVAL, unix.ENOTTY, unix.ENOSYS, unix.EPERM, unix.ETXTBSY} {
		if errors.Is(err, no) {
			err = errors.Join(errors.ErrUnsupported, err)
		}
	}
	return pathError("clone", t.name, err)
}

// Stat returns the stat data of the file.
func (t *Temp) Stat() (Stat, error) {
	var st Stat
	err := statx(t.fd, &emptyName[0], unix.AT_EMPTY_PATH, false, &st)
	return st, pathError("stat", t.name, err)
}

// Chmod sets exactly these permission bits, whatever the umask.
func (t *Temp) Chmod(perm tree.Mode) error {
	return pathError("chmod", t.name, unix.Fchmod(t.fd, uint32(perm.Perm())))
}

// CopyOwner gives the file the owner and group of was, as far as this process
// may. It may clear setuid and setgid: call it before [Temp.Chmod].
func (t *Temp) CopyOwner(was Stat) {
	if unix.Fchown(t.fd, int(was.UID), int(was.GID)) != nil {
		_ = unix.Fchown(t.fd, -1, int(was.GID))
	}
}

// CopyAttrs gives the file the extended attributes of another, as far as the
// system lets us: user attributes, access lists and security labels. Not
// copied is what vouches for the old bytes and must not vouch for new ones:
// file capabilities and integrity signatures (the kernel drops the former at
// any write, see capabilities(7)). Call it before [Temp.Chmod]. It reports whether there
// were any.
func (t *Temp) CopyAttrs(from *File) bool {
	var list [4096]byte
	n, err := unix.Flistxattr(from.fd, list[:])
	if err != nil || n == 0 {
		return false
	}
	for attr := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if !copied(attr) {
			continue
		}
		size, err := unix.Fgetxattr(from.fd, attr, nil)
		if err != nil {
			continue
		}
		value := make([]byte, size)
		if size, err = unix.Fgetxattr(from.fd, attr, value); err == nil {
			_ = unix.Fsetxattr(t.fd, attr, value[:size], 0)
		}
	}
	return true
}

func copied(attr string) bool {
	switch attr {
	case "security.capability", "security.ima", "security.evm":
		return false
	case "system.posix_acl_access", "system.nfs4_acl":
		return true
	}
	return strings.HasPrefix(attr, "user.") || strings.HasPrefix(attr, "security.")
}

// Close closes the file. Where [SyncReachesAll] is false it makes its bytes
// durable first.
func (t *Temp) Close() error { return pathError("close", t.name, unix.Close(t.fd)) }

// Mkdir makes a directory; permissions are subject to the umask.
func (d *Dir) Mkdir(name string, perm tree.Mode) error {
	return d.named("mkdir", name, func() error { return unix.Mkdirat(d.fd, name, uint32(perm.Perm())) })
}

// Symlink makes a symbolic link with these target bytes.
func (d *Dir) Symlink(target, name string) error {
	return d.named("symlink", name, func() error { return unix.Symlinkat(target, d.fd, name) })
}

// RenameNoReplace renames within the directory. If the new name exists, the
// error is [io/fs.ErrExist] and nothing changed. On file systems without
// RENAME_NOREPLACE a file or link is linked and unlinked, which keeps that
// promise: nobody else may know the old name. For anything else, and where there
// are no hard links, the name is looked at first, and a name that another process
// makes in that moment is replaced if the system's rename does so.
func (d *Dir) RenameNoReplace(from, to string) error {
	return d.renameTo(from, to, d.renameWithoutHelp)
}

// TakeAway renames within the directory what other processes may replace at any
// moment, to a name that only the caller knows. If the new name exists, the error is
// [io/fs.ErrExist]. Unlike [Dir.RenameNoReplace] it unlinks nothing, whatever the file
// system offers: what somebody puts under the old name meanwhile is moved, or stays.
func (d *Dir) TakeAway(from, to string) error { return d.renameTo(from, to, d.moveWithoutHelp) }

// renameTo renames to a name that does not exist, without the kernel's help where it has
// none.
func (d *Dir) renameTo(from, to string, without func(from, to string) error) error {
	if err := plain(from); err != nil {
		return pathError("rename", from, err)
	}
	return d.named("rename", to, func() error {
		err := d.rename2(from, to, unix.RENAME_NOREPLACE)
		if lacking(err) {
			err = without(from, to)
		}
		return err
	})
}

func (d *Dir) renameWithoutHelp(from, to string) error {
	st, err := d.Lstat(from)
	if err != nil {
		return err
	}
	if t := st.Mode.Type(); t == tree.File || t == tree.Symlink { // no link is followed
		if err = unix.Linkat(d.fd, from, d.fd, to, 0); err == nil {
			return unix.Unlinkat(d.fd, from, 0)
		}
		if err == unix.EEXIST {
			return err
		}
	}
	return d.moveWithoutHelp(from, to)
}

func (d *Dir) moveWithoutHelp(from, to string) error {
	if _, err := d.Lstat(to); !Gone(err) {
		return unix.EEXIST
	}
	return unix.Renameat(d.fd, from, d.fd, to)
}

// Exchange swaps what two names of the directory hold, in one step, whatever
// their types. Where the file system cannot, the error is
// [errors.ErrUnsupported] and nothing changed.
func (d *Dir) Exchange(a, b string) error {
	if err := plain(a); err != nil {
		return pathError("exchange", a, err)
	}
	return d.named("exchange", b, func() error {
		err := d.rename2(a, b, unix.RENAME_EXCHANGE)
		if lacking(err) {
			return unix.ENOTSUP
		}
		return err
	})
}

func (d *Dir) rename2(from, to string, flags uint) error {
	_, err := retry(func() (int, error) { return 0, unix.Renameat2(d.fd, from, d.fd, to, flags) })
	return err
}

// lacking reports whether the kernel or the file system has no such rename.
func lacking(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP
}

// Remove unlinks a name that is no directory.
func (d *Dir) Remove(name string) error {
	return d.named("remove", name, func() error { return unix.Unlinkat(d.fd, name, 0) })
}

// Rmdir removes an empty directory. If it is not empty the error is
// [io/fs.ErrExist].
func (d *Dir) Rmdir(name string) error {
	return d.named("rmdir", name, func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
}

// Chmod sets exactly these permission bits on the file or directory that was
// describes. If the name holds another inode by now, or a link, the error is
// [io/fs.ErrNotExist] and nothing changed.
func (d *Dir) Chmod(name string, was Stat, perm tree.Mode) error {
	return d.named("chmod", name, func() error {
		fd, err := retry(func() (int, error) {
			return unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st Stat
		if err := statx(fd, &emptyName[0], unix.AT_EMPTY_PATH, false, &st); err != nil {
			return err
		}
		if st.Ino != was.Ino || st.Dev != was.Dev || st.Mode.Type() == tree.Symlink {
			return unix.ENOENT
		}
		err = unix.Fchmodat(fd, "", uint32(perm.Perm()), unix.AT_EMPTY_PATH)
		if err == unix.EOPNOTSUPP || err == unix.EPERM { // before Linux 6.6, or a sandbox that does not know the call
			err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), uint32(perm.Perm()))
		}
		return err
	})
}

// ChmodSelf sets exactly these permission bits on the directory itself.
func (d *Dir) ChmodSelf(perm tree.Mode) error {
	return pathError("chmod", ".", unix.Fchmod(d.fd, uint32(perm.Perm())))
}

// SetMtime sets the modification time, in nanoseconds since 1970, of what lies
// under a name; a link is not followed.
func (d *Dir) SetMtime(name string, mtime int64) error {
	return d.named("utimes", name, func() error {
		ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
		return unix.UtimesNanoAt(d.fd, name, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Sync makes durable what was written; see [SyncReachesAll].
func (d *Dir) Sync() error { return pathError("syncfs", ".", unix.Syncfs(d.fd)) }

// named makes a call on a plain name, again while a signal interrupts it.
func (d *Dir) named(op, name string, call func() error) error {
	if err := plain(name); err != nil {
		return pathError(op, name, err)
	}
	_, err := retry(func() (int, error) { return 0, call() })
	return pathError(op, name, err)
}
