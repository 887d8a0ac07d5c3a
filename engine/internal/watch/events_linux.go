package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// queueBytes are read at once.
const queueBytes = 64 << 10

// read takes events from the queue until the instance is closed: the queue holds
// only so many.
func (w *Watcher) read() {
	buf := make([]byte, queueBytes)
	for {
		n, err := w.file.Read(buf)
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		w.mu.Lock()
		if err != nil {
			w.fail(doubt(err.Error()))
			w.mu.Unlock()
			return
		}
		if err := w.handle(buf[:n]); err != nil {
			w.fail(doubt(err.Error()))
		}
		w.mu.Unlock()
	}
}

var errEvent = errors.New("the kernel's events are of an unknown form")

// handle notes what events say.
func (w *Watcher) handle(p []byte) error {
	le := binary.NativeEndian
	for len(p) > 0 {
		if len(p) < unix.SizeofInotifyEvent {
			return errEvent
		}
		wd, bits, pair, size := int32(le.Uint32(p)), le.Uint32(p[4:]), le.Uint32(p[8:]), int(le.Uint32(p[12:]))
		p = p[unix.SizeofInotifyEvent:]
		if len(p) < size {
			return errEvent
		}
		name, _, _ := bytes.Cut(p[:size], []byte{0})
		p = p[size:]
		w.pair = pair
		w.event(wd, bits, string(name))
	}
	return nil
}

// event notes what one event says.
func (w *Watcher) event(wd int32, bits uint32, name string) {
	switch {
	case bits&unix.IN_Q_OVERFLOW != 0:
		w.fail(doubt("too much changed at once (fs.inotify.max_queued_events)"))
		return
	case bits&unix.IN_IGNORED != 0 && w.arrived != nil && wd == w.cookie:
		close(w.arrived)
		w.arrived = nil
		return
	}
	dir, ok := w.dirs[wd]
	if !ok {
		return // it is not watched any more
	}
	w.last = time.Now()
	w.stir()
	for _, other := range w.more[wd] {
		w.in(other, wd, bits, name)
	}
	w.in(dir, wd, bits, name)
	if bits&unix.IN_MOVED_TO != 0 {
		delete(w.moved, w.pair)
	}
}

// in notes what an event says of one directory.
func (w *Watcher) in(dir string, wd int32, bits uint32, name string) {
	switch {
	case bits&unix.IN_UNMOUNT != 0:
		w.fail(doubt("a file system was unmounted"))
	case dir == "" && bits&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_IGNORED) != 0:
		w.fail(doubt("the worktree was moved or deleted"))
	case bits&unix.IN_IGNORED != 0: // it was deleted, which the directory above has told
		delete(w.dirs, wd)
		delete(w.more, wd)
		if w.byDir[dir] == wd {
			delete(w.byDir, dir)
		}
	case name == "":
		w.add(dir, "")
	case bits&unix.IN_ISDIR != 0:
		w.directory(dir, name, bits)
	default:
		w.named(dir, name, bits)
	}
}

// directory notes that something was done to a subdirectory.
func (w *Watcher) directory(dir, name string, bits uint32) {
	at := path.Join(dir, name)
	w.renamed(at, bits)
	if bits&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0 {
		w.changes.AddBelow(at)
		w.bound()
		return
	}
	w.add(at, "")
}

// named notes that something was done to what is no directory.
func (w *Watcher) named(dir, name string, bits uint32) {
	at := path.Join(dir, name)
	w.add(dir, name)
	w.renamed(at, bits)
	switch {
	case bits&unix.IN_MODIFY != 0:
		w.written(at)
	case bits&(unix.IN_CLOSE_WRITE|unix.IN_DELETE) != 0:
		delete(w.open, at)
	}
}

// Open notes that somebody has a file open for writing, of which nothing may have told:
// its path counts as changed until it is closed.
func (w *Watcher) Open(file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes.AddPath(file)
	w.written(file)
}

// written notes that a file is open for writing. What was moved out of what is watched
// counts too, for its new name is never told.
func (w *Watcher) written(file string) {
	w.open[file] = true
	if len(w.open)+len(w.moved) > openMax {
		w.fail(doubt("too many files are open for writing"))
	}
}

// renamed takes files that are open for writing along to their new names: what is
// written to mapped memory is told under no name. The kernel tells of both names one
// after the other, with one number; another rename may come in between. Where two names are exchanged it does so twice, and
// the second time begins with the name that the first one ended with: there another
// file is by then, so that both names count.
func (w *Watcher) renamed(at string, bits uint32) {
	switch {
	case bits&unix.IN_MOVED_FROM != 0:
		for file := range w.open {
			rest, ok := below(file, at)
			if ok {
				w.moved[w.pair] = append(w.moved[w.pair], rest)
			}
			if ok && at != w.to {
				delete(w.open, file)
			}
		}
	case bits&unix.IN_MOVED_TO != 0:
		for _, rest := range w.moved[w.pair] {
			w.written(path.Join(at, rest))
		}
		w.to = at
	default:
		w.to = ""
	}
}

// below returns the path of a file from a name on, if that is its own or of a directory
// above it.
func below(file, at string) (rest string, ok bool) {
	if file == at {
		return "", true
	}
	return strings.CutPrefix(file, at+"/")
}
