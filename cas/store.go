// Package cas is the store: it keeps bytes under their object id in one bbolt
// file, and gives back exactly those bytes or an error. Beside them it keeps
// tables of small records whose meaning it does not know.
//
// What a [Stage.Commit] or [Store.Update] that returned nil has written
// survives a power loss; one that failed has left nothing visible. Every byte
// that is read was verified; damage is reported as [ErrCorrupt], never as a
// wrong byte and never as a panic. Any number of goroutines and processes may
// use one file: nothing is locked between calls, and a file that a reader has
// left open for its next call is in nobody's way.
//
// The package knows no path of a worktree, no session and no git repository.
// docs/format.md describes the file.
package cas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The conditions a caller can act on.
var (
	ErrNotFound = errors.New("not in the store")
	ErrCorrupt  = errors.New("the store is damaged")
	// ErrBroken is reported where the file as a whole is damaged: not one
	// object or record, but what finds all of them. It is an ErrCorrupt.
	ErrBroken      = fmt.Errorf("%w as a whole", ErrCorrupt)
	ErrNotStore    = errors.New("not a rewind store")
	ErrNewerFormat = errors.New("the store was written by a newer version of rewind")
	// ErrSize is reported where a reader gave more or fewer bytes than it was
	// said to have.
	ErrSize = errors.New("the size differs from the one announced")
	// ErrSwept is reported where a sweep removed, between Put and Commit, what
	// the stage had found in the store and so had not stored itself. Nothing
	// was recorded; put everything into a new stage.
	ErrSwept = errors.New("swept while it was being staged")
)

// A Store is a handle on a store file. It holds no lock between calls;
// goroutines may share it. [Store.Close] it when done.
//
// The functions given to its methods run under the file's lock: they must be
// short and must not call the Store again, which would wait for itself.
type Store struct {
	path    string
	meta    meta
	now     func() time.Time
	opened  func(*bolt.DB) // a test's hook between opening and the transaction
	between func()         // a test's hook before each transaction, while nothing is locked
	idle    idle
	lock    durable.LockFile
	mended  atomic.Bool
	parts   parts
	// decoded counts the frames that were decoded.
	decoded atomic.Int64
	*tools
}

// parts are the sizes in which a stage does its work, what of a file stays mapped into
// memory, and what of small contents shares a frame; a test lowers them.
type parts struct{ batch, load, rows, mapped, group int }

// tools are what all stores of the process work with, so that one which is opened
// for a single request finds them warm: to make them costs more than the request.
type tools struct {
	codecs   codecs
	kept     decodedChunks
	groups   decodedGroups
	cuts     cutters
	buffers  spares[[]byte] // of full batches
	payloads spares[[]byte] // of one payload on its way into a batch
}

var shared tools

// Options say how [Open] makes a store that does not exist. The zero value
// makes none.
type Options struct {
	Create    bool
	Algorithm oid.Algorithm // of a new store's object ids; zero is BLAKE3
}

// Open checks that there is a store at path and that this program can read it.
// A missing file is made if the options say so, in one step that neither a
// crash nor another process can see half done; otherwise [os.ErrNotExist] is
// reported. A file of a later format gives [ErrNewerFormat], a file of another
// kind [ErrNotStore], a truncated or altered one [ErrCorrupt]. One that lacks
// what was written last is opened, and its transactions give [ErrBehind]. Open waits
// for whoever has the store locked, until the context ends.
func Open(ctx context.Context, path string, opt *Options) (*Store, error) {
	if opt == nil {
		opt = &Options{}
	}
	s := &Store{path: path, now: time.Now, tools: &shared, parts: parts{batchBytes, loadBytes, rowsEach, mappedBytes, groupBytes}}
	s.lock.Path = path + lockSuffix
	if _, err := durable.Look(path); err != nil {
		if !errors.Is(err, os.ErrNotExist) || !opt.Create {
			return nil, err
		}
		if err := s.create(ctx, opt.Algorithm); err != nil {
			return nil, fmt.Errorf("create store %s: %w", path, err)
		}
	}
	read := func(f *file) (err error) {
		s.meta, err = readMeta(f.tx)
		return err
	}
	err := s.transact(ctx, durable.Shared, read)
	if errors.Is(err, ErrBehind) { // every call will say so, until it is accepted
		err = s.openBehind(ctx, read)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) openBehind(ctx context.Context, read func(*file) error) (err error) {
	held, err := s.lock.Lock(ctx, durable.Shared)
	if err != nil {
		return s.wrap(err)
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	return s.wrap(s.peek(ctx, read))
}

// ID returns the random name of this store, which never changes. What was
// derived from a store notes its name, and so notices when another store is in
// its place.
func (s *Store) ID() [16]byte { return s.meta.id }

// Algorithm returns the hash function of the store's object ids.
func (s *Store) Algorithm() oid.Algorithm { return s.meta.algorithm }

// Path returns the path given to [Open].
func (s *Store) Path() string { return s.path }

// create makes the file beside its place and renames it there, under the lock
// of the place: a second creator finds it done.
func (s *Store) create(ctx context.Context, alg oid.Algorithm) (err error) {
	if alg == 0 {
		alg = oid.BLAKE3
	}
	if err := durable.MakeDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	held, err := s.lock.Lock(ctx, durable.Exclusive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	if _, err := durable.Look(s.path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	m := meta{version: formatVersion, algorithm: alg, created: s.now()}
	rand.Read(m.id[:])
	return s.replace(".new", func(db *bolt.DB) error {
		return db.Update(func(tx *bolt.Tx) error { return format(tx, m) })
	})
}

// replace lets fill write a new file and puts it in the store's place. The
// caller holds the lock. A file that a crash left under the name is removed.
func (s *Store) replace(suffix string, fill func(*bolt.DB) error) error {
	name := s.path + suffix
	if err := durable.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bolt.Open(name, 0o600, &bolt.Options{
		Timeout:      boltTimeout,
		FreelistType: bolt.FreelistMapType,
		PageSize:     pageSize,
		NoStatistics: true,
		OpenFile:     durable.OpenFile,
	})
	if err != nil {
		return err
	}
	err = fill(db)
	if err == nil {
		err = db.Sync()
	}
	if err = errors.Join(err, db.Close()); err == nil {
		err = durable.Rename(name, s.path)
	}
	if err != nil {
		durable.Remove(name)
	}
	return err
}
