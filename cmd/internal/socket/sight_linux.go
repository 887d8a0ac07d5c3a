package socket

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	itself = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_MASK_ADD
	within = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
)

// sight notes what may have taken a socket out of its clients' sight, or the directory that it serves out of its place,
// until it is ended. What it is not told: a file system that is mounted, or unmounted while files in it are open, a
// symbolic link on the way that leads elsewhere, and that the place itself is moved. Stirs is nil where the system would
// not tell even the rest, as of a directory on the way that the user may not list. Source: inotify(7).
func sight(p *Place, socket, dir string) (stirs chan struct{}, end func()) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, func() {}
	}
	queue := os.NewFile(uintptr(fd), "inotify")
	end = func() { _ = queue.Close() }
	watch := func(at string, mask uint32) {
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, at, mask)
		}
	}
	watch(p.at("."), itself|within)
	watch(filepath.Dir(dir), itself|within) // who has the directory open is not told that it is deleted
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		watch(at, itself)
	}
	if err == nil {
		stirs = make(chan struct{}, 1)
		go tell(queue, stirs, socket, filepath.Base(dir))
	}
	return stirs, end
}

// tell sends to stirs what the queue has of the names, or of none, until it is closed.
func tell(queue *os.File, stirs chan<- struct{}, names ...string) {
	var buf [4 << 10]byte
	for {
		n, err := queue.Read(buf[:])
		if err != nil {
			return
		}
		if !concern(buf[:n], names) {
			continue
		}
		select {
		case stirs <- struct{}{}:
		default: // it is known already
		}
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
