package cas

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

const (
	// readersMax is how many open files are kept for the next readers. One is kept
	// for the next writer.
	readersMax = 8
	// writerFreeMax: bbolt keeps a list of the pages of a writer's file that are free.
	// One with more is closed.
	writerFreeMax = 1 << 16
)

// An idle keeps files that a transaction is done with, for the next one: opening and
// mapping the file costs many times what reading a small object does, and a writer's
// list of free pages would be made anew. No lock is held on them, so that others write
// the file or put another in its place meanwhile; whoever takes one up again holds the
// store's lock.
//
// A reader reads what the file then says is current. A writer's list of free pages is
// of its own last transaction. So that must be the last one still: the record of the
// last commit, which nobody else writes alike, says so, and, of programs that do not
// know it, the length and the time of the file. Any other transaction than one that was
// committed closes the file.
type idle struct {
	mu    sync.Mutex
	files []idleFile
}

// An idleFile is open, and no transaction uses it.
type idleFile struct {
	handle   *os.File
	db       *bolt.DB
	info     fs.FileInfo // of a reader, when it was mapped; of a writer, as it left it
	writable bool
	last     lastCommit // of a writer
	resident residence
}

// take begins f's transaction on an idle file that shows all of what is at the
// path now. If there is none it reports false, and f is as before. Idle files
// that show less are closed.
func (i *idle) take(f *file) bool {
	for {
		k, ok := i.pick(f.writable)
		if !ok {
			return false
		}
		if k.fits(f) {
			f.handle, f.db, f.info, f.resident, f.kept = k.handle, k.db, k.info, k.resident, true
			if f.start() == nil {
				return true
			}
			if f.tx != nil {
				_ = f.tx.Rollback()
			}
		}
		_ = k.db.Close()
		f.handle, f.db, f.info, f.tx, f.resident, f.kept = nil, nil, nil, nil, residence{}, false
	}
}

func (i *idle) pick(writable bool) (k idleFile, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for at, k := range slices.Backward(i.files) {
		if k.writable == writable {
			i.files = slices.Delete(i.files, at, at+1)
			return k, true
		}
	}
	return k, false
}

// fits reports whether the path still leads to the file, and of a writer's whether
// nobody has written since, or given it to others. If so it is locked as bbolt does.
func (k *idleFile) fits(f *file) bool {
	look, mode := os.Lstat, durable.Shared
	if k.writable {
		look, mode = durable.Look, durable.Exclusive
	}
	now, err := look(f.path)
	if err != nil || !os.SameFile(k.info, now) {
		return false
	}
	if k.writable && (f.hook != nil || k.last != f.last || now.Size() != k.info.Size() ||
		now.Mode() != k.info.Mode() || !now.ModTime().Equal(k.info.ModTime())) {
		return false
	}
	return durable.TryLockFile(k.handle, mode) == nil
}

// put keeps f's open file, whose transaction has ended. It reports false if
// the file is to be closed. On Windows an open file could not be replaced.
func (i *idle) put(f *file) bool {
	k := idleFile{handle: f.handle, db: f.db, info: f.info, writable: f.writable, resident: f.resident}
	if runtime.GOOS == "windows" || f.writable && !k.wrote(f) || durable.Unlock(f.handle) != nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	n, most := 0, readersMax
	if k.writable {
		most = 1
	}
	for _, other := range i.files {
		if other.writable == k.writable {
			n++
		}
	}
	if n >= most {
		return false
	}
	i.files = append(i.files, k)
	return true
}

// wrote notes how f's transaction has left the file. What is mapped of it grows with
// the rows that are put, see [file.touch].
func (k *idleFile) wrote(f *file) bool {
	k.last = f.last
	k.resident.touched += aroundBytes * len(f.put)
	if f.hook != nil || f.done == 0 || f.last == (lastCommit{}) || k.resident.touched > mappedBytes || f.free > writerFreeMax {
		return false
	}
	var err error
	k.info, err = f.handle.Stat()
	return err == nil
}

// drop closes the idle files of other files than f's: what was replaced must not keep
// its disk space.
func (i *idle) drop(f *file) (err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.files = slices.DeleteFunc(i.files, func(k idleFile) bool {
		if f != nil && os.SameFile(k.info, f.info) {
			return false
		}
		err = errors.Join(err, k.db.Close())
		return true
	})
	return err
}

// Close closes the files that transactions have left open. The store may be used
// afterwards, and must then be closed again.
func (s *Store) Close() error {
	return errors.Join(s.lock.Close(), s.idle.drop(nil))
}
