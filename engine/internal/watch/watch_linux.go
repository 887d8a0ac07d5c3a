package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/worktree"
)

const (
	// mask is what is noted. A write is noted at its beginning; that a file which
	// was open for writing is closed is noted for those that were mapped, of which
	// nothing else tells.
	mask = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
		unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF |
		unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

	cookieWait = time.Second
	dirsMax    = 1 << 20 // more with changes are a doubt
	openMax    = 1 << 12 // files that were written and not closed: more are a doubt
)

// Late says that the system tells of a write only when the file is closed.
const Late = false

// A Watcher watches directories. It may be used by several goroutines.
type Watcher struct {
	root   int      // the directory, as O_PATH
	file   *os.File // the inotify instance
	conn   control
	mounts mounts
	most   int // directories that are watched at once: others of the user's programs watch too

	taking sync.Mutex // one cookie at a time

	mu      sync.Mutex
	dirs    map[int32]string // by watch descriptor
	byDir   map[string]int32
	more    map[int32][]string // other directories with the same one: two mounts of one, or one that was moved
	changes *worktree.Changes
	open    map[string]bool     // files that were written to, and not closed since
	pair    uint32              // of the event that is noted: what joins the two of a rename
	moved   map[uint32][]string // what was open at a name that was given up and below, by its path from there; by the pair
	to      string              // the last name that was given
	cookie  int32
	arrived chan struct{} // closed when the cookie is there
	doubt   error
	last    time.Time // when the kernel last told of something
	stirs   chan struct{}
}

// control calls f with the descriptor of a file that is open.
type control interface {
	Control(f func(fd uintptr)) error
}

// New begins to watch nothing. Directories are named by their paths below root.
func New(root string) (*Watcher, error) {
	if root == cookiePath {
		return nil, unable("the root of the file system is not watched", unix.EINVAL)
	}
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unable("open the worktree", err)
	}
	if err := unix.Access("/proc/self/fd", unix.X_OK); err != nil {
		unix.Close(dir)
		return nil, unable("/proc is needed", err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		unix.Close(dir)
		if errors.Is(err, unix.EMFILE) {
			return nil, unable("too many programs watch files: raise fs.inotify.max_user_instances", err)
		}
		return nil, unable("inotify", err)
	}
	w := &Watcher{root: dir, file: os.NewFile(uintptr(fd), "inotify"), dirs: map[int32]string{}, byDir: map[string]int32{}, more: map[int32][]string{},
		changes: &worktree.Changes{}, open: map[string]bool{}, moved: map[uint32][]string{}, stirs: make(chan struct{}, 1)}
	if w.conn, err = w.file.SyscallConn(); err == nil {
		w.mounts, err = mountsAt(root)
	}
	if err == nil {
		w.most, err = share()
	}
	if err != nil {
		w.Close()
		return nil, unable("inotify", err)
	}
	go w.read()
	return w, nil
}

const limitPath = "/proc/sys/fs/inotify/max_user_watches"

// share is how many watches are for us: editors and others have the same limit.
func share() (int, error) {
	text, err := os.ReadFile(limitPath)
	if err != nil {
		return 0, err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return limit / 2, err
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.file.Close()
	w.mounts.close()
	unix.Close(w.root)
}

// Add watches one directory, not what lies below. The next [Watcher.Take] has all
// names in it. A directory that is not there is no error: what it
// lies in changed. A directory that is added again is watched where its path leads
// now.
func (w *Watcher) Add(dir string) error {
	rel := dir
	if rel == "" {
		rel = "."
	}
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(w.root, rel, how)
	for err == unix.EINTR || err == unix.EAGAIN {
		fd, err = unix.Openat2(w.root, rel, how)
	}
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		w.Remove(dir)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.add(dir, "")
		return nil
	default:
		return unable("open "+dir, err)
	}
	defer unix.Close(fd)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, again := w.byDir[dir]; !again && len(w.byDir) >= w.most {
		why := fmt.Sprintf("it has more than %d directories, which is half of what all programs together may watch: raise fs.inotify.max_user_watches", w.most)
		return unable(why, unix.ENOSPC)
	}
	wd, err := w.watch(fmt.Sprintf("/proc/self/fd/%d", fd), mask)
	switch err {
	case nil:
	case unix.ENOSPC:
		return unable("there are more directories than may be watched: raise fs.inotify.max_user_watches", err)
	default:
		return unable("watch "+dir, err)
	}
	if old, ok := w.byDir[dir]; ok && old != wd {
		w.forget(old, dir)
	}
	if other, ok := w.dirs[wd]; ok && other != dir && !slices.Contains(w.more[wd], dir) {
		w.more[wd] = append(w.more[wd], dir)
		for file := range w.open { // since it was moved it was told under the old path
			if rest, ok := below(file, other); ok {
				w.written(path.Join(dir, rest))
			}
		}
	} else if !ok {
		w.dirs[wd] = dir
	}
	w.byDir[dir] = wd
	w.add(dir, "")
	return nil
}

