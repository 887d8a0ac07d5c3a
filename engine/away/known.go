package away

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A known is what a remote is known to have, so that a push reads only what is new. It is a cache, a file that
// grows: what it says of a blob counts while the index of the remote is what it was, or has that blob.
type known struct {
	path     string
	contents map[oid.ID]content
	dirs     map[tree.State]dir
	pushed   map[oid.ID]restic.ID // snapshots, with the hash of the record that was pushed last
	files    map[restic.ID]file   // of snapshots that were there
	index    map[restic.ID]bool   // files of the index that were there
	unlisted map[restic.ID]int64  // packs that no index names, with when a prune has found them
	rows     []byte               // not written yet
	anew     bool                 // they are all there is
	cut      int64                // where a crash has cut the file, or somebody goes on writing; 0: nowhere
}

// A file is a snapshot as the remote has it.
type file struct {
	of         oid.ID // zero: it is not ours
	full       oid.ID // the snapshot that it lacks something of; zero: it is whole
	tags, tree restic.ID
}

// A content is a file as the remote has it.
type content struct {
	size  int64
	blobs []restic.ID
}

// A dir is a directory as the remote has it: its files, and what lies beside them, which for most is nothing.
type dir struct {
	files, beside restic.ID
}

// all reports whether something holds for each tree of a directory.
func (d dir) all(of func(restic.ID) bool) bool {
	return of(d.files) && (d.beside == restic.ID{} || of(d.beside))
}

const knownMagic = "rewind remote 3\n"

// contentRow is about how many bytes there are for a content.
const contentRow = 80

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newKnown(path string) *known {
	return &known{path: path, contents: map[oid.ID]content{}, dirs: map[tree.State]dir{}, pushed: map[oid.ID]restic.ID{},
		files: map[restic.ID]file{}, index: map[restic.ID]bool{}, unlisted: map[restic.ID]int64{}, rows: []byte(knownMagic), anew: true}
}

// loadKnown reads what is known. What cannot be read is not known.
func loadKnown(path string) *known {
	k := newKnown(path)
	data, err := durable.ReadFile(path, 1<<32)
	if err != nil || len(data) < len(knownMagic) || string(data[:len(knownMagic)]) != knownMagic {
		return k
	}
	k.rows, k.anew = nil, false
	k.contents = make(map[oid.ID]content, len(data)/contentRow)
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
	if len(rest) > 0 {
		k.cut = int64(len(data) - len(rest))
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
	case 'f':
		id, f := r.blob(), file{of: r.id(), tags: r.blob(), tree: r.blob()}
		if len(r.p) > 0 {
			f.full = r.id()
		}
		if !r.bad {
			k.files[id] = f
		}
	case 'g':
		if id := r.blob(); !r.bad {
			delete(k.files, id)
		}
	case 'u':
		id, at := r.blob(), int64(r.number())
		if !r.bad {
			k.unlisted[id] = at
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

func (k *known) addFile(id restic.ID, f file) {
	k.files[id] = f
	fields := [][]byte{id[:], field(f.of), f.tags[:], f.tree[:]}
	if !f.full.IsZero() {
		fields = append(fields, field(f.full))
	}
	k.row('f', fields...)
}

func (k *known) addIndex(names []restic.ID) {
	for _, id := range names {
		if !k.index[id] {
			k.index[id] = true
			k.row('i', id[:])
		}
	}
}

// lost reports whether a file of the index is gone: somebody has pruned, or it was lost. A tree may then be there whose
// contents are not.
func (k *known) lost(names []restic.ID) bool {
	there := map[restic.ID]bool{}
	for _, id := range names {
		there[id] = true
	}
	for id := range k.index {
		if !there[id] {
			return true
		}
	}
	return false
}

// other reports whether the index is another one than was known.
func (k *known) other(names []restic.ID) bool {
	for _, id := range names {
		if !k.index[id] {
			return true
		}
	}
	return k.lost(names)
}

// doubt forgets what is not so any more when a file of the index is gone: directories, snapshots that are not whole,
// and contents that are not there.
func (k *known) doubt(names []restic.ID, whole func(oid.ID) bool, there func(content) bool) {
	old := *k
	*k = *newKnown(k.path)
	for id, c := range old.contents {
		if there(c) {
			k.addContent(id, c)
		}
	}
	for id, hash := range old.pushed {
		if whole(id) {
			k.addPushed(id, hash)
		}
	}
	for id, f := range old.files {
		k.addFile(id, f)
	}
	for id, at := range old.unlisted {
		k.unlisted[id] = at
		k.row('u', id[:], number(uint64(at)))
	}
	k.addIndex(names)
}

// save appends what is new to the file, or writes it.
func (k *known) save() error {
	if len(k.rows) == 0 {
		return nil
	}
	rows := k.rows
	k.rows = nil
	if k.anew {
		k.anew = false
		return durable.WriteFile(k.path, rows, 0o600)
	}
	if k.cut > 0 { // who writes has the lock, so it was a crash
		if err := os.Truncate(k.path, k.cut); err != nil {
			return err
		}
		k.cut = 0
	}
	f, err := durable.OpenFile(k.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(rows)
	return errors.Join(err, f.Close())
}
