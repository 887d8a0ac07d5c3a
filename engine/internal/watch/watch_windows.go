package watch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/seed-82afce7a/rewind/engine/internal/watch/internal/told"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

const (
	// mask is what is noted: all but reads.
	mask = windows.FILE_NOTIFY_CHANGE_FILE_NAME | windows.FILE_NOTIFY_CHANGE_DIR_NAME | windows.FILE_NOTIFY_CHANGE_ATTRIBUTES |
		windows.FILE_NOTIFY_CHANGE_SIZE | windows.FILE_NOTIFY_CHANGE_LAST_WRITE | windows.FILE_NOTIFY_CHANGE_CREATION |
		windows.FILE_NOTIFY_CHANGE_SECURITY

	// queueBytes are kept by the system while nobody asks. What is more is lost, and said.
	queueBytes = 256 << 10

	answerWait = time.Second
	shareAll   = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
)

// A Watcher watches directories. It may be used by several goroutines.
type Watcher struct {
	tree
	root  string
	dir   windows.Handle
	id    fileID
	over  windows.Overlapped
	buf   []uint32 // the system wants it aligned
	ended chan struct{}

	closing atomic.Bool
	taking  sync.Mutex
	asked   atomic.Pointer[question]
}

// A question is answered when all is told that was done before it was asked.
type question struct {
	left   int // calls that have to end until then
	answer chan struct{}
}

// New begins to watch a directory with all below it. Directories are named by their paths
// below root.
func New(root string) (*Watcher, error) { return begin(root, queueBytes) }

func begin(root string, bytes int) (*Watcher, error) {
	w := &Watcher{root: verbatim(root), buf: make([]uint32, bytes/4), ended: make(chan struct{})}
	var err error
	if w.dir, err = openDir(w.root, windows.FILE_LIST_DIRECTORY, windows.FILE_FLAG_OVERLAPPED); err != nil {
		return nil, unable("open the worktree", err)
	}
	if err = local(w.dir); err == nil {
		w.id, err = idOf(w.dir)
	}
	if err == nil {
		w.over.HEvent, err = windows.CreateEvent(nil, 1, 0, nil)
	}
	if err != nil {
		windows.CloseHandle(w.dir)
		return nil, unable("watch the worktree", err)
	}
	begun := make(chan error, 1)
	go w.read(begun)
	if err := <-begun; err != nil {
		w.Close()
		return nil, unable("watch the worktree", err)
	}
	return w, nil
}

// verbatim is a path in the form in which it may be of any length.
func verbatim(path string) string {
	if strings.HasPrefix(path, `\\`) {
		return path
	}
	return `\\?\` + path
}

func openDir(path string, access, flags uint32) (windows.Handle, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	return windows.CreateFile(p, access, shareAll, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|flags, 0)
}

// local refuses what others may change without this system's knowledge, and file systems
// of programs, which tell what they like.
func local(dir windows.Handle) error {
	path := make([]uint16, 1<<15)
	if _, err := windows.GetFinalPathNameByHandle(dir, &path[0], uint32(len(path)), 0); err != nil {
		return err
	}
	full := windows.UTF16ToString(path) // \\?\C:\…, or \\?\UNC\…
	if len(full) < 7 || full[5:7] != `:\` {
		return fmt.Errorf("%s lies on no drive of this machine, so that its changes are not all told", full)
	}
	drive, err := windows.UTF16PtrFromString(full[4:7])
	if err != nil {
		return err
	}
	if kind := windows.GetDriveType(drive); kind != windows.DRIVE_FIXED {
		return fmt.Errorf("%s is no fixed drive, so that its changes are not all told", full[4:6])
	}
	var name [windows.MAX_PATH + 1]uint16
	if err := windows.GetVolumeInformationByHandle(dir, nil, 0, nil, nil, nil, &name[0], uint32(len(name))); err != nil {
		return err
	}
	if kind := windows.UTF16ToString(name[:]); kind != "NTFS" && kind != "ReFS" {
		return fmt.Errorf("%s has a file system of type %s, whose changes are not all told", full[4:6], kind)
	}
	return nil
}

// A fileID is what the system knows a directory by, whatever it is called.
type fileID struct{ volume, high, low uint32 }

func idOf(dir windows.Handle) (fileID, error) {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(dir, &info)
	return fileID{info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow}, err
}

// stands returns an error if another directory, or none, is where the worktree was.
func (w *Watcher) stands() error {
	dir, err := openDir(w.root, windows.FILE_READ_ATTRIBUTES, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(dir)
	id, err := idOf(dir)
	if err == nil && id != w.id {
		err = errors.New("another directory is in its place")
	}
	return err
}

// read asks the system for changes until the watching ends. The system drops what a thread
// has asked for when that ends, so that there is one for this alone.
func (w *Watcher) read(begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(w.ended)
	for {
		before := w.asked.Load()
		err := windows.ResetEvent(w.over.HEvent)
		if err == nil {
			err = windows.ReadDirectoryChanges(w.dir, (*byte)(unsafe.Pointer(&w.buf[0])), uint32(4*len(w.buf)), true, mask, nil, &w.over, 0)
		}
		if begun != nil {
			begun <- err
			begun = nil
		}
		if err != nil {
			w.Fail(err.Error())
			return
		}
		if w.asked.Load() != nil || w.closing.Load() {
			_ = windows.CancelIoEx(w.dir, &w.over)
		}
		var n uint32
		switch err := windows.GetOverlappedResult(w.dir, &w.over, &n, true); {
		case w.closing.Load():
			return
		case err == nil && n == 0 || err == windows.ERROR_NOTIFY_ENUM_DIR:
			w.Fail("too much changed at once")
		case err == nil:
			w.note(unsafe.Slice((*byte)(unsafe.Pointer(&w.buf[0])), n))
		case err != windows.ERROR_OPERATION_ABORTED:
			w.Fail("the worktree was moved or deleted: " + err.Error())
		}
		if w.Doubt() != "" {
			return
		}
		w.answer(before)
	}
}

// note notes what the system has told.
func (w *Watcher) note(p []byte) {
	ok := told.Records(p, func(path string, kind told.Kind) {
		w.Tell(path, kind)
		switch full, exact := told.Long(path, w.long); {
		case !exact:
			w.Tell(full, told.Below)
		case full != path:
			w.Tell(full, kind)
		}
	})
	if !ok {
		w.Fail("the system's events are of an unknown form")
	}
}

// long returns the last name of a path below the root as it was given; "" if nothing is
// there.
func (w *Watcher) long(path string) string {
	p, err := windows.UTF16PtrFromString(w.root + `\` + strings.ReplaceAll(path, "/", `\`))
	if err != nil {
		return ""
	}
	var found windows.Win32finddata
	h, err := windows.FindFirstFile(p, &found)
	if err != nil {
		return ""
	}
	_ = windows.FindClose(h)
	return windows.UTF16ToString(found.FileName[:])
}

// answer counts a call that has ended. One that began after a question was asked has all
// that was done before.
func (w *Watcher) answer(q *question) {
	if q == nil {
		return
	}
	if q.left--; q.left == 0 {
		w.asked.CompareAndSwap(q, nil) // another one may be asked since
		close(q.answer)
	}
}

// Take returns what may have changed since the last Take, and forgets it. What was done
// before the call is among it: Windows notes a change for whoever has the directory open
// before it returns to the program that made it, and gives what it has noted to the next
// call that asks. So calls are made that are cut short, and end in any case, and what is
// told by the first one is all. Another one is made for Wine, whose notes may come a moment
// later than that.
func (w *Watcher) Take(ctx context.Context) (*worktree.Changes, error) {
	w.taking.Lock()
	defer w.taking.Unlock()
	if why := w.Doubt(); why != "" {
		return nil, doubt(why)
	}
	if err := w.stands(); err != nil {
		w.Fail("the worktree was moved or deleted: " + err.Error())
	}
	q := &question{left: 2, answer: make(chan struct{})}
	w.asked.Store(q)
	_ = windows.CancelIoEx(w.dir, &w.over) // if there is nothing to cut short, who reads will do it
	timer := time.NewTimer(answerWait)
	defer timer.Stop()
	select {
	case <-q.answer:
	case <-w.ended:
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

// Close ends the watching.
func (w *Watcher) Close() {
	w.Fail("the watching has ended")
	if !w.closing.CompareAndSwap(false, true) {
		return
	}
	_ = windows.CancelIoEx(w.dir, &w.over)
	<-w.ended
	w.taking.Lock() // who takes has been told
	defer w.taking.Unlock()
	windows.CloseHandle(w.over.HEvent)
	windows.CloseHandle(w.dir)
}