// Watches reports whether a directory was added and has not been deleted since.
func (w *Watcher) Watches(dir string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.byDir[dir]
	return ok
}

// Remove ends the watching of one directory.
func (w *Watcher) Remove(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if wd, ok := w.byDir[dir]; ok {
		delete(w.byDir, dir)
		w.forget(wd, dir)
	}
}

// forget ends a watch, unless it is another directory's too.
func (w *Watcher) forget(wd int32, dir string) {
	others := slices.DeleteFunc(w.more[wd], func(other string) bool { return other == dir })
	switch first, ok := w.dirs[wd]; {
	case !ok:
		return
	case first == dir && len(others) > 0:
		w.dirs[wd], others = others[0], others[1:]
	case first == dir:
		delete(w.dirs, wd)
	}
	if w.more[wd] = others; len(others) == 0 {
		delete(w.more, wd)
	}
	if _, used := w.dirs[wd]; used {
		return
	}
	_ = w.conn.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) })
}

// watch adds a watch to the instance.
func (w *Watcher) watch(path string, mask uint32) (wd int32, err error) {
	failed := w.conn.Control(func(fd uintptr) {
		var n int
		n, err = unix.InotifyAddWatch(int(fd), path, mask)
		wd = int32(n)
	})
	return wd, errors.Join(failed, err)
}

// cookiePath is a directory that is there, is never deleted, and belongs to nobody
// whose files are watched.
const cookiePath = "/"

// Take returns what may have changed since the last Take, and forgets it. What
// was done before the call is among it: a watch is made and removed, which the
// kernel tells in the one queue that has all else in order, and waited for.
func (w *Watcher) Take(ctx context.Context) (*worktree.Changes, error) {
	w.taking.Lock()
	defer w.taking.Unlock()
	if err := w.mounts.changed(); err != nil { // which is told once
		w.mu.Lock()
		w.fail(err)
		w.mu.Unlock()
	}
	arrived, err := w.send()
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(cookieWait)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
		return nil, doubt("the kernel did not answer in time")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt != nil {
		return nil, w.doubt
	}
	for _, dir := range w.mounts.below {
		w.add(dir, "") // nobody may have told that it is deleted
	}
	taken := w.changes
	w.changes = &worktree.Changes{}
	for file := range w.open { // what else is written to it may not be told
		w.changes.AddPath(file)
	}
	return taken, nil
}

// send puts a cookie into the queue.
func (w *Watcher) send() (arrived chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doubt != nil {
		return nil, w.doubt
	}
	wd, err := w.watch(cookiePath, unix.IN_DELETE_SELF|unix.IN_ONLYDIR)
	if err != nil {
		return nil, doubt(err.Error())
	}
	if _, used := w.dirs[wd]; used {
		return nil, doubt("the root of the file system is mounted in the worktree")
	}
	w.cookie, w.arrived = wd, make(chan struct{})
	_ = w.conn.Control(func(fd uintptr) { _, err = unix.InotifyRmWatch(int(fd), uint32(wd)) })
	if err != nil {
		return nil, doubt(err.Error())
	}
	return w.arrived, nil
}

// Last returns when the kernel last told of something; the zero time if it did not.
func (w *Watcher) Last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Stirs is sent to when the kernel has told of something, or nothing is known any more.
func (w *Watcher) Stirs() <-chan struct{} { return w.stirs }

func (w *Watcher) stir() {
	select {
	case w.stirs <- struct{}{}:
	default: // it is known already
	}
}

// add adds a name in a directory to the changes; the empty one is all names.
func (w *Watcher) add(dir, name string) {
	w.changes.Add(dir, name)
	w.bound()
}

// bound gives up where more changed than is kept.
func (w *Watcher) bound() {
	if w.changes.Len() > dirsMax {
		w.fail(doubt("too much changed at once"))
	}
}

// fail says that nothing is known any more.
func (w *Watcher) fail(err error) {
	if w.doubt == nil {
		w.doubt = err
	}
	w.stir()
	if w.arrived != nil {
		close(w.arrived)
		w.arrived = nil
	}
}
