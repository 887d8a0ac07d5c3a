package cas

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"os"
	"runtime/debug"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// The lock file tells which transaction was acknowledged last. bbolt keeps two
// headers and silently takes the older one where the newer is damaged: the last
// transaction is then gone, as if it had never been. A header that was only half
// written in a loss of power looks the same, but nobody was told that its
// transaction stands. So whoever has committed writes into the lock file which
// transaction that was, with a copy of its header. That is not synced: a loss of
// power may take it back, and an older one accuses nobody.

// ErrBehind is reported for a file that lacks the last transaction that was
// acknowledged, where that cannot be brought back: an older copy of the file
// was put in its place, or the disk has lost more than a header.
// [Store.Accept] goes on with what is there.
var ErrBehind = fmt.Errorf("%w: what was written last is missing", ErrBroken)

const (
	lastCommitName = "rewind 1"
	// Where the parts of its record are; docs/format.md has them too.
	lastCommitStore  = 8
	lastCommitFile   = lastCommitStore + 16
	lastCommitRandom = lastCommitFile + 8
	lastCommitHeader = lastCommitRandom + 8
	lastCommitSum    = lastCommitHeader + headerBytes
	lastCommitBytes  = lastCommitSum + 4

	// Of bbolt's header, which lies behind the head of its page.
	headerBytes  = 64
	headerMagic  = 0xED0CDAED
	headerPageAt = 8
	headerFreeAt = 32 // the page of the list of free pages
	headerEndAt  = 40 // how many pages there are
	headerTxAt   = 48
	headerSumAt  = 56
	headerFlag   = 4 // of the page
)

// A header is what bbolt says of a transaction.
type header [headerBytes]byte

func (h *header) whole() bool {
	sum := fnv.New64a()
	sum.Write(h[:headerSumAt])
	ne := binary.NativeEndian
	return ne.Uint32(h[:]) == headerMagic && ne.Uint64(h[headerSumAt:]) == sum.Sum64()
}

func (h *header) transaction() uint64 { return binary.NativeEndian.Uint64(h[headerTxAt:]) }

// readHeader reads the header that a transaction with this number writes.
func readHeader(file *os.File, transaction uint64) (h header, err error) {
	_, err = file.ReadAt(h[:], int64(transaction%2)*pageSize+pageHeaderBytes)
	return h, err
}

// newestHeader reads the header that bbolt goes by; none if both are damaged.
func newestHeader(file *os.File) (h header, ok bool) {
	for n := range uint64(2) {
		if x, err := readHeader(file, n); err == nil && x.whole() && (!ok || x.transaction() > h.transaction()) {
			h, ok = x, true
		}
	}
	return h, ok
}

// A lastCommit is the last transaction that was acknowledged. The zero value is of
// none.
type lastCommit struct {
	store  [16]byte
	file   uint64  // the number of the store's file
	random [8]byte // no two transactions have the same
	header header
}

// readLastCommit returns what the lock file says; nothing if that is damaged.
func readLastCommit(held *durable.Held) (c lastCommit) {
	var p [lastCommitBytes]byte
	if n, _ := held.ReadAt(p[:], 0); n < len(p) || string(p[:lastCommitStore]) != lastCommitName ||
		binary.BigEndian.Uint32(p[lastCommitSum:]) != crc32.Checksum(p[:lastCommitSum], castagnoli) {
		return lastCommit{}
	}
	copy(c.store[:], p[lastCommitStore:])
	c.file = binary.BigEndian.Uint64(p[lastCommitFile:])
	copy(c.random[:], p[lastCommitRandom:])
	copy(c.header[:], p[lastCommitHeader:])
	if !c.header.whole() {
		return lastCommit{}
	}
	return c
}

// writeLastCommit writes down which transaction was committed last. If that fails the
// lock file has an older one, or a damaged one, which counts for none.
func (m meta) writeLastCommit(held *durable.Held, file *os.File, last uint64) lastCommit {
	h, err := readHeader(file, last)
	if err != nil || !h.whole() || h.transaction() != last {
		return lastCommit{}
	}
	c := lastCommit{store: m.id, file: m.file, header: h}
	rand.Read(c.random[:])
	p := append(make([]byte, 0, lastCommitBytes), lastCommitName...)
	p = binary.BigEndian.AppendUint64(append(p, c.store[:]...), c.file)
	p = append(append(p, c.random[:]...), h[:]...)
	if _, err := held.WriteAt(binary.BigEndian.AppendUint32(p, crc32.Checksum(p, castagnoli)), 0); err != nil {
		return lastCommit{}
	}
	return c
}

