package cas

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/zeebo/blake3"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// known returns n bytes that never change: BLAKE3's output for a fixed input.
func known(n int) []byte {
	p := make([]byte, n)
	h := blake3.New()
	h.WriteString("rewind cut points")
	h.Digest().Read(p)
	return p
}

// The cuts are part of the format. If this test fails the library cuts
// elsewhere than the stores in use, which would then store everything again.
func TestCutsAreFrozen(t *testing.T) {
	for _, c := range []struct {
		size          int
		min, max, avg int
		want          string
	}{
		{1 << 20, 16 << 10, 256 << 10, 64 << 10, smallCuts},
		{12 << 20, 64 << 10, 1 << 20, 256 << 10, largeCuts},
	} {
		var cuts cutters
		var lengths []string
		var joined []byte
		p := known(c.size)
		err := cuts.cut(iotest.HalfReader(bytes.NewReader(p)), int64(c.size), func(raw []byte) error {
			if last := len(joined)+len(raw) == c.size; (len(raw) < c.min && !last) || len(raw) > c.max {
				t.Errorf("a chunk of %d bytes", len(raw))
			}
			lengths = append(lengths, fmt.Sprint(len(raw)))
			joined = append(joined, raw...)
			return nil
		})
		if err != nil || !bytes.Equal(joined, p) {
			t.Fatalf("the chunks are not the content: %v", err)
		}
		if avg := c.size / len(lengths); avg < c.avg/2 || avg > c.avg*2 {
			t.Errorf("chunks of %d bytes on average", avg)
		}
		if got := strings.Join(lengths, " "); got != c.want {
			t.Errorf("%d bytes are cut into\n%s\nwant\n%s", c.size, got, c.want)
		}
	}
}

// The bytes of the rows, as docs/format.md gives them.
func TestRowsAreFrozen(t *testing.T) {
	id := oid.SHA1.Sum(oid.Blob, []byte("x")).Bytes()
	x := oid.SHA1.Sum(oid.Tree, []byte("x"))
	m := meta{version: 1, algorithm: oid.SHA1, id: [16]byte{1, 2, 3}, created: time.Unix(1, 2)}
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"meta", m.encode(), metaRow},
		{"whole", object{kind: oid.Blob, written: 7, size: 3, seq: 1, stored: 2}.encode(id), wholeRow},
		{"delta", object{kind: oid.Tree, form: delta, written: 7, size: 3, seq: 1, stored: 2, ref: x}.encode(id), deltaRow},
		{"part", object{kind: oid.Blob, form: part, written: 7, size: 3, seq: 1, stored: 2, at: 4}.encode(id), partRow},
		{"list", object{kind: oid.Blob, form: list, written: 7, size: 8, ref: x}.encode(id), listRow},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s = %s, want %s", c.name, got, c.want)
		}
	}
}

func TestANewerFormatIsNamed(t *testing.T) {
	s := newStore(t)
	err := s.transact(t.Context(), durable.Exclusive, func(f *file) error {
		m := s.meta
		m.version = 7
		return f.tx.Bucket(metaBucket).Put(metaKey, m.encode())
	})
	must(t, err)
	_, err = Open(t.Context(), s.Path(), nil)
	if !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), "version 7") || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("Open gives %v", err)
	}
	if err := s.Update(t.Context(), func(*Update) error { return nil }); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("Update gives %v", err)
	}
}

func FuzzRows(f *testing.F) {
	id := oid.SHA1.Sum(oid.Blob, nil).Bytes()
	m := meta{version: 1, algorithm: oid.SHA256}
	x := oid.SHA1.Sum(oid.Tree, nil)
	f.Add(id, object{kind: oid.Tree}.encode(id))
	f.Add(id, object{form: delta, ref: x}.encode(id))
	f.Add(id, object{form: list, ref: x}.encode(id))
	f.Add([]byte{}, m.encode())
	f.Fuzz(func(t *testing.T, key, row []byte) {
		for _, value := range [][]byte{row, seal(key, bytes.Clone(row))} { // and past the checksum
			if o, err := decodeObject(key, value); err == nil && !bytes.Equal(o.encode(key), value) {
				t.Errorf("object row %x decodes to %+v", value, o)
			}
		}
		if m, err := decodeMeta(row); err == nil && !bytes.Equal(m.encode(), row) {
			t.Errorf("meta %x decodes to %+v", row, m)
		}
	})
}

func FuzzManifest(f *testing.F) {
	m := manifest{first: 7, author: [authorBytes]byte{1, 2, 3}, written: 1 << 40}
	x, y := oid.SHA1.Sum(oid.Tree, nil), oid.SHA1.Sum(oid.Blob, nil)
	own, shared := &frame{seq: 8}, &frame{seq: 7}
	p := m.encode([]*staged{{id: x, size: 5, stored: 3, frame: own}, {id: x, kind: oid.Blob, size: 9, stored: 2, form: delta, base: y, frame: own},
		{id: y, kind: oid.Blob, form: part, size: 3, stored: 1, frame: shared}, {id: x, kind: oid.Blob, form: part, size: 3, stored: 1, at: 3, frame: shared}})
	f.Add(m.author[:], p)
	f.Add(m.author[:], p[:len(p)-sealBytes])
	f.Fuzz(func(t *testing.T, key, row []byte) {
		for _, value := range [][]byte{row, seal(key, bytes.Clone(row))} { // and past the checksum
			m, listed, ok := decodeManifest(key, value, 20)
			if !ok {
				continue
			}
			var written []*staged
			for _, c := range listed {
				written = append(written, &staged{id: c.id, kind: c.kind, form: c.form, size: uint32(c.size), at: c.at, stored: c.stored, base: c.ref, frame: &frame{seq: c.seq}})
			}
			if !bytes.Equal(m.encode(written), value) {
				t.Errorf("manifest %x decodes to %+v, %+v", value, m, listed)
			}
		}
	})
}

func FuzzFrame(f *testing.F) {
	var c codecs
	base := bytes.Repeat([]byte("a line of text\n"), 50)
	f.Add(c.encode(base), []byte(nil), 750)
	f.Add(c.encodeDelta(oid.Blob, append(base, 'x'), base), base, 751)
	f.Add(c.encode([]byte{1, 2, 3}), []byte(nil), 3)
	f.Fuzz(func(t *testing.T, row, base []byte, size int) {
		want := int(binary.BigEndian.Uint16([]byte{byte(size >> 8), byte(size)}))
		raw, err := c.decode(row, base, nil, want)
		if into, again := c.decode(row, base, make([]byte, 7, 1<<10), want); !bytes.Equal(raw, into) || (err == nil) != (again == nil) {
			t.Errorf("into memory: %v, else %v", again, err)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("error %v", err)
		}
		if err == nil && len(raw) != size&0xffff {
			t.Errorf("%d bytes instead of %d", len(raw), size)
		}
	})
}
