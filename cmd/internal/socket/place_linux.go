package socket

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A Place is the directory in which the sockets of the user lie. It is open: whatever
// is put in its place later is not used.
type Place struct {
	fd   int
	path string
}

// A fileID tells one socket from another that gets its name.
type fileID struct{ dev, ino uint64 }

// Open opens the place: "rewind" below $XDG_RUNTIME_DIR, or where that is not the
// user's own, a directory of the user's below that for temporary files. It is made if
// asked for. What is another user's, a link, or open to others is refused.
func Open(getenv func(string) string, create bool) (*Place, error) {
	path := placeOf(getenv)
	if create {
		if err := unix.Mkdir(path, 0o700); err != nil && err != unix.EEXIST {
			return nil, fmt.Errorf("%w: make %s: %w", ErrUnable, path, err)
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENOENT && !create:
		return nil, ErrNone
	case err != nil:
		return nil, fmt.Errorf("%w: %s is not a directory of yours: %w", ErrUnable, path, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = private(path, &st)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	return &Place{fd, path}, nil
}

// private returns nil for a directory that only the user may enter.
func private(path string, st *unix.Stat_t) error {
	switch {
	case int64(st.Uid) != int64(unix.Geteuid()):
		return fmt.Errorf("%s belongs to another user (%d): move it away", path, st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%s is open to others (%#o): \"chmod 700\" closes it", path, st.Mode&0o777)
	}
	return nil
}

func placeOf(getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int64(st.Uid) == int64(unix.Geteuid()) && st.Mode&0o022 == 0 {
			return filepath.Join(dir, "rewind")
		}
	}
	temporary := getenv("TMPDIR")
	if !filepath.IsAbs(temporary) {
		temporary = "/tmp"
	}
	return filepath.Join(temporary, "rewind-"+strconv.Itoa(unix.Geteuid()))
}

// Close closes the place.
func (p *Place) Close() error { return unix.Close(p.fd) }

// Key names a directory as it is now: one that is put in its place later has another,
// also if both were made within one grain of the file system's clock.
func Key(dir string) (string, error) {
	birth, err := dirfd.Birth(dir)
	var st unix.Stat_t
	if err == nil {
		err = unix.Stat(dir, &st)
	}
	return digest(birth, dir, fmt.Sprint(st.Dev, st.Ino))[:20], err
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// socketName is the name under which a program of one kind serves a directory.
func socketName(key, program string) string { return key + "-" + digest(program)[:12] + ".sock" }

// at is a path by which the system's calls for sockets, which take only short ones,
// reach a name in this very directory.
func (p *Place) at(name string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", p.fd, name) }

// look looks at a socket of ours.
func (p *Place) look(name string) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(p.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fileID{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || int64(st.Uid) != int64(unix.Geteuid()) {
		return fileID{}, fmt.Errorf("%s is no socket of yours", filepath.Join(p.path, name))
	}
	return fileID{uint64(st.Dev), st.Ino}, nil
}

// stands reports whether the place is where it was opened.
func (p *Place) stands() bool {
	var is, was unix.Stat_t
	err := errors.Join(unix.Fstat(p.fd, &was), unix.Lstat(p.path, &is))
	return err == nil && is.Dev == was.Dev && is.Ino == was.Ino
}

func (p *Place) remove(name string) { _ = unix.Unlinkat(p.fd, name, 0) }

// Listen begins to serve a directory, for clients of the same program's name. The
// listener takes over the place, also where it fails.
func Listen(p *Place, dir, program string) (_ *Listener, err error) {
	l := &Listener{place: p}
	defer func() {
		if err == nil {
			return
		}
		if l.held != nil {
			_ = l.held.Unlock()
		}
		_ = p.Close()
	}()
	key, err := Key(dir)
	if err != nil {
		return nil, err
	}
	l.name, l.lock = socketName(key, program), filepath.Join(p.path, key+".lock")
	p.sweep()
	if l.held, err = p.lock(l.lock); err != nil {
		return nil, err
	}
	p.remove(l.name) // of a process that is gone: it had the lock
	if l.net, err = net.ListenUnix("unix", &net.UnixAddr{Name: p.at(l.name), Net: "unix"}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	l.net.SetUnlinkOnClose(false)
	if err = unix.Fchmodat(p.fd, l.name, 0o600, 0); err == nil {
		l.file, err = p.look(l.name)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnable, errors.Join(err, l.net.Close()))
		return nil, err
	}
	l.sight = newSight(p, l.name, dir)
	return l, nil
}

// Claim makes this process the only one that has claimed a directory for something,
// until it releases it or ends; otherwise it reports [ErrTaken].
func (p *Place) Claim(dir, what string) (release func(), err error) {
	key, err := Key(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(p.path, key+"."+what+".lock")
	held, err := p.lock(path)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = durable.Remove(path) // under the lock: who waits for it makes another one
		_ = held.Unlock()
	}, nil
}

// lock locks a file. Somebody who looks whether its owner lives has it for a moment.
func (p *Place) lock(path string) (held *durable.Held, err error) {
	for range 4 {
		if held, err = durable.TryLock(path, durable.Exclusive); !errors.Is(err, durable.ErrLocked) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, ErrTaken
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	return held, nil
}

// sweep removes what processes that were killed have left.
func (p *Place) sweep() {
	list, err := os.ReadDir(p.path)
	if err != nil {
		return
	}
	for _, entry := range list {
		key, ok := strings.CutSuffix(entry.Name(), ".lock")
		if !ok {
			continue
		}
		path := filepath.Join(p.path, entry.Name())
		held, err := durable.TryLock(path, durable.Exclusive)
		if err != nil {
			continue
		}
		for _, other := range list {
			if strings.HasPrefix(other.Name(), key+"-") && strings.HasSuffix(other.Name(), ".sock") {
				p.remove(other.Name())
			}
		}
		_ = durable.Remove(path)
		_ = held.Unlock()
	}
}

// dial connects to who serves the directory or the nearest one above it.
func (p *Place) dial(dir, program string) (*net.UnixConn, string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		key, err := Key(at)
		if err == nil {
			_, err = p.look(socketName(key, program))
		}
		if err == nil {
			conn, err := p.connect(socketName(key, program))
			return conn, at, err
		}
		if at == filepath.Dir(at) {
			return nil, "", ErrNone
		}
	}
}

// connect does not wait: where too many wait already the system says so at once.
func (p *Place) connect(name string) (*net.UnixConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: p.at(name), Net: "unix"})
	if err != nil {
		return nil, err
	}
	if _, err := ownPeer(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// ownPeer returns the process at the other end, if it is one of the user's.
func ownPeer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	failed := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(failed, err); err != nil {
		return 0, err
	}
	if int64(cred.Uid) != int64(unix.Geteuid()) {
		return 0, fmt.Errorf("%w: the process at the other end is another user's (%d)", ErrNone, cred.Uid)
	}
	return int(cred.Pid), nil
}
