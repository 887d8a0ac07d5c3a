package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/engine/internal/watch/internal/told"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

const answerWait = time.Second

// A Watcher watches directories. It may be used by several goroutines.
type Watcher struct {
	tree
	root string
	id   fileID
	key  uintptr // by which the callback finds it

	taking sync.Mutex
	life   sync.Mutex // guards the stream while the system works with it
	stream uintptr    // 0 when closed
	queue  uintptr
}

// all are the watchers that the system may tell something, by their keys: it is handed no
// pointer of Go.
var (
	all  sync.Map
	keys atomic.Uint64
)

// New begins to watch a directory with all below it. Directories are named by their paths
// below root.
func New(root string) (*Watcher, error) {
	w := &Watcher{root: root, key: uintptr(keys.Add(1))}
	var err error
	if w.id, err = idOf(root); err != nil {
		return nil, unable("open the worktree", err)
	}
	if err := local(root); err != nil {
		return nil, unable("watch the worktree", err)
	}
	api, err := services()
	if err != nil {
		return nil, unable("use FSEvents", err)
	}
	all.Store(w.key, w)
	if w.stream, w.queue, err = api.begin(root, w.key); err != nil {
		all.Delete(w.key)
		return nil, unable("watch the worktree", err)
	}
	return w, nil
}

// A fileID is what the system knows a directory by, whatever it is called.
type fileID struct {
	dev int32
	ino uint64
}

func idOf(dir string) (fileID, error) {
	var st unix.Stat_t
	err := unix.Stat(dir, &st)
	return fileID{st.Dev, st.Ino}, err
}

// stands returns an error if another directory, or none, is where the worktree was.
func (w *Watcher) stands() error {
	id, err := idOf(w.root)
	if err == nil && id != w.id {
		err = errors.New("another directory is in its place")
	}
	return err
}

// local refuses file systems that others may change without this system's knowledge, at
// the root and below.
func local(root string) error {
	var at unix.Statfs_t
	if err := unix.Statfs(root, &at); err != nil {
		return err
	}
	if kind := unix.ByteSliceToString(at.Fstypename[:]); at.Flags&unix.MNT_LOCAL == 0 || kind != "apfs" && kind != "hfs" {
		return fmt.Errorf("%s lies on a file system of type %s, whose changes are not all told", root, kind)
	}
	n, err := unix.Getfsstat(nil, unix.MNT_NOWAIT)
	if err != nil {
		return err
	}
	mounts := make([]unix.Statfs_t, n+8)
	if n, err = unix.Getfsstat(mounts, unix.MNT_NOWAIT); err != nil {
		return err
	}
	for _, m := range mounts[:n] {
		if on := unix.ByteSliceToString(m.Mntonname[:]); strings.HasPrefix(on, strings.TrimSuffix(root, "/")+"/") {
			return fmt.Errorf("something is mounted at %s", on)
		}
	}
	return nil
}

// heard is FSEventStreamCallback but for the numbers of the events, which come last. The
// system calls it on a thread of its own, one call after the other.
func heard(_, info, n uintptr, paths, flags unsafe.Pointer) {
	found, ok := all.Load(info)
	if !ok {
		return // it was closed
	}
	w := found.(*Watcher)
	which := unsafe.Slice((*uint32)(flags), n)
	for i, path := range unsafe.Slice((**byte)(paths), n) {
		kind, doubt := told.Flags(which[i])
		rel, ok := told.Rel(w.root, unix.BytePtrToString(path))
		switch {
		case doubt != "":
			w.Fail(doubt)
		case !ok:
			w.Fail("the system told of something elsewhere")
		default:
			w.Tell(rel, kind)
		}
	}
}

// Take returns what may have changed since the last Take, and forgets it. What was done
// before the call is among it: FSEventStreamFlushSync returns when the callback was called
// for every event that had occurred when it was called
// (https://developer.apple.com/documentation/coreservices/1445629-fseventstreamflushsync).
func (w *Watcher) Take(ctx context.Context) (*worktree.Changes, error) {
	w.taking.Lock()
	defer w.taking.Unlock()
	if err := w.stands(); err != nil {
		w.Fail("the worktree was moved or deleted: " + err.Error())
	}
	if why := w.Doubt(); why != "" {
		return nil, doubt(why)
	}
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		w.with((*coreServices).flush)
	}()
	timer := time.NewTimer(answerWait)
	defer timer.Stop()
	select {
	case <-flushed:
	case <-timer.C:
		w.Fail("the system did not answer in time")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	changes, why := w.Tree.Take()
	if why != "" {
		return nil, doubt(why)
	}
	return changes, nil
}

// with does something with the stream, unless it is closed.
func (w *Watcher) with(do func(api *coreServices, stream uintptr)) {
	w.life.Lock()
	defer w.life.Unlock()
	if api, err := services(); err == nil && w.stream != 0 {
		do(api, w.stream)
	}
}

// Close ends the watching.
func (w *Watcher) Close() {
	w.Fail("the watching has ended")
	w.with(func(api *coreServices, stream uintptr) {
		api.end(stream, w.queue)
		w.stream = 0
	})
	all.Delete(w.key)
}
