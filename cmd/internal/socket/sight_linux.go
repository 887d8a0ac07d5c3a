package socket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// What is told of a directory itself, and of the names in it.
const (
	itself = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_MASK_ADD
	within = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
)

// A sight notes what may have taken a socket out of its clients' sight, or the directory that it serves out of its place,
// until it is ended. What it is not told: that a symbolic link on the way leads elsewhere. Sources: inotify(7), proc(5) of
// mountinfo.
type sight struct {
	queue, mounts *os.File
	stirs         chan struct{}
	watch         func() error // watches what has the paths now
	names         []string     // what else it tells of is of others
}

// newSight begins. It returns nil where the system would not tell all of it, as of a directory on the way that the user may
// not list.
func newSight(p *Place, socket, dir string) *sight {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	s := &sight{queue: os.NewFile(uintptr(fd), "inotify"), stirs: make(chan struct{}, 1), names: []string{socket, filepath.Base(dir)}}
	s.watch = func() error { return s.add(p, dir) }
	// An open file that can be waited for: each change of what is mounted ends a wait (proc(5)).
	if err = s.watch(); err == nil {
		s.mounts, err = os.OpenFile("/proc/self/mountinfo", os.O_RDONLY|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		_ = s.queue.Close()
		return nil
	}
	go s.read()
	go s.wait()
	return s
}

// add watches the place and the directory, and all that is above them.
func (s *sight) add(p *Place, dir string) (err error) {
	watch := func(fd int, at string, mask uint32) {
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, at, mask)
		}
	}
	conn, closed := s.queue.SyscallConn()
	if closed == nil {
		closed = conn.Control(func(q uintptr) {
			watch(int(q), p.at("."), itself|within)
			watch(int(q), filepath.Dir(dir), itself|within) // who has the directory open is not told that it is deleted
			for _, at := range []string{dir, p.path} {
				for ; at != filepath.Dir(at); at = filepath.Dir(at) {
					watch(int(q), at, itself)
				}
			}
		})
	}
	return errors.Join(err, closed)
}

func (s *sight) end() {
	if s != nil {
		_, _ = s.queue.Close(), s.mounts.Close()
	}
}

func (s *sight) stir() {
	select {
	case s.stirs <- struct{}{}:
	default: // it is known already
	}
}

// calm is how long the queue is left alone after events that are of others: there may be many.
const calm = 50 * time.Millisecond

// read tells what the queue has, until that is closed. A directory may have taken the place of one that was watched.
func (s *sight) read() {
	var buf [4 << 10]byte
	for {
		n, err := s.queue.Read(buf[:])
		if err != nil {
			return
		}
		if concern(buf[:n], s.names) {
			_ = s.watch() // who is told finds what is gone
			s.stir()
		} else {
			time.Sleep(calm)
		}
	}
}

// wait tells each change of what is mounted, until the table is closed.
func (s *sight) wait() {
	conn, err := s.mounts.SyscallConn()
	for err == nil {
		waited := false
		err = conn.Read(func(uintptr) bool { // false: wait
			was := waited
			waited = true
			return was
		})
		s.stir()
	}
}

// concern reports whether one of the events may be of the names.
func concern(p []byte, names []string) bool {
	for len(p) >= unix.SizeofInotifyEvent {
		size := int(binary.NativeEndian.Uint32(p[12:]))
		p = p[unix.SizeofInotifyEvent:]
		if size > len(p) {
			return true
		}
		name, _, _ := bytes.Cut(p[:size], []byte{0})
		if p = p[size:]; len(name) == 0 || slices.Contains(names, string(name)) {
			return true
		}
	}
	return false
}
