// Package stattable remembers what the last scan of a worktree saw: one row a
// directory, in one bbolt file a worktree.
//
// It is a cache and promises only never to lie: a row is given back as it was
// written for that directory, or not at all. Whatever is wrong with the file
// costs time, not truth: it is thrown away. Nothing is synced. The package
// knows nothing of git, of stores, and of what a row is compared with.
package stattable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Format is the number of the format that this package reads and writes. A
// file of another format is thrown away.
const Format = 3

const (
	mapBytes    = 64 << 20 // of address space, not memory
	fillPercent = 0.95     // rows are mostly written once, in order
	rowBytes    = 1 << 10  // of a row, about; reading begins with room for so many
	nameBytes   = 48       // of a directory's path, about
	keyBytesMax = bolt.MaxKeySize
)

var (
	metaBucket = []byte("meta")
	rowsBucket = []byte("rows")
	headerKey  = []byte("header")
)

// LockWait is how long the file is waited for: a writer holds it for milliseconds, a
// reader for as long as a scan takes.
const LockWait = time.Second

// ErrBusy is wrapped where another process has the file open for too long.
var ErrBusy = berrors.ErrTimeout

// ErrOutdated is reported by [Table.Save] when another process has saved since
// the table was loaded. Nothing was written, and nothing is lost.
var ErrOutdated = errors.New("stat table was changed meanwhile")

// A Binding says what a table agrees with: everything a row names is stored as
// long as that store has that snapshot.
type Binding struct {
	Store    string // the store's random id
	Snapshot oid.ID
	Boot     string // of the system, when the table was saved; "" where it is not known
}

// A Table is the content of the file, as it was when it was loaded. Its rows
// lie in the file itself, which is mapped and locked against writers until
// [Table.Save] or [Table.Close]: copying them to memory of our own would take
// longer than a scan takes to use them. It may be shared by goroutines; several
// processes may load and save the same file.
type Table struct {
	path       string
	generation uint64
	bound      Binding
	saved      int64             // when, in ns since 1970
	written    int64             // when the file was, by whom its generation tells
	rows       map[string]uint32 // directory to its place in list
	list       []slot
	damaged    atomic.Bool // a row failed its check: throw the file away
	db         *bolt.DB    // nil when closed
	tx         *bolt.Tx
	kept       *kept // not nil: the rows are in memory
}

type slot struct {
	dir string
	p   []byte // in the file
}

// Load opens the table at path; Close it when done. A file that is not there
// gives an empty table, and so does one that is damaged, of another format, or
// locked for too long.
func Load(path string) *Table {
	t := &Table{path: path}
	if _, err := os.Lstat(path); err != nil {
		return t.empty()
	}
	err := t.read()
	if err == nil {
		return t
	}
	t.Close()
	t.empty()
	if !errors.Is(err, berrors.ErrTimeout) && !errors.Is(err, fs.ErrPermission) {
		t.damaged.Store(true)
	}
	return t
}

func (t *Table) empty() *Table {
	t.generation, t.bound, t.saved, t.written, t.rows, t.list = 0, Binding{}, 0, 0, map[string]uint32{}, nil
	return t
}

// Bound returns what the rows agree with.
func (t *Table) Bound() Binding { return t.bound }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.list) }

// Row returns the row of a directory by its slash-separated path and its
// number, below [Table.Len]; ok is false if there is none. The row is checked
// here, and is valid until the table is saved or closed, after which there is
// none.
func (t *Table) Row(dir string) (r Row, number int, ok bool) {
	i, ok := t.rows[dir]
	if ok && t.kept != nil {
		return Row{t.list[i].p}, int(i), true
	}
	if t.kept != nil && t.kept.borrowed != nil {
		r, err := t.kept.borrowed.row(dir)
		return r, 0, err == nil && !r.IsZero()
	}
	if !ok || t.tx == nil {
		return Row{}, 0, false
	}
	r, err := t.parse(&t.list[i])
	if err != nil {
		t.damaged.Store(true)
		return Row{}, 0, false
	}
	return r, int(i), true
}

