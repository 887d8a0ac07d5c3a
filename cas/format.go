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

	metaBytes   = 49
	objectBytes = 50
	chunkBytes  = 24
	deltaBytes  = chunkBytes + digestBytes
	sealBytes   = 4
	digestBytes = 32

	// chunkBytesMax bounds what a damaged length can make us allocate. The
	// largest chunk of contents is 1 MiB; the list of chunks of a file of
	// 512 GiB is about 64 MiB.
	chunkBytesMax = 128 << 20
)

const (
	objectsName = "objects"
	chunksName  = "chunks"
	dataName    = "data"
)

var (
	metaBucket    = []byte("meta")
	objectsBucket = []byte(objectsName)
	chunksBucket  = []byte(chunksName)
	dataBucket    = []byte(dataName)
	tablePrefix   = "table/"
	metaKey       = []byte("store")
	fileKey       = []byte("file")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// A digest is the BLAKE3-256 of a chunk's raw bytes.
type digest [digestBytes]byte

// A form says what an object row's digest is of.
type form uint8

const (
	whole form = 0 // the only chunk of the object
	list  form = 1 // a chunk that is the list of the object's chunks' digests
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
	for _, name := range [][]byte{objectsBucket, chunksBucket, dataBucket, metaBucket} {
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
	written int64 // unix seconds; renewed when a stage meets the object again
	size    uint64
	digest  digest
}

func (o object) encode(id []byte) []byte {
	p := make([]byte, 0, objectBytes+sealBytes)
	p = append(p, byte(o.kind), byte(o.form))
	p = binary.BigEndian.AppendUint64(p, uint64(o.written))
	p = binary.BigEndian.AppendUint64(p, o.size)
	return seal(id, append(p, o.digest[:]...))
}

func decodeObject(id, p []byte) (object, error) {
	row, ok := unseal(id, p)
	if !ok || len(row) != objectBytes {
		return object{}, fmt.Errorf("%w: the row of object %x", ErrCorrupt, id)
	}
	o := object{
		kind:    oid.Kind(row[0]),
		form:    form(row[1]),
		written: int64(binary.BigEndian.Uint64(row[2:])),
		size:    binary.BigEndian.Uint64(row[10:]),
	}
	copy(o.digest[:], row[18:])
	if o.kind.String() == "" || o.form > list || o.size > 1<<62 {
		return object{}, fmt.Errorf("%w: the row of object %x", ErrCorrupt, id)
	}
	return o, nil
}

// chunk is a row of the bucket chunks.
type chunk struct {
	seq     uint64 // its key in the bucket data
	raw     uint32 // bytes of the chunk
	stored  uint32 // bytes of its frame, without the codec byte
	written int64
	base    digest // zero: not a delta
}

func (c chunk) encode(key []byte) []byte {
	p := make([]byte, 0, deltaBytes+sealBytes)
	p = binary.BigEndian.AppendUint64(p, c.seq)
	p = binary.BigEndian.AppendUint32(p, c.raw)
	p = binary.BigEndian.AppendUint32(p, c.stored)
	p = binary.BigEndian.AppendUint64(p, uint64(c.written))
	if c.base != (digest{}) {
		p = append(p, c.base[:]...)
	}
	return seal(key, p)
}

func decodeChunk(key, p []byte) (chunk, error) {
	row, ok := unseal(key, p)
	if !ok || (len(row) != chunkBytes && len(row) != deltaBytes) {
		return chunk{}, fmt.Errorf("%w: the row of chunk %x", ErrCorrupt, key)
	}
	c := chunk{
		seq:     binary.BigEndian.Uint64(row),
		raw:     binary.BigEndian.Uint32(row[8:]),
		stored:  binary.BigEndian.Uint32(row[12:]),
		written: int64(binary.BigEndian.Uint64(row[16:])),
	}
	copy(c.base[:], row[chunkBytes:])
	if c.raw > chunkBytesMax || c.stored > c.raw || (len(row) == deltaBytes) != (c.base != digest{}) {
		return chunk{}, fmt.Errorf("%w: the row of chunk %x", ErrCorrupt, key)
	}
	return c, nil
}

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }
