// Package gitodb reads and writes git's object database: loose objects, packs
// and alternates, in SHA-1 and SHA-256 repositories.
//
// Every object read is hashed and compared with the id it was asked for; what
// does not match is [ErrCorrupt], never a wrong byte. Packs may be replaced by
// git at any moment: an object that is not found where it was is looked for
// once more. What is written is what git writes, under git's own protocol
// (temporary name, then rename), and appears whole or not at all.
//
// The package knows neither refs nor worktrees, and never deletes an object: only
// copies of what is elsewhere too, and files that are damaged, where it is told to.
// The formats are those of git's gitformat-pack and gitformat-loose pages.
package gitodb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zlib"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ErrNotFound is reported for an object that is nowhere in the database.
var ErrNotFound = errors.New("object not found")

// ErrCorrupt is reported for an object that is there but broken: cut short, not
// decodable, or with other bytes than its id promises.
var ErrCorrupt = errors.New("object is corrupt")

// ErrTooLarge is reported by [DB.Read] for an object that is too large for memory;
// [DB.Stream] may still read it.
var ErrTooLarge = errors.New("object is too large for memory (more than 512 MiB, or a delta that needs 960)")

// Options say how a database is read and written; nil and the zero value are
// the recommended ones.
type Options struct {
	// Sync makes loose objects durable, each by itself and with its name, before
	// they are said to be written. Git's own default leaves them to the file
	// system; packs are always synced.
	Sync bool
	// Share is called with every file and directory made, before it can be
	// found by others, to give it the permissions that core.sharedRepository
	// asks for. Nil leaves what the umask gives.
	Share func(path string) error
	// Ready is waited for when a pack is written and has no name yet; if it
	// fails nothing of the pack is left. Nil waits for nothing.
	Ready func(ctx context.Context) error
	// Keep keeps git's collections from the packs that WritePack writes, until
	// [DB.Release].
	Keep bool
}

// A DB is an object database: one objects directory and its alternates. All
// methods may be called by several goroutines at once; any number of processes,
// git among them, may use the same directory.
type DB struct {
	keeps struct { // packs that this database keeps, by their names
		sync.Mutex
		files map[string]*os.File
	}

	dir      string
	alg      oid.Algorithm
	opt      Options
	bytesMax int64 // the size of the largest object held in memory: above it git makes no deltas

	listed listed

	load    sync.Once // fills sources, at the first question
	sources []*source
	taken   map[string]*source // see [DB.TakeOver], by their directories
	bases   *bases
	*pools
}

// pools are what all databases of the process work with: to make one costs more
// than a small object, and a database may be opened for a single one.
type pools struct {
	inflate sync.Pool // of *inflater
	whole   sync.Pool // of *wholeInflater
	deflate deflaters // at git's fastest level
	stored  deflaters // as git does where core.looseCompression is 0
}

var shared = pools{whole: sync.Pool{New: func() any { return &wholeInflater{} }}, deflate: deflaters{level: zlib.BestSpeed}, stored: deflaters{level: zlib.NoCompression}}

// Open returns the database in a repository's objects directory. Nothing is
// read before the first question, so that opening costs nothing.
func Open(dir string, alg oid.Algorithm, opt *Options) (*DB, error) {
	if alg != oid.SHA1 && alg != oid.SHA256 {
		return nil, fmt.Errorf("git has no objects of %v", alg)
	}
	d := &DB{dir: dir, alg: alg, bytesMax: 512 << 20, bases: &bases{}, pools: &shared}
	if opt != nil {
		d.opt = *opt
	}
	return d, nil
}

