package cas

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"os"
	"runtime/debug"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// The witness tells of the last transaction that was acknowledged. bbolt keeps
// two headers and silently takes the older one where the newer is damaged: the
// last transaction is then gone, as if it had never been. A header that was
// only half written in a loss of power looks the same, but nobody was told that
// its transaction stands. So whoever has committed writes into the lock file
// which transaction that was, with a copy of its header. That is not synced: a
// loss of power may take it back, and an older witness accuses nobody.

// ErrBehind is reported for a file that lacks the last transaction that was
// acknowledged, where that cannot be brought back: an older copy of the file
// was put in its place, or the disk has lost more than a header.
// [Store.Accept] goes on with what is there.
var ErrBehind = fmt.Errorf("%w: what was written last is missing", ErrBroken)

const (
	witnessName = "rewind 1"
	// Where the parts of a witness are; docs/format.md has them too.
	witnessStore  = 8
	witnessFile   = witnessStore + 16
	witnessHeader = witnessFile + fileBytes
	witnessSum    = witnessHeader + headerBytes
	witnessBytes  = witnessSum + 4

	// Of bbolt's header, which lies behind the head of its page.
	headerBytes  = 64
	headerMagic  = 0xED0CDAED
	headerPageAt = 8
	headerTxAt   = 48
	headerSumAt  = 56
	headerFlag   = 4 // of the page

	// compactionsMax is how often a store may have been written anew since a copy of
	// it was made, for that to be known for a copy.
	compactionsMax = 1 << 10
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

// readWitness returns the header of the last transaction that was acknowledged;
// false if there is no witness, or one of another file.
func (m meta) readWitness(held *durable.Held) (h header, ok bool) {
	h, file, ok := m.anyWitness(held)
	return h, ok && file == m.file
}

// anyWitness is readWitness for any file of the store, and returns its name.
func (m meta) anyWitness(held *durable.Held) (h header, file [fileBytes]byte, ok bool) {
	var p [witnessBytes]byte
	if n, _ := held.ReadAt(p[:], 0); n < len(p) {
		return h, file, false
	}
	if string(p[:witnessStore]) != witnessName || !bytes.Equal(p[witnessStore:witnessFile], m.id[:]) ||
		binary.BigEndian.Uint32(p[witnessSum:]) != crc32.Checksum(p[:witnessSum], castagnoli) {
		return h, file, false
	}
	copy(file[:], p[witnessFile:])
	copy(h[:], p[witnessHeader:])
	return h, file, h.whole()
}

// checkWitness checks that the file has the last transaction that was
// acknowledged.
func (m meta) checkWitness(held *durable.Held, last uint64) error {
	h, file, ok := m.anyWitness(held)
	switch {
	case ok && file == m.file && h.transaction() > last:
		return &behindError{has: last, last: h.transaction()}
	case ok && file != m.file && m.replacedBy(file):
		return &behindError{has: last, last: h.transaction(), replaced: true}
	}
	return nil
}

// replacedBy reports whether the file was written anew, once or more, and is the other one
// since. The other one may be older as well: nothing was committed since the file was
// written anew.
func (m meta) replacedBy(file [fileBytes]byte) bool {
	other := meta{id: m.id, file: file}
	mine := m.file
	for range compactionsMax {
		if m.file = m.nextFile(); m.file == file {
			return true
		}
		if other.file = other.nextFile(); other.file == mine {
			return false
		}
	}
	return false
}

// bearWitness writes down which transaction was committed last. If that fails
// the witness is an older one, or damaged, and then there is none.
func (m meta) bearWitness(held *durable.Held, file *os.File, last uint64) {
	h, err := readHeader(file, last)
	if err != nil || !h.whole() || h.transaction() != last {
		return
	}
	p := make([]byte, 0, witnessBytes)
	p = append(p, witnessName...)
	p = append(p, m.id[:]...)
	p = append(p, m.file[:]...)
	p = append(p, h[:]...)
	_, _ = held.WriteAt(binary.BigEndian.AppendUint32(p, crc32.Checksum(p, castagnoli)), 0)
}

// readHeader reads the header that a transaction with this number writes.
func readHeader(file *os.File, transaction uint64) (h header, err error) {
	_, err = file.ReadAt(h[:], int64(transaction%2)*pageSize+pageHeaderBytes)
	return h, err
}

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
	want, ok := m.readWitness(held)
	if !ok {
		return true, nil // another process has accepted it, or put another file there
	}
	f, err := durable.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
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
	if err := writeHeader(f, &want); err != nil {
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
	_, err = held.WriteAt(make([]byte, witnessBytes), 0)
	return true, s.wrap(err)
}

// peek reads a file that may be behind, for a caller that holds the lock.
func (s *Store) peek(ctx context.Context, fn func(*file) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := &file{path: s.path}
	defer f.close(&err)
	if err := f.begin(ctx); err != nil {
		return err
	}
	return fn(f)
}
