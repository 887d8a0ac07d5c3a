package cas

import (
	"errors"
	"os"
	"runtime"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// idleMax is how many open files are kept for the next reader.
const idleMax = 8

// An idle keeps files that a transaction is done with, for the next one: opening and
// mapping the file costs many times what reading a small object does. No lock is held
// on them, so that others write the file or put another in its place meanwhile; whoever
// takes one up again holds the store's lock, and a reader reads what the file then says
// is current. For a writer see writer.go.
type idle struct {
	mu     sync.Mutex
	files  []idleFile
	writer *idleWriter // nil: there is none
}

// An idleFile is open, and no transaction uses it. It knows its length when it was
// mapped.
type idleFile struct {
	handle  *os.File
	db      *bolt.DB
	mapped  int64
	touched int
}

// take begins f's transaction on an idle file that shows all of what is at the
// path now. If there is none it reports false, and f is as before. Idle files
// that show less are closed, so that a file that was replaced does not keep its
// disk space.
func (i *idle) take(f *file) bool {
	if f.writable {
		return i.takeWriter(f)
	}
	for {
		i.mu.Lock()
		if len(i.files) == 0 {
			i.mu.Unlock()
			return false
		}
		k := i.files[len(i.files)-1]
		i.files = i.files[:len(i.files)-1]
		i.mu.Unlock()
		if k.begin(f) {
			return true
		}
	}
}

// begin begins f's transaction on the file, or closes it and reports false.
func (k idleFile) begin(f *file) bool {
	if current(k.handle, f.path) && durable.TryLockFile(k.handle, durable.Shared) == nil {
		f.handle, f.db, f.mapped, f.touched = k.handle, k.db, k.mapped, k.touched
		if err := f.start(); err == nil {
			return true
		}
		if f.tx != nil {
			_ = f.tx.Rollback()
		}
	}
	_ = k.db.Close()
	f.handle, f.db, f.tx, f.mapped = nil, nil, nil, 0
	return false
}

// current reports whether the path still leads to the file.
func current(handle *os.File, path string) bool {
	mine, err := handle.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, now)
}

// put keeps f's open file, whose transaction has ended. It reports false if
// the file is to be closed. On Windows an open file could not be replaced.
func (i *idle) put(f *file) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	if f.writable {
		return i.putWriter(f)
	}
	if durable.Unlock(f.handle) != nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.files) == idleMax {
		return false
	}
	i.files = append(i.files, idleFile{f.handle, f.db, f.mapped, f.touched})
	return true
}

// Close closes the files that transactions have left open. The store may be used
// afterwards, and must then be closed again.
func (s *Store) Close() error {
	s.idle.mu.Lock()
	files := s.idle.files
	s.idle.files = nil
	s.idle.mu.Unlock()
	errs := []error{s.lock.Close(), s.idle.dropWriter(nil)}
	for _, k := range files {
		errs = append(errs, k.db.Close())
	}
	return errors.Join(errs...)
}