// Close releases the files that are held. No other method may be running.
func (d *DB) Close() error {
	var errs []error
	for _, s := range d.all() {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Refresh lists the packs anew if their directory changed. Reading does so by
// itself where an object is missing; a process that lives long calls it before
// it relies on [DB.Has], which otherwise trusts packs that were seen earlier.
func (d *DB) Refresh() {
	for _, s := range d.all() {
		s.refresh(false)
	}
}

// Has reports whether the object is there. It does not read the object.
func (d *DB) Has(id oid.ID) bool {
	if !d.fits(id) {
		return false
	}
	for at := range d.places(id) {
		if at.pack != nil || isLoose(at.loose) {
			return true
		}
	}
	return false
}

// fits reports whether an id is of this database's algorithm.
func (d *DB) fits(id oid.ID) bool { return id.Len() == d.alg.Size() }

// Read returns an object's kind and payload, which belongs to the caller. The
// payload has the id that was asked for. The errors are [ErrNotFound],
// [ErrCorrupt] (every copy is broken), [ErrTooLarge] and those of the system.
func (d *DB) Read(id oid.ID) (oid.Kind, []byte, error) {
	var kind oid.Kind
	var payload []byte
	err := d.try(id, func(at place) (err error) {
		kind, payload, err = d.readPlace(at)
		if err == nil && d.alg.Sum(kind, payload) != id {
			err = fmt.Errorf("%w: its bytes have another id", ErrCorrupt)
		}
		return err
	})
	if err != nil {
		return 0, nil, fmt.Errorf("object %v: %w", id, err)
	}
	return kind, payload, nil
}

func (d *DB) readPlace(at place) (oid.Kind, []byte, error) {
	if at.pack != nil {
		return d.unpack(at.pack, at.off)
	}
	return d.readLoose(at.loose)
}

// Length returns an object's size from its header alone, without its kind: a
// delta's kind is known only at the end of its chain, which Length does not
// walk. The payload is not verified.
func (d *DB) Length(id oid.ID) (size int64, err error) {
	err = d.try(id, func(at place) (err error) {
		if at.pack != nil {
			size, err = d.packedLength(at.pack, at.off)
		} else {
			_, size, err = d.looseSize(at.loose)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("object %v: %w", id, err)
	}
	return size, nil
}

// Freshen renews the age of an object that is about to be referred to again, as
// git does, so that no "git gc" prunes it before the reference is there. It
// returns false where the object must be written: it is not there, or its file
// belongs to somebody else, or lies in a pack of unreachable objects.
func (d *DB) Freshen(id oid.ID) bool {
	now := time.Now()
	err := d.try(id, func(at place) error {
		switch {
		case at.pack == nil && !isLoose(at.loose):
			return ErrNotFound
		case at.pack == nil:
			return os.Chtimes(at.loose, now, now)
		case at.pack.cruft:
			return ErrNotFound
		}
		return at.pack.freshen(now)
	})
	return err == nil
}

// freshSeconds is for how long a pack's new age is relied upon without asking
// the file system again; git prunes nothing that young unless told to.
const freshSeconds = 2

func (p *pack) freshen(now time.Time) error {
	if now.Unix()-p.fresh.Load() < freshSeconds {
		return nil
	}
	if err := os.Chtimes(p.path+".pack", now, now); err != nil {
		return err
	}
	p.fresh.Store(now.Unix())
	return nil
}

// try calls f with each place where the object is until f is content. It
// returns f's last error that is not the file's absence, or ErrNotFound.
func (d *DB) try(id oid.ID, f func(place) error) error {
	if !d.fits(id) {
		return ErrNotFound
	}
	last := ErrNotFound
	for at := range d.places(id) {
		err := f(at)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrNotExist):
			last = err
		case at.pack != nil:
			at.pack.gone.Store(true)
		}
	}
	if last == ErrNotFound {
		return d.notFound()
	}
	return last
}

// Complete reports why the database may have objects that it does not show: a
// directory of packs that cannot be listed, or a pack whose index cannot be
// used. Without an error [ErrNotFound] is proof that an object is gone.
func (d *DB) Complete() error {
	d.Refresh()
	for _, s := range d.all() {
		list := s.list()
		if err := s.listed(); err != nil {
			return err
		}
		for _, p := range list {
			p.lookUp()
			if bad := p.bad.Load(); bad != nil {
				return *bad
			}
		}
	}
	return nil
}

// notFound is ErrNotFound, with the packs named whose index cannot be used.
func (d *DB) notFound() error {
	err := ErrNotFound
	for _, s := range d.all() {
		for _, p := range s.list() {
			if bad := p.bad.Load(); bad != nil {
				err = fmt.Errorf("%w (%w)", err, *bad)
			}
		}
	}
	return err
}

// A place is where a copy of an object lies: in a pack, or in a file.
type place struct {
	pack  *pack
	off   int64
	loose string
}

// places yields where an object may be: of each directory the first of the packs known
// so far that has it, then the loose files, then every pack, those that came since
// included. Where no pack had it, and none came, none is asked again.
func (d *DB) places(id oid.ID) func(func(place) bool) {
	return func(yield func(place) bool) {
		var in [4]*[]*pack
		lacking := append(in[:0], make([]*[]*pack, len(d.all()))...)
		for i, s := range d.all() {
			p, off, list := s.find(id)
			if p == nil {
				lacking[i] = list
			} else if !yield(place{pack: p, off: off}) {
				return
			}
		}
		for _, s := range d.all() {
			if !yield(place{loose: s.loose(id)}) {
				return
			}
		}
		for i, s := range d.all() {
			if s.refresh(false); s.packs.Load() == lacking[i] {
				continue
			}
			for _, p := range s.list() {
				if off, ok := p.find(id); ok && !yield(place{pack: p, off: off}) {
					return
				}
			}
		}
	}
}

// A source is one objects directory: the repository's own, or an alternate.
type source struct {
	dir    string
	alg    oid.Algorithm
	packs  atomic.Pointer[[]*pack]
	recent atomic.Pointer[pack] // where the last object was found

	mu      sync.Mutex // held while the list of packs is made
	retired []*pack    // no longer listed; readers may still hold them
	mtime   time.Time  // of the pack directory when it was listed
	settled bool       // a later change of the directory shows in its mtime

	unlisted error // why the list may lack packs
}

func (s *source) list() []*pack { return *s.known() }

// listed returns why the list of packs may lack some.
func (s *source) listed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unlisted
}

// known returns the list of packs, which is made at the first question.
func (s *source) known() *[]*pack {
	if l := s.packs.Load(); l != nil {
		return l
	}
	s.refresh(false)
	return s.packs.Load()
}

// find looks in the packs that are known, and returns their list.
func (s *source) find(id oid.ID) (*pack, int64, *[]*pack) {
	list, recent := s.known(), s.recent.Load()
	if recent != nil {
		if off, ok := recent.find(id); ok {
			return recent, off, list
		}
	}
	for _, p := range *list {
		if p == recent {
			continue
		}
		if off, ok := p.find(id); ok {
			s.recent.Store(p)
			return p, off, list
		}
	}
	return nil, 0, list
}

func (s *source) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.closeRetired()
	if l := s.packs.Swap(nil); l != nil {
		for _, p := range *l {
			err = errors.Join(err, p.close())
		}
	}
	s.recent.Store(nil)
	return err
}

func (s *source) closeRetired() (err error) {
	for _, p := range s.retired {
		err = errors.Join(err, p.close())
	}
	s.retired = nil
	return err
}