// check checks that a file has the transaction; last is the newest that it has. Files
// of a store have numbers that only grow: a smaller one was replaced since.
func (c *lastCommit) check(m meta, last uint64) error {
	switch {
	case c.store != m.id || c.file < m.file:
		return nil
	case c.file > m.file:
		return &behindError{has: last, last: c.header.transaction(), replaced: true}
	case c.header.transaction() > last:
		return &behindError{has: last, last: c.header.transaction()}
	}
	return nil
}

// A behindError says what is missing.
type behindError struct {
	has, last uint64
	replaced  bool // the file is one from before the store was written anew
}

func (e *behindError) Error() string {
	if e.replaced {
		return fmt.Sprintf("%v: the file is from before the store was written anew", ErrBehind)
	}
	return fmt.Sprintf("%v: transaction %d was acknowledged, and the file ends with %d", ErrBehind, e.last, e.has)
}

func (e *behindError) Unwrap() error { return ErrBehind }

// mend puts the header of the last transaction back where it is damaged, and
// reports whether the file is as it should be. That header is all that can be
// missing: the rest of the transaction was synced before it, and whoever had
// written since would have noticed.
func (s *Store) mend(ctx context.Context) (mended bool, err error) {
	held, err := s.lock.Lock(ctx, durable.Exclusive)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	var m meta
	if err := s.peek(ctx, func(f *file) (err error) {
		m, err = s.checkIdentity(f.tx)
		return err
	}); err != nil {
		return false, err
	}
	c := readLastCommit(held)
	if c.store != m.id || c.file < m.file {
		return true, nil // another process has accepted it, or put another file there
	}
	if c.file > m.file {
		return false, nil
	}
	f, err := durable.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	want := &c.header
	now, err := readHeader(f, want.transaction())
	if err != nil {
		return false, err
	}
	before, err := readHeader(f, want.transaction()-1)
	switch {
	case err != nil:
		return false, err
	case now.whole() && now.transaction() >= want.transaction():
		return true, nil // another process was faster
	case now.whole(), !before.whole(), before.transaction() != want.transaction()-1,
		binary.NativeEndian.Uint32(want[headerPageAt:]) != pageSize:
		return false, nil
	}
	if err := writeHeader(f, want); err != nil {
		return false, err
	}
	s.mended.Store(true)
	return true, nil
}

func writeHeader(f *os.File, h *header) error {
	ne, at := binary.NativeEndian, h.transaction()%2
	page := make([]byte, pageHeaderBytes, pageHeaderBytes+headerBytes)
	ne.PutUint64(page, at)
	ne.PutUint16(page[8:], headerFlag)
	if _, err := f.WriteAt(append(page, h[:]...), int64(at)*pageSize); err != nil {
		return err
	}
	return f.Sync()
}

// Mended reports whether this handle found the file's newest header damaged and
// put it back. Nothing was lost by that, but it is a sign that the disk may
// lose more.
func (s *Store) Mended() bool { return s.mended.Load() }

// Accept goes on with a file that gives [ErrBehind] as it is, and reports
// whether it was one.
func (s *Store) Accept(ctx context.Context) (behind bool, err error) {
	err = s.transact(ctx, durable.Shared, func(*file) error { return nil })
	if !errors.Is(err, ErrBehind) {
		return false, err
	}
	held, err := s.lock.Lock(ctx, durable.Exclusive)
	if err != nil {
		return false, s.wrap(err)
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	_, err = held.WriteAt(make([]byte, lastCommitBytes), 0)
	return true, s.wrap(err)
}

// peek reads a file that may be behind, opened anew, for a caller that holds the lock.
func (s *Store) peek(ctx context.Context, fn func(*file) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := &file{path: s.path}
	defer f.close(&err)
	if err := f.begin(ctx); err != nil {
		return err
	}
	return fn(f)
}