// parse checks a row where it lies. That the file was shortened meanwhile is
// an error too.
func (t *Table) parse(s *slot) (r Row, err error) {
	defer guard(&err)()
	return parseRow(s.dir, s.p)
}

// Close lets go of the file. No row may be used afterwards.
func (t *Table) Close() {
	if t.tx != nil {
		_ = t.tx.Rollback()
	}
	if t.db != nil {
		_ = t.db.Close()
	}
	t.tx, t.db = nil, nil
	if t.kept != nil && t.kept.borrowed != nil {
		t.kept.borrowed.close()
	}
}

// Dir returns the directory of a row by its number, below [Table.Len]; ok is false
// where no row has that number.
func (t *Table) Dir(number int) (dir string, ok bool) {
	return t.list[number].dir, t.list[number].p != nil
}

// A handle is the file that bbolt has open.
type handle struct{ file *os.File }

func (h *handle) open(path string, flag int, perm os.FileMode) (f *os.File, err error) {
	h.file, err = durable.OpenFile(path, flag, perm)
	return h.file, err
}

// abandon closes the file behind bbolt's back, if it panicked: its own locks may
// be held then, and to close it as usual would wait for them for ever. Only the
// mapping stays.
func (h *handle) abandon(panicked func() bool) {
	if panicked() {
		h.file.Close()
	}
}

// opened is a test's hook between opening the file and the transaction.
var opened = func() {}

// guard turns a panic of bbolt on a damaged file, and a fault on a page that a
// shortened file no longer has, into an error.
func guard(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			*err = fmt.Errorf("stat table: %v", p)
		}
	}
}

// openFile opens the file to read it.
func (t *Table) openFile(mmap int) error {
	var f handle
	db, err := bolt.Open(t.path, 0o600, &bolt.Options{ReadOnly: true, Timeout: LockWait, MmapFlags: mmap, OpenFile: f.open})
	if err != nil {
		return err
	}
	defer f.abandon(func() bool { return t.db == nil })
	opened()
	t.tx, err = db.Begin(false)
	t.db = db
	if err != nil {
		return err
	}
	if info, err := f.file.Stat(); err != nil || info.Size() < t.tx.Size() {
		return errors.Join(err, errMalformed)
	}
	return nil
}

// read opens the file and lists its rows.
func (t *Table) read() (err error) {
	defer guard(&err)()
	if err := t.openFile(mapWhole); err != nil {
		return err
	}
	if t.generation, t.saved, t.bound, err = header(t.tx); err != nil {
		return err
	}
	t.written = t.saved
	rows := t.tx.Bucket(rowsBucket)
	if rows == nil {
		return errMalformed
	}
	t.list = make([]slot, 0, t.tx.Size()/rowBytes)
	var names strings.Builder // one run of memory: a string for each would cost more than the rest
	names.Grow(cap(t.list) * nameBytes)
	c := rows.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if len(v) > 0 && k[0] == '/' {
			at := names.Len()
			names.Write(k[1:])
			t.list = append(t.list, slot{dir: names.String()[at:], p: v})
		}
	}
	t.rows = make(map[string]uint32, len(t.list))
	for i := range t.list {
		t.rows[t.list[i].dir] = uint32(i)
	}
	return nil
}

// Save closes the table, then writes the changed rows and forgets the removed
// ones, in one transaction, and binds the table. If another process saved since
// Load, it writes nothing and returns [ErrOutdated]. It waits for those who
// have the file loaded, up to a second. A table in memory is changed there, and
// stays open; [Table.Flush] writes it.
func (t *Table) Save(b Binding, changed map[string]Row, removed []string) error {
	if t.kept != nil {
		t.change(b, changed, removed)
		return nil
	}
	t.Close()
	if t.damaged.Load() {
		if err := durable.Remove(t.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("stat table: %w", err)
		}
		if t.Len() > 0 {
			return nil // what did not change is not among these rows: the next scan makes a table
		}
		t.generation = 0
	}
	err := t.write(LockWait, b, changed, removed)
	if err != nil && !errors.Is(err, ErrOutdated) && !errors.Is(err, berrors.ErrTimeout) {
		durable.Remove(t.path) // a cache that cannot be written is better gone than old
	}
	return err
}

