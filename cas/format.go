package cas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/zeebo/blake3"
	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// The names and numbers of the format; docs/format.md explains them.
const (
	formatName    = "rewind-store"
	formatVersion = 1
	pageSize      = 4096

	metaBytes  = 49
	headBytes  = 1 + 1 + 8 + 8 // of an object row
	frameBytes = 8 + 4         // of one with a frame
	partBytes  = 4             // of one with a part of a frame
	sealBytes  = 4
	idBytesMax = 32

	// chunkBytesMax bounds what a damaged length can make us allocate. The
	// largest chunk of contents is 1 MiB; the list of chunks of a file of
	// 512 GiB is about 64 MiB.
	chunkBytesMax = 128 << 20
)

const (
	objectsName = "objects"
	dataName    = "data"
)

var (
	metaBucket    = []byte("meta")
	objectsBucket = []byte(objectsName)
	dataBucket    = []byte(dataName)
	tablePrefix   = "table/"
	metaKey       = []byte("store")
	fileKey       = []byte("file")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// chunkKind is the kind of what only the store knows: a part of a large content, or the
// list of its parts. No git object has such an id.
const chunkKind oid.Kind = 0

// A form says how an object is stored.
type form uint8

const (
	whole form = 0 // one frame
	delta form = 1 // one frame, the difference from another object, which is whole
	list  form = 2 // the chunks that another object lists
	part  form = 3 // a part of one frame, which several objects share
)

// meta is what the store says of itself.
type meta struct {
	version   uint32
	algorithm oid.Algorithm
	id        [16]byte
	created   time.Time
	file      uint64 // of this file; one that was written anew has a larger one
}

func (m meta) encode() []byte {
	p := make([]byte, 24, metaBytes)
	copy(p, formatName)
	binary.BigEndian.PutUint32(p[12:], m.version)
	p = append(p, byte(m.algorithm))
	p = append(p, m.id[:]...)
	p = binary.BigEndian.AppendUint64(p, uint64(m.created.UnixNano()))
	sum := blake3.Sum256(p)
	copy(p[16:24], sum[:])
	return p
}

// decodeMeta relies on what every version promises: the name, the version and
// the checksum of the whole record are at the same place in each.
func decodeMeta(p []byte) (meta, error) {
	if len(p) < 24 || string(p[:12]) != formatName {
		return meta{}, ErrNotStore
	}
	q := append([]byte(nil), p...)
	clear(q[16:24])
	if sum := blake3.Sum256(q); string(sum[:8]) != string(p[16:24]) {
		return meta{}, fmt.Errorf("%w: its header does not match its checksum", ErrCorrupt)
	}
	m := meta{version: binary.BigEndian.Uint32(p[12:])}
	if m.version > formatVersion {
		return meta{}, fmt.Errorf("%w: its format is version %d, this program knows version %d and older",
			ErrNewerFormat, m.version, formatVersion)
	}
	if len(p) != metaBytes {
		return meta{}, fmt.Errorf("%w: its header has %d bytes", ErrCorrupt, len(p))
	}
	m.algorithm = oid.Algorithm(p[24])
	if _, err := oid.ParseAlgorithm(m.algorithm.String()); err != nil || m.version == 0 {
		return meta{}, fmt.Errorf("%w: version %d with %v", ErrCorrupt, m.version, m.algorithm)
	}
	copy(m.id[:], p[25:41])
	m.created = time.Unix(0, int64(binary.BigEndian.Uint64(p[41:])))
	return m, nil
}

// format makes the buckets of an empty store.
func format(tx *bolt.Tx, m meta) error {
	for _, name := range [][]byte{objectsBucket, dataBucket, metaBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return errors.Join(tx.Bucket(metaBucket).Put(metaKey, m.encode()), numberFile(tx))
}

// numberFile gives a new file its number, which is larger than that of the one before:
// when it was made, in nanoseconds since 1970. It is not in the header, because that
// stays when the file is written anew.
func numberFile(tx *bolt.Tx) error {
	m, err := readMeta(tx)
	if err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(fileKey, seqKey(max(m.file+1, uint64(time.Now().UnixNano()))))
}

func readMeta(tx *bolt.Tx) (meta, error) {
	b := tx.Bucket(metaBucket)
	if b == nil {
		return meta{}, ErrNotStore
	}
	m, err := decodeMeta(b.Get(metaKey))
	if n := b.Get(fileKey); len(n) == 8 {
		m.file = binary.BigEndian.Uint64(n)
	}
	return m, err
}

// seal appends a checksum over key and row: bbolt has none for its pages, and
// a row found under a wrong key must not pass either.
func seal(key, row []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, row)
	return binary.BigEndian.AppendUint32(row, sum)
}

// unseal returns the row without its checksum, or false if that is wrong. The
// result is a part of p.
func unseal(key, p []byte) ([]byte, bool) {
	n := len(p) - sealBytes
	if n < 0 {
		return nil, false
	}
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, p[:n])
	return p[:n:n], binary.BigEndian.Uint32(p[n:]) == sum
}

// object is a row of the bucket objects.
type object struct {
	kind    oid.Kind
	form    form
	written int64  // unix seconds; renewed when a stage meets the object again
	size    uint64 // of the payload
	seq     uint64 // the key of its frame in the bucket data, unless it is a list
	stored  uint32 // bytes of the frame, without the codec byte; of a part its share of them
	at      uint32 // of a part: where it begins in what the frame decodes to
	ref     oid.ID // of a delta its base, of a list the object that has the ids of its chunks
}

func (o object) encode(id []byte) []byte {
	be := binary.BigEndian
	p := make([]byte, 0, headBytes+frameBytes+partBytes+idBytesMax+sealBytes)
	p = append(p, byte(o.kind), byte(o.form))
	p = be.AppendUint64(be.AppendUint64(p, uint64(o.written)), o.size)
	if o.form != list {
		p = be.AppendUint32(be.AppendUint64(p, o.seq), o.stored)
	}
	if o.form == part {
		p = be.AppendUint32(p, o.at)
	}
	return seal(id, o.ref.Append(p))
}

func decodeObject(id, p []byte) (o object, err error) {
	be := binary.BigEndian
	row, ok := unseal(id, p)
	if !ok || len(row) < headBytes {
		return o, errRow(id)
	}
	o.kind, o.form = oid.Kind(row[0]), form(row[1])
	o.written, o.size = int64(be.Uint64(row[2:])), be.Uint64(row[10:])
	if row = row[headBytes:]; o.form != list && len(row) >= frameBytes {
		o.seq, o.stored, row = be.Uint64(row), be.Uint32(row[8:]), row[frameBytes:]
		ok = o.size <= chunkBytesMax && uint64(o.stored) <= o.size
	} else {
		ok = o.form == list && o.size <= 1<<62
	}
	if ok && o.form == part && len(row) >= partBytes {
		o.at, row = be.Uint32(row), row[partBytes:]
		ok = o.size > 0 && uint64(o.at)+o.size <= groupBytesMax
	} else {
		ok = ok && o.form != part
	}
	if len(row) > 0 {
		o.ref, err = oid.FromBytes(row)
	}
	if !ok || err != nil || o.kind > oid.Tag || o.form > part || o.ref.IsZero() != o.stands() || len(row) > 0 && len(row) != len(id) {
		return object{}, errRow(id)
	}
	return o, nil
}

// stands reports whether an object can be read without another.
func (o object) stands() bool { return o.form == whole || o.form == part }

func errRow(id []byte) error { return fmt.Errorf("%w: the row of object %x", ErrCorrupt, id) }

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }
