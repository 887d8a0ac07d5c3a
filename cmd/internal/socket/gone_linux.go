package socket

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A sentry hears of the socket's directory from the kernel (inotify(7)), so that nobody has
// to look again and again whether the socket is there.
type sentry struct {
	events *os.File
	gone   chan struct{} // closed when the socket is not there any more
	reader sync.WaitGroup
}

// guard begins to listen for the end of the socket; nil if the kernel cannot tell of it.
func (l *Listener) guard() *sentry {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	const mask = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_ONLYDIR
	s := &sentry{events: os.NewFile(uintptr(fd), "inotify"), gone: make(chan struct{})}
	if _, err := unix.InotifyAddWatch(fd, l.place.at("."), mask); err != nil {
		s.close()
		return nil
	}
	s.reader.Go(func() {
		var events [4096]byte
		for {
			if _, err := s.events.Read(events[:]); err != nil {
				return // it was closed
			}
			if !l.Stands() {
				close(s.gone)
				return
			}
		}
	})
	return s
}

func (s *sentry) close() {
	if s != nil {
		_ = s.events.Close()
		s.reader.Wait()
	}
}

// Gone is closed when the socket is no longer where clients look for it. It is nil if nobody
// tells of that: then [Listener.Stands] has to be asked from time to time.
func (l *Listener) Gone() <-chan struct{} {
	if l.sentry == nil {
		return nil
	}
	return l.sentry.gone
}
