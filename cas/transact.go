package cas

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

const (
	// boltTimeout is for a foreign program that holds the file without our
	// lock, such as bbolt's own tool.
	boltTimeout = 10 * time.Second
	boltPause   = 50 * time.Millisecond
	lockSuffix  = ".lock"
	// mapBytes saves a growing store the first remappings. bbolt lengthens a
	// small file (sparsely) to what it maps, so this is modest.
	mapBytes = 1 << 20
	// growBytes is by how much a large file is lengthened at a time. Each time
	// costs one more sync, and what is not used yet takes up a quota.
	growBytes = 1 << 20
)

// transact opens the file under its lock, or takes up one that is open, and
// runs fn in one transaction. Exclusive ones are committed if fn returns nil.
// A file that lacks its last transaction is mended first, where that is possible.
func (s *Store) transact(ctx context.Context, mode durable.Mode, fn func(*file) error) error {
	err := s.transactOnce(ctx, mode, fn)
	if errors.As(err, new(*behindError)) {
		if mended, merr := s.mend(ctx); mended || merr != nil {
			err = merr
		}
		if err == nil {
			err = s.transactOnce(ctx, mode, fn)
		}
	}
	return s.wrap(err)
}

func (s *Store) transactOnce(ctx context.Context, mode durable.Mode, fn func(*file) error) (err error) {
	if s.between != nil {
		s.between()
	}
	held, err := s.lock.Lock(ctx, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	return s.locked(ctx, held, mode, fn)
}

// locked is transactOnce for a caller that holds the lock.
func (s *Store) locked(ctx context.Context, held *durable.Held, mode durable.Mode, fn func(*file) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := &file{path: s.path, writable: mode == durable.Exclusive, hook: s.opened, idle: &s.idle, last: readLastCommit(held)}
	defer f.close(&err)
	if err := f.begin(ctx); err != nil {
		return err
	}
	m, err := s.checkIdentity(f.tx)
	if err != nil {
		return err
	}
	if err := f.last.check(m, f.newest()); err != nil {
		return err
	}
	if err := fn(f); err != nil {
		return err
	}
	if !f.writable {
		return nil
	}
	if err := f.commit(); err != nil {
		return err
	}
	f.last = m.writeLastCommit(held, f.handle, f.done)
	return nil
}

// newest returns the number of the newest transaction in the file before this one.
func (f *file) newest() uint64 {
	if f.writable { // a writing transaction has the next number
		return uint64(f.tx.ID()) - 1
	}
	return uint64(f.tx.ID())
}

// checkIdentity notices a file that is not the one this handle was opened on.
func (s *Store) checkIdentity(tx *bolt.Tx) (meta, error) {
	m, err := readMeta(tx)
	if errors.Is(err, ErrNotStore) && s.meta.version != 0 { // it was one when it was opened
		err = fmt.Errorf("%w: its first record is gone", ErrBroken)
	}
	if err != nil {
		return m, err
	}
	if s.meta.version != 0 && m.id != s.meta.id {
		return m, fmt.Errorf("%w: it was replaced by another store", ErrNotStore)
	}
	return m, nil
}

// wrap names the store in an error that does not name a file yet. A row that
// bbolt takes for a bucket is damage: we keep no buckets in buckets.
func (s *Store) wrap(err error) error {
	if errors.Is(err, bolterrors.ErrIncompatibleValue) {
		err = errPages
	}
	var path *os.PathError
	if err == nil || errors.As(err, &path) {
		return err
	}
	for _, ours := range []error{ErrCorrupt, ErrNotStore, ErrNewerFormat} {
		if errors.Is(err, ours) {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return err
}

// A file is the store's file opened for one transaction.
type file struct {
	path     string
	writable bool
	hook     func(*bolt.DB)
	idle     *idle // where it may come from and go to; nil: it is opened and closed

	handle   *os.File
	db       *bolt.DB
	tx       *bolt.Tx
	info     fs.FileInfo      // of the file before it was mapped, for a reader: as much of it is in memory at least
	last     lastCommit       // what the lock file says
	kept     bool             // it was open already
	put      map[row]struct{} // what the transaction has put
	used     int64            // bytes of it that the last transaction needs
	free     int              // pages of it that were free when it was opened for writing
	done     uint64           // the number of the transaction that it has committed; 0: none
	resident residence        // see touch
}

func (f *file) begin(ctx context.Context) error {
	if f.idle != nil && f.idle.take(f) {
		return nil
	}
	opt := &bolt.Options{
		Timeout:      boltTimeout,
		FreelistType: bolt.FreelistMapType,
		ReadOnly:     !f.writable,
		OpenFile: func(path string, flag int, perm os.FileMode) (*os.File, error) {
			return f.open(ctx, path, flag, perm)
		},
		NoStatistics: true,
	}
	if f.writable && runtime.GOOS != "windows" { // there mapping lengthens the file
		opt.InitialMmapSize = mapBytes
	}
	var err error
	if f.db, err = bolt.Open(f.path, 0o600, opt); err != nil {
		return f.diagnose(err)
	}
	f.db.AllocSize = growBytes
	if f.hook != nil {
		f.hook(f.db)
	}
	if f.idle != nil {
		_ = f.idle.drop(f)
	}
	return f.start()
}

// start begins the transaction on the open file.
func (f *file) start() (err error) {
	if f.tx, err = f.db.Begin(f.writable); err != nil {
		return err
	}
	info, err := f.handle.Stat()
	if err != nil {
		return err
	}
	if f.used = f.tx.Size(); f.used > info.Size() { // nothing has been allocated yet
		return fmt.Errorf("%w: it is truncated, %d of %d bytes are there", ErrBroken, info.Size(), f.used)
	}
	if f.writable && f.kept && f.newest() != f.last.header.transaction() { // who wrote this one was killed before its record
		return errors.New("somebody has written since")
	}
	if !f.writable && f.used > f.info.Size() { // another program has written over it; behind the mapping is other memory
		return fmt.Errorf("%w: it has grown from %d bytes while it was opened", ErrBroken, f.info.Size())
	}
	return nil
}

// commit commits and finds again what was put, or takes care that nothing can be
// seen. bbolt ends a commit by writing one of its two headers; if that fails, or cannot
// be synced, the new header may be in the file all the same. Then the one it replaced,
// which is older than the other and so out of use, is put back. Only when that is
// durable does the file give back what the failed commit has written behind the end of
// the last transaction: on a full disk that would stay full. No reader needs any of it,
// for all of them read a committed transaction, and the exclusive lock is held.
func (f *file) commit() error {
	size := int64(f.db.Info().PageSize)
	at := int64(f.tx.ID()%2) * size
	last, old := uint64(f.tx.ID()), make([]byte, size)
	if _, err := f.handle.ReadAt(old, at); err != nil {
		return err
	}
	err := f.tx.Commit()
	if err == nil {
		err = f.readBack()
	}
	if err == nil {
		f.done = last
		return nil
	}
	_, back := f.handle.WriteAt(old, at)
	if back = errors.Join(back, f.handle.Sync()); back == nil {
		_ = f.handle.Truncate(f.used) // Windows refuses that to a mapped file: then the space stays
	}
	return errors.Join(err, back)
}

// open is what bbolt opens the file with: it never makes one, and refuses an
// empty one, which bbolt would take for new.
func (f *file) open(ctx context.Context, path string, flag int, perm os.FileMode) (*os.File, error) {
	h, err := durable.OpenFile(path, flag&^os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	info, err := h.Stat()
	if err == nil && info.Size() == 0 {
		err = fmt.Errorf("%w: it is empty", ErrBroken)
	}
	if err == nil {
		err = isLock(path, info)
	}
	if err == nil {
		err = f.await(ctx, path, h)
	}
	if err == nil && f.writable {
		err = f.checkFreelist(h)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	f.handle, f.info = h, info
	return h, nil
}

// isLock refuses a store that is its own lock file, by a hard link: who holds the
// lock could never open it, and would write into it what belongs into the lock.
func isLock(path string, info os.FileInfo) error {
	lock := path + lockSuffix
	if other, err := os.Lstat(lock); err == nil && os.SameFile(info, other) {
		return &os.PathError{Op: "open", Path: lock, Err: fmt.Errorf("it is the store itself under another name: %w", durable.ErrForeign)}
	}
	return nil
}

// await waits as long as another program has the file locked, until the context
// ends. bbolt would wait too, and would not look at the context.
func (f *file) await(ctx context.Context, path string, h *os.File) error {
	mode := durable.Shared
	if f.writable {
		mode = durable.Exclusive
	}
	for waited := time.Duration(0); ; waited += boltPause {
		err := durable.TryLockFile(h, mode)
		if err == nil {
			return durable.Unlock(h) // bbolt locks it itself
		}
		if !errors.Is(err, durable.ErrLocked) {
			return nil // bbolt says what is wrong
		}
		if waited >= boltTimeout {
			return &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("another program has kept it locked for %v: %w", boltTimeout, err)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(boltPause):
		}
	}
}

// diagnose tells a damaged store from a file that never was one, by bbolt's
// magic number at one of the places where its two headers can be.
func (f *file) diagnose(err error) error {
	var sys *os.PathError
	if f.handle == nil || errors.Is(err, bolterrors.ErrTimeout) || errors.As(err, &sys) || errors.Is(err, ErrCorrupt) {
		return err
	}
	var head [pageSize + 64]byte
	h, oerr := durable.OpenFile(f.path, os.O_RDONLY, 0)
	if oerr != nil {
		return errors.Join(err, oerr)
	}
	defer h.Close()
	n, _ := h.ReadAt(head[:], 0)
	for _, at := range []int{16, pageSize + 16} {
		if at+4 <= n && binary.NativeEndian.Uint32(head[at:]) == 0xED0CDAED {
			return fmt.Errorf("%w: both of its headers are damaged", ErrBroken)
		}
	}
	return fmt.Errorf("%w: %w", ErrNotStore, err)
}

// errPages stands for what bbolt says of a damaged page, or the system of one
// that cannot be read: that means something to nobody.
var errPages = fmt.Errorf("%w: some of its pages are damaged", ErrBroken)

// close ends the transaction and closes the file. It is deferred, and turns a
// panic that damage has caused into ErrBroken.
func (f *file) close(err *error) {
	p := recover()
	mine := p != nil && !fromDisk(p)
	if p != nil && !mine {
		*err = errPages
	}
	if f.handle != nil {
		if cerr := f.release(p != nil); *err == nil {
			*err = cerr
		}
	}
	if mine {
		panic(p)
	}
}

// release gives the file back. After a panic before the transaction had begun
// bbolt's own locks may still be held, and closing would wait for ever: then
// the file is unlocked and closed behind its back, and only the mapping stays.
func (f *file) release(panicked bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.abandon()
			err = errPages
		}
	}()
	if f.db == nil || (panicked && f.tx == nil) {
		f.abandon()
		return nil
	}
	if f.tx != nil {
		if err := f.tx.Rollback(); err != nil && !errors.Is(err, bolterrors.ErrTxClosed) {
			return errors.Join(err, f.db.Close())
		}
	}
	if !panicked && f.idle != nil && f.idle.put(f) {
		return nil
	}
	return f.db.Close()
}

// abandon ignores errors: bbolt may have closed the file before.
func (f *file) abandon() {
	_ = durable.Unlock(f.handle)
	_ = f.handle.Close()
}

// fromDisk reports whether a panic comes of what is in the file: it was raised
// in bbolt, which knows no other way to report a damaged page, or by an access
// to mapped memory that is not there. Any other panic is a mistake in a
// program, and goes on.
func fromDisk(p any) bool {
	if _, fault := p.(interface{ Addr() uintptr }); fault {
		return true
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "go.etcd.io/bbolt") {
			return true
		}
		if !more {
			return false
		}
	}
}
