package cas

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A writer's file stays open for the next writing transaction of the same handle, as a
// reader's does: to open it costs bbolt a new mapping, whose pages are all met anew, and
// the list of free pages made anew in memory. That list is why more is asked for than
// of a reader's: it is the one of bbolt's own last transaction. So the file is used
// again only if that transaction is still the last one and nobody has begun another:
// the same file under the same name, as long and as old as it was, both headers and the
// list of free pages as they were, byte for byte. Headers alone do not tell: where an
// older copy was put back, another process may have written a transaction of the same
// number, and a file system may keep times by the second. A transaction that was begun
// and not committed has written nothing that the last one uses. The exclusive lock is
// held when this is looked at and as long as the file is used, and what is checked of a
// file that was opened anew is checked of this one too.

const (
	// What bbolt keeps of a file grows with the pages that were ever written through it,
	// and with those that are free, and what is mapped of it with the rows that were put,
	// see [file.touch]: then the file is opened anew.
	writesMax    = 1 << 10 // transactions
	writeFreeMax = 1 << 16 // pages
)

// An idleWriter is a file that a writing transaction has left open.
type idleWriter struct {
	handle  *os.File
	db      *bolt.DB
	writes  int // transactions that it was opened for
	touched int // bytes of it
	end     ending
}

// An ending is how a transaction has left a file.
type ending struct {
	size    int64
	mode    fs.FileMode // one that was opened to others is to be closed to them
	written int64       // when, in nanoseconds
	headers [2]header
	free    [sha256.Size]byte // of the list of free pages
}

// endingOf reads how a file ends now. What it is compared with makes it safe, not what
// it checks.
func endingOf(handle *os.File) (e ending, err error) {
	info, err := handle.Stat()
	if err != nil {
		return e, err
	}
	e.size, e.mode, e.written = info.Size(), info.Mode(), info.ModTime().UnixNano()
	for i := range e.headers {
		if e.headers[i], err = readHeader(handle, uint64(i)); err != nil {
			return e, err
		}
	}
	last := &e.headers[0]
	if e.headers[1].transaction() > last.transaction() {
		last = &e.headers[1]
	}
	at := int64(binary.NativeEndian.Uint64(last[metaFreelistAt-pageHeaderBytes:])) * pageSize
	ids, err := freePages(io.NewSectionReader(handle, at, 1<<62))
	if err != nil {
		return e, err
	}
	raw := make([]byte, 0, 8*len(ids))
	for _, id := range ids {
		raw = binary.NativeEndian.AppendUint64(raw, id)
	}
	e.free = sha256.Sum256(raw)
	return e, nil
}

// takeWriter begins f's transaction on the file that is idle for a writer. If there is
// none, or it may have been written since, it reports false, and f is as before.
func (i *idle) takeWriter(f *file) bool {
	k := i.pickWriter()
	if k == nil {
		return false
	}
	if f.hook == nil && ours(k.handle, f.path) && durable.TryLockFile(k.handle, durable.Exclusive) == nil {
		if now, err := endingOf(k.handle); err == nil && now == k.end {
			f.handle, f.db, f.writes, f.touched = k.handle, k.db, k.writes, k.touched
			if f.start() == nil {
				return true
			}
			if f.tx != nil {
				_ = f.tx.Rollback()
			}
		}
	}
	_ = k.db.Close()
	f.handle, f.db, f.tx, f.writes, f.touched = nil, nil, nil, 0, 0
	return false
}

// ours is current for a file that is still the user's own.
func ours(handle *os.File, path string) bool {
	mine, err := handle.Stat()
	if err != nil {
		return false
	}
	now, err := durable.Look(path)
	return err == nil && os.SameFile(mine, now)
}

// putWriter keeps f's file, whose transaction has been committed. It reports false if
// the file is to be closed, as after every transaction that was not.
func (i *idle) putWriter(f *file) bool {
	k := &idleWriter{handle: f.handle, db: f.db, writes: f.writes + 1, touched: f.touched + aroundBytes*len(f.put)}
	if f.hook != nil || f.done == 0 || k.writes >= writesMax || k.touched > mappedBytes || f.free > writeFreeMax {
		return false
	}
	var err error
	if k.end, err = endingOf(k.handle); err != nil {
		return false
	}
	last := &k.end.headers[f.done%2]
	if !last.whole() || last.transaction() != f.done || durable.Unlock(k.handle) != nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.writer != nil {
		return false
	}
	i.writer = k
	return true
}

func (i *idle) pickWriter() *idleWriter {
	i.mu.Lock()
	defer i.mu.Unlock()
	k := i.writer
	i.writer = nil
	return k
}

// dropWriter closes the file that is idle for a writer, unless it is the very file that
// another handle leads to.
func (i *idle) dropWriter(other *os.File) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	k := i.writer
	if k == nil {
		return nil
	}
	if other != nil {
		mine, err := k.handle.Stat()
		theirs, otherErr := other.Stat()
		if err == nil && otherErr == nil && os.SameFile(mine, theirs) {
			return nil
		}
	}
	i.writer = nil
	return k.db.Close()
}
