package away

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A known is what a remote is known to have, so that a push reads only what is new. It is a cache, a file that
// grows: what it says of a blob counts only while the index of the remote has that.
type known struct {
	path     string
	contents map[oid.ID]content
	dirs     map[tree.State]dir
	pushed   map[oid.ID]restic.ID // snapshots, with the hash of the record that was pushed last
	index    map[restic.ID]bool   // files of the index that were there
	rows     []byte               // not written yet
}

// A content is a file as the remote has it.
type content struct {
	size  int64
	blobs []restic.ID
}

// A dir is a directory as the remote has it: its files, and what lies beside them.
type dir struct {
	files, beside restic.ID
}

const knownMagic = "rewind remote 1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// loadKnown reads what is known. What cannot be read is not known.
func loadKnown(path string) *known {
	k := &known{path: path, contents: map[oid.ID]content{}, dirs: map[tree.State]dir{}, pushed: map[oid.ID]restic.ID{}, index: map[restic.ID]bool{}}
	data, err := durable.ReadFile(path, 1<<32)
	if err != nil || len(data) < len(knownMagic) || string(data[:len(knownMagic)]) != knownMagic {
		k.rows = []byte(knownMagic)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			_ = durable.Remove(path)
		}
		return k
	}
	rest := data[len(knownMagic):]
	for len(rest) > 0 {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) || uint64(len(rest)-w)-n < 4 {
			break
		}
		row, sum := rest[w:w+int(n)], rest[w+int(n):]
		if binary.LittleEndian.Uint32(sum) != crc32.Checksum(row, castagnoli) || !k.take(row) {
			break
		}
		rest = sum[4:]
	}
	if len(rest) > 0 { // a crash has cut it
		_ = os.Truncate(path, int64(len(data)-len(rest)))
	}
	return k
}

// A reader takes fields off a row.
type reader struct {
	p   []byte
	bad bool
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.p) {
		r.bad = true
		return make([]byte, max(0, min(n, 64)))
	}
	out := r.p[:n]
	r.p = r.p[n:]
	return out
}

func (r *reader) number() uint64 {
	n, w := binary.Uvarint(r.p)
	if w <= 0 {
		r.bad = true
		return 0
	}
	r.p = r.p[w:]
	return n
}

func (r *reader) id() oid.ID {
	n := int(r.number())
	if n == 0 || r.bad || n > 32 {
		return oid.ID{}
	}
	id, err := oid.FromBytes(r.bytes(n))
	r.bad = r.bad || err != nil
	return id
}

func (r *reader) blob() restic.ID { return restic.ID(r.bytes(len(restic.ID{}))) }

// take takes a row over; false: it is none.
func (k *known) take(row []byte) bool {
	if len(row) == 0 {
		return false
	}
	r := &reader{p: row[1:]}
	switch row[0] {
	case 'c':
		id, c := r.id(), content{size: int64(r.number())}
		for len(r.p) > 0 && !r.bad {
			c.blobs = append(c.blobs, r.blob())
		}
		if !r.bad {
			k.contents[id] = c
		}
	case 'd':
		s := tree.State{Tree: r.id(), Overlay: r.id(), Umask: tree.Mode(r.number())}
		d := dir{files: r.blob(), beside: r.blob()}
		if !r.bad {
			k.dirs[s] = d
		}
	case 's':
		id, hash := r.id(), r.blob()
		if !r.bad {
			k.pushed[id] = hash
		}
	case 'i':
		if id := r.blob(); !r.bad {
			k.index[id] = true
		}
	}
	return !r.bad
}

func (k *known) row(kind byte, fields ...[]byte) {
	row := []byte{kind}
	for _, f := range fields {
		row = append(row, f...)
	}
	k.rows = binary.AppendUvarint(k.rows, uint64(len(row)))
	k.rows = append(k.rows, row...)
	k.rows = binary.LittleEndian.AppendUint32(k.rows, crc32.Checksum(row, castagnoli))
}

func field(id oid.ID) []byte { return id.Append(binary.AppendUvarint(nil, uint64(id.Len()))) }

func number(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func (k *known) addContent(id oid.ID, c content) {
	k.contents[id] = c
	fields := [][]byte{field(id), number(uint64(c.size))}
	for _, b := range c.blobs {
		fields = append(fields, b[:])
	}
	k.row('c', fields...)
}

func (k *known) addDir(s tree.State, d dir) {
	k.dirs[s] = d
	k.row('d', field(s.Tree), field(s.Overlay), number(uint64(s.Umask)), d.files[:], d.beside[:])
}

func (k *known) addPushed(id oid.ID, hash restic.ID) {
	k.pushed[id] = hash
	k.row('s', field(id), hash[:])
}

// seen compares the files of the index with those that were there before. If one is gone, somebody has pruned: a tree
// may then be there whose contents are not, so no directory is known any more.
func (k *known) seen(names []restic.ID) (gone bool) {
	there := map[restic.ID]bool{}
	for _, id := range names {
		there[id] = true
		if !k.index[id] {
			k.index[id] = true
			k.row('i', id[:])
		}
	}
	for id := range k.index {
		gone = gone || !there[id]
	}
	if !gone {
		return false
	}
	old := *k
	*k = *loadKnown(filepath.Join(filepath.Dir(k.path), "none"))
	k.path = old.path
	_ = durable.Remove(k.path)
	for id, c := range old.contents {
		k.addContent(id, c)
	}
	for id, hash := range old.pushed {
		k.addPushed(id, hash)
	}
	for id := range there {
		k.index[id] = true
		k.row('i', id[:])
	}
	return true
}

// save appends what is new to the file.
func (k *known) save() error {
	if len(k.rows) == 0 {
		return nil
	}
	f, err := durable.OpenFile(k.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(k.rows)
	k.rows = nil
	return errors.Join(err, f.Close())
}
