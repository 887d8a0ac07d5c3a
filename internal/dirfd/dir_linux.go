package dirfd

import (
	"encoding/binary"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	openDirFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	openFileFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	resolvePlain  = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

	pathBytesMax  = 4000      // below PATH_MAX, so that a longer path is opened in pieces
	listBufBytes  = 64 * 1024 // one getdents64 call for nearly every directory
	direntNameOff = 19        // of d_name in struct linux_dirent64
)

// A Dir is an open directory. It is safe for concurrent use; whoever opened it
// closes it, once, after the last use.
type Dir struct {
	fd     int
	quick  bool
	root   bool       // its [Root] closes it
	listMu sync.Mutex // held while listing: the kernel keeps one position a handle
}

// Open opens the directory at a path of the system, which may lead through
// symbolic links: the caller decided that this is the root.
func Open(path string) (*Dir, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &Dir{fd: fd}, nil
}

// OpenDir opens the directory at a slash-separated path below d. No component
// may be a symbolic link, "." or "..". A path of any length is possible.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	if err := plainPath(rel); err != nil {
		return nil, pathError("open", rel, err)
	}
	at, rest := d, rel
	for len(rest) > pathBytesMax {
		cut := strings.LastIndexByte(rest[:pathBytesMax], '/')
		if cut < 0 {
			break // one name over every limit: the kernel refuses it
		}
		fd, err := openBeneath(at.fd, rest[:cut])
		if at != d {
			at.Close()
		}
		if err != nil {
			return nil, pathError("open", rel, err)
		}
		at, rest = &Dir{fd: fd}, rest[cut+1:]
	}
	fd, err := openBeneath(at.fd, rest)
	if at != d {
		at.Close()
	}
	if err != nil {
		return nil, pathError("open", rel, err)
	}
	return &Dir{fd: fd}, nil
}

// openBeneath opens a directory by openat2, or by [openByComponents] where the
// kernel or a sandbox does not offer it.
func openBeneath(at int, rel string) (int, error) {
	how := unix.OpenHow{Flags: openDirFlags, Resolve: resolvePlain}
	fd, err := retry(func() (int, error) { return unix.Openat2(at, rel, &how) })
	if err == unix.ENOSYS || err == unix.EPERM {
		return openByComponents(at, rel)
	}
	return fd, err
}

func openByComponents(at int, rel string) (int, error) {
	first := at
	for {
		name, rest, more := strings.Cut(rel, "/")
		fd, err := retry(func() (int, error) { return unix.Openat(at, name, openDirFlags, 0) })
		if at != first {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, rel = fd, rest
	}
}

// retry repeats a call that a signal or, for openat2, a concurrent rename
// interrupted.
func retry(call func() (int, error)) (int, error) {
	for tries := 0; ; tries++ {
		fd, err := call()
		if err == unix.EINTR || err == unix.EAGAIN && tries < 1000 {
			continue
		}
		return fd, err
	}
}

// Stat returns the stat data of the directory itself.
func (d *Dir) Stat() (Stat, error) {
	var st Stat
	if err := statx(d.fd, &emptyName[0], unix.AT_EMPTY_PATH, false, &st); err != nil {
		return st, pathError("stat", ".", err)
	}
	return st, nil
}

// Lstat returns the stat data of what lies under a name; a link is not
// followed.
func (d *Dir) Lstat(name string) (Stat, error) {
	var st Stat
	if err := plain(name); err != nil {
		return st, pathError("lstat", name, err)
	}
	p, err := unix.BytePtrFromString(name)
	if err == nil {
		err = d.LstatRaw(p, &st)
	}
	return st, pathError("lstat", name, err)
}

// LstatRaw is [Dir.Lstat] for a NUL-terminated name that the caller knows to
// be plain. It allocates nothing; the error is a bare errno.
func (d *Dir) LstatRaw(name *byte, st *Stat) error {
	return statx(d.fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, d.quick, st)
}

// Quick says that a look at a name in d waits for a disk of this machine at
// most, as [Dir.Local] tells of its file system. [Dir.LstatRaw] then spares the
// Go scheduler the news that a thread may block, which costs a twentieth of the
// look where the kernel has the answer in memory. It is called before d is used
// by others.
func (d *Dir) Quick() { d.quick = true }

// Search returns an error if names cannot be looked up in the directory: with
// the permission to read alone it can be listed, and no more.
func (d *Dir) Search() error {
	var st Stat
	return pathError("search", ".", statx(d.fd, &selfName[0], unix.AT_SYMLINK_NOFOLLOW, false, &st))
}

var (
	emptyName = [1]byte{}
	selfName  = [2]byte{'.'}
)

// statx calls statx(2); quick is without a word to the scheduler.
func statx(fd int, name *byte, flags int, quick bool, st *Stat) error {
	var x unix.Statx_t
	errno := unix.EINTR
	for errno == unix.EINTR {
		if quick {
			_, _, errno = unix.RawSyscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(name)),
				uintptr(flags), unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&x)), 0)
		} else {
			_, _, errno = unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(name)),
				uintptr(flags), unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&x)), 0)
		}
	}
	if errno != 0 {
		return errno
	}
	st.Mode = tree.Mode(x.Mode)
	st.Size = int64(x.Size)
	st.Mtime = x.Mtime.Sec*1e9 + int64(x.Mtime.Nsec)
	st.Ctime = x.Ctime.Sec*1e9 + int64(x.Ctime.Nsec)
	st.Ino = x.Ino
	st.Dev = uint64(x.Dev_major)<<32 | uint64(x.Dev_minor)
	st.Nlink, st.UID, st.GID = x.Nlink, x.Uid, x.Gid
	return nil
}

var listBufs = sync.Pool{New: func() any { return new([listBufBytes]byte) }}

// List returns the names in the directory, without "." and "..", in the order
// of the file system.
func (d *Dir) List() ([]Name, error) {
	d.listMu.Lock()
	defer d.listMu.Unlock()
	if _, err := unix.Seek(d.fd, 0, 0); err != nil {
		return nil, pathError("list", ".", err)
	}
	buf := listBufs.Get().(*[listBufBytes]byte)
	defer listBufs.Put(buf)
	var out []Name
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(d.fd, buf[:]) })
		if err != nil {
			return nil, pathError("list", ".", err)
		}
		if n == 0 {
			return out, nil
		}
		out = appendNames(out, string(buf[:n]))
	}
}

// appendNames decodes what one getdents64 call gave. The names are parts of
// one string, so a directory costs two allocations, not one a name.
func appendNames(out []Name, p string) []Name {
	if out == nil {
		out = make([]Name, 0, len(p)/32)
	}
	for len(p) > direntNameOff {
		size := int(binary.NativeEndian.Uint16([]byte(p[16:18])))
		if size <= direntNameOff || size > len(p) {
			return out
		}
		name, _, _ := strings.Cut(p[direntNameOff:size], "\x00")
		if name != "." && name != ".." {
			out = append(out, Name{Name: name, Type: tree.Mode(p[18]) << 12})
		}
		p = p[size:]
	}
	return out
}

// Readlink returns the target of the symbolic link under a name.
func (d *Dir) Readlink(name string) (string, error) {
	if err := plain(name); err != nil {
		return "", pathError("readlink", name, err)
	}
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Readlinkat(d.fd, name, buf) })
		if err != nil {
			return "", pathError("readlink", name, err)
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// Close closes the handle.
func (d *Dir) Close() error {
	if d.root {
		return nil
	}
	return unix.Close(d.fd)
}
