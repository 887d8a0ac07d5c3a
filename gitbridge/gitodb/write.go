package gitodb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/klauspost/compress/zlib"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An Object is an object on its way in or out: exactly Size bytes of payload.
// Whoever receives it closes Data.
type Object struct {
	Kind oid.Kind
	Size int64
	Data io.ReadCloser
}

// Payload returns the object of bytes that are in memory.
func Payload(kind oid.Kind, p []byte) Object {
	return Object{Kind: kind, Size: int64(len(p)), Data: io.NopCloser(bytes.NewReader(p))}
}

// A Source gives the objects to write. It is called by several goroutines.
type Source func(id oid.ID) (Object, error)

// HasLoose reports whether an object has a file of its own in this directory,
// whatever is in it.
func (d *DB) HasLoose(id oid.ID) bool { return d.LooseSize(id) > 0 }

// LooseSize returns the bytes of an object's own file in this directory, 0 if there
// is none.
func (d *DB) LooseSize(id oid.ID) int64 {
	if !d.fits(id) {
		return 0
	}
	return fileSize(loosePath(d.dir, id))
}

// WriteLoose writes a few objects of a source into files of their own. One that has such
// a file is left alone. Bytes that do not have the id are ErrCorrupt, and nothing is
// written. The disk takes the bytes of all of them at the same time; none has its name
// before the disk has its bytes. Without [Options.Sync] the bytes are on their way to the
// disk when it returns: what is synced afterwards on the same file system, such as the
// ref, carries them with it on those that keep a common journal (git's documentation of
// core.fsyncMethod, "batch").
func (d *DB) WriteLoose(ids []oid.ID, source Source) (err error) {
	var begun []*looseFile
	defer func() {
		for _, l := range begun {
			l.t.abandon()
		}
	}()
	for _, id := range ids {
		o, err := source(id)
		if err != nil {
			return err
		}
		if d.HasLoose(id) {
			err = o.Data.Close()
		} else {
			var l *looseFile
			if l, err = d.beginLoose(id, o); err == nil {
				begun = append(begun, l)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, l := range begun {
		if err := d.endLoose(l); err != nil {
			return err
		}
	}
	return nil
}

// ReplaceLoose is [DB.WriteLoose] for one object, also where that has such a file, which
// then was no good. It closes the object's data.
func (d *DB) ReplaceLoose(id oid.ID, o Object) error {
	l, err := d.beginLoose(id, o)
	if err != nil {
		return err
	}
	defer l.t.abandon()
	return d.endLoose(l)
}

// A looseFile is an object's own file that has not got its name yet.
type looseFile struct {
	id   oid.ID
	t    *temp
	path string // to be
}

// beginLoose writes an object into a file without its name, and closes its data. The
// bytes are on their way to the disk when it returns.
func (d *DB) beginLoose(id oid.ID, o Object) (_ *looseFile, err error) {
	defer func() { err = errors.Join(err, o.Data.Close()) }()
	if !d.fits(id) {
		return nil, fmt.Errorf("write %v: %w", id, oid.ErrInvalid)
	}
	path := loosePath(d.dir, id)
	t, err := d.createTemp(filepath.Dir(path), "tmp_obj_")
	if err == nil {
		if err = d.deflateLoose(t.f, id, o); err != nil {
			t.abandon()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write %v: %w", id, err)
	}
	if !d.opt.Sync {
		startWriteOut(t.f)
	}
	return &looseFile{id, t, path}, nil
}

// endLoose gives an object's file its name.
func (d *DB) endLoose(l *looseFile) error {
	if !d.opt.Sync {
		WriteOut(l.t.f)
	}
	if err := l.t.install(l.path, d.opt.Sync, d.opt.Share); err != nil {
		if kind, payload, other := d.readLoose(l.path); other != nil || d.alg.Sum(kind, payload) != l.id {
			return err
		} // on Windows it is not replaced while somebody has it open
	}
	if !d.opt.Sync {
		return nil
	}
	return errors.Join(durable.SyncDir(filepath.Dir(l.path)), durable.SyncDir(d.dir))
}

// isLoose reports whether an object's file is there. An empty one is what a
// loss of power leaves of a file that was not synced: it is written again.
func isLoose(path string) bool { return fileSize(path) > 0 }

func fileSize(path string) int64 {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return st.Size()
}

// storedMax is the size up to which an object's own file takes one block of a disk also
// where it is not deflated. To make the codes of so small a stream is most of what a
// turn's objects cost, and a pack deflates them anyway.
const storedMax = 4<<10 - 64

// deflateLoose writes what a loose object's file holds. The deflater gives its
// output in pieces of some 250 bytes, so they are gathered.
func (d *DB) deflateLoose(w io.Writer, id oid.ID, o Object) error {
	out := bufio.NewWriterSize(w, int(min(64<<10, max(o.Size, 0)+64)))
	way := &d.deflate
	if o.Size <= storedMax {
		way = &d.stored
	}
	z := way.begin(out)
	defer way.pool.Put(z)
	head := append([]byte(o.Kind.String()), ' ')
	head = append(strconv.AppendInt(head, o.Size, 10), 0)
	if _, err := z.Write(head); err != nil {
		return err
	}
	if err := d.copyVerified(z, id, o); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return out.Flush()
}

// copyVerified copies a payload and checks its size and id.
func (d *DB) copyVerified(w io.Writer, id oid.ID, o Object) error {
	h := d.alg.NewHasher(o.Kind, o.Size)
	var n int64
	var err error
	if whole, ok := o.Data.(io.WriterTo); ok { // from memory, without a copy
		n, err = whole.WriteTo(io.MultiWriter(w, h))
	} else {
		n, err = io.Copy(io.MultiWriter(w, h), io.LimitReader(o.Data, o.Size+1))
	}
	if err != nil {
		return err
	}
	if n != o.Size || h.Sum() != id {
		return fmt.Errorf("%w: what is to be written has another id", ErrCorrupt)
	}
	return nil
}

// deflaters write zlib streams of one level.
type deflaters struct {
	level int
	pool  sync.Pool // of *zlib.Writer
}

// begin begins a zlib stream; the caller puts it back into the pool.
func (d *deflaters) begin(w io.Writer) *zlib.Writer {
	z, _ := d.pool.Get().(*zlib.Writer)
	if z == nil {
		z, _ = zlib.NewWriterLevel(w, d.level) // fails on unknown levels only
	} else {
		z.Reset(w)
	}
	return z
}

// A temp is a file that has not got its name yet.
type temp struct {
	f    *os.File
	path string // "" once it has its name
}

// createTemp makes a file that nobody may write to later, under a name that
// git's prune recognises and removes, should we not come to it. The directory
// is made if need be; most are there.
func (d *DB) createTemp(dir, prefix string) (*temp, error) {
	for range 100 {
		path := filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 36))
		// Not blocking, it spares package os the calls by which it finds out that it can
		// be waited for no more than any other regular file.
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, 0o444)
		switch {
		case err == nil:
			return &temp{f, path}, nil
		case errors.Is(err, fs.ErrNotExist):
			if err := d.mkdir(dir); err != nil {
				return nil, err
			}
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
	return nil, fmt.Errorf("no name is free in %s", dir)
}

// mkdir makes a directory of the database, which others may make at once.
func (d *DB) mkdir(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil && d.opt.Share != nil {
		err = d.opt.Share(dir)
	}
	return err
}

// install closes the file and gives it its name. Who came first wins: both
// have the same bytes.
func (t *temp) install(path string, sync bool, share func(string) error) error {
	if sync {
		if err := t.f.Sync(); err != nil {
			return err
		}
	}
	if err := t.f.Close(); err != nil {
		return err
	}
	if share != nil {
		if err := share(t.path); err != nil {
			return err
		}
	}
	err := os.Rename(t.path, path)
	if err != nil && runtime.GOOS == "windows" { // it replaces nothing that is read-only, as git's files are
		_ = os.Chmod(path, 0o600)
		if err = durable.Patiently(func() error { return os.Rename(t.path, path) }); err != nil {
			_ = os.Chmod(path, 0o444)
		}
	}
	if err != nil {
		return err
	}
	t.path = ""
	return nil
}

// abandon removes the file if it has not got its name.
func (t *temp) abandon() {
	if t.path != "" {
		_ = t.f.Close()
		_ = os.Remove(t.path)
	}
}