func (t *Table) write(wait time.Duration, b Binding, changed map[string]Row, removed []string) (err error) {
	defer guard(&err)()
	var f handle
	db, err := bolt.Open(t.path, 0o600, &bolt.Options{
		OpenFile: f.open, Timeout: wait, NoSync: true, NoGrowSync: true, FreelistType: bolt.FreelistMapType,
		// While a table is first filled the map would grow step by step, and
		// bbolt would copy every page that it has loaded at each step.
		InitialMmapSize: mapBytes,
	})
	if err != nil {
		return fmt.Errorf("stat table: %w", err)
	}
	panicked := true
	defer f.abandon(func() bool { return panicked })
	opened()
	dirs := slices.DeleteFunc(slices.Sorted(maps.Keys(changed)), func(dir string) bool {
		return len(dir)+1 > keyBytesMax // it is listed again at each scan
	})
	w, now := filling{table: t, db: db, changed: changed}, time.Now().UnixNano()
	if dirs, err = w.most(dirs); err == nil {
		err = w.update(func(tx *bolt.Tx, rows *bolt.Bucket) error {
			for _, dir := range removed {
				if err := rows.Delete(key(dir)); err != nil {
					return err
				}
			}
			return errors.Join(w.put(rows, dirs), putHeader(tx, t.generation+1, now, b))
		})
	}
	panicked = false
	if err = errors.Join(err, db.Close()); err == nil {
		t.generation, t.written = t.generation+1, now
	}
	return err
}

func key(dir string) []byte { return append([]byte{'/'}, dir...) }

// header reads the header: checksum, format, generation, when it was saved, store
// id, snapshot, boot.
func header(tx *bolt.Tx) (generation uint64, saved int64, b Binding, err error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return 0, 0, b, errMalformed
	}
	p, le := meta.Get(headerKey), binary.LittleEndian
	if len(p) < headerBytesMin || le.Uint32(p) != checksum("", p) || le.Uint32(p[4:]) != Format {
		return 0, 0, b, errMalformed
	}
	generation, saved = le.Uint64(p[8:]), int64(le.Uint64(p[16:]))
	var texts [3]string
	p = p[24:]
	for i := range texts {
		if len(p) == 0 || len(p) < 1+int(p[0]) {
			return 0, 0, b, errMalformed
		}
		texts[i], p = string(p[1:1+int(p[0])]), p[1+int(p[0]):]
	}
	b.Store, b.Boot = texts[0], texts[2]
	if texts[1] != "" {
		if b.Snapshot, err = oid.FromBytes([]byte(texts[1])); err != nil {
			return 0, 0, b, errMalformed
		}
	}
	return generation, saved, b, nil
}

// headerBytesMin is a header whose texts are empty.
const headerBytesMin = 24 + 3

// Saved is when the table was saved, in nanoseconds since 1970; 0 if it is empty.
func (t *Table) Saved() int64 { return t.saved }

func putHeader(tx *bolt.Tx, generation uint64, now int64, b Binding) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	p := le.AppendUint64(le.AppendUint32(make([]byte, 4), Format), generation)
	p = le.AppendUint64(p, uint64(now))
	for _, text := range [][]byte{[]byte(b.Store), b.Snapshot.Bytes(), []byte(b.Boot)} {
		p = append(append(p, byte(len(text))), text...)
	}
	le.PutUint32(p, checksum("", p))
	return meta.Put(headerKey, p)
}
