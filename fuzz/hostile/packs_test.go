//go:build linux

package hostile

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A packed object is one of a pack that is made by hand: what it says of itself
// need not be so.
type packed struct {
	id     string // in the index; "" is none
	kind   int    // 1 commit, 2 tree, 3 blob, 6 a delta by offset, 7 one by id
	size   int    // that it claims
	before int    // of a delta by offset: so many bytes before it
	base   string // of a delta by id
	data   []byte
	at     int64 // in the index, if not 0
}

func deflated(p []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(p)
	_ = z.Close()
	return b.Bytes()
}

// varint encodes a size as deltas have it.
func varint(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// header encodes kind and size as a pack has them, and where the base is.
func (o *packed) header() []byte {
	n := o.size
	out := []byte{byte(o.kind<<4 | n&15)}
	for n >>= 4; n > 0; n >>= 7 {
		out[len(out)-1] |= 0x80
		out = append(out, byte(n&0x7f))
	}
	if o.kind == 7 {
		raw, _ := hex.DecodeString(o.base)
		return append(out, raw...)
	}
	if o.kind == 6 {
		var far []byte
		for n := o.before; ; n = n>>7 - 1 {
			far = append(far, byte(n&0x7f)|0x80)
			if n < 0x80 {
				break
			}
		}
		far[0] &= 0x7f
		slices.Reverse(far)
		out = append(out, far...)
	}
	return out
}

// pack writes a pack with its index. Fan changes the index's first table.
func (w *world) pack(objects []packed, fan func(table []uint32)) {
	w.Helper()
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	for i := range objects {
		o := &objects[i]
		if o.at == 0 {
			o.at = int64(len(pack))
		}
		pack = append(append(pack, o.header()...), deflated(o.data)...)
	}
	sum := sha1.Sum(pack)
	pack = append(pack, sum[:]...)
	name := w.at(".git/objects/pack/pack-" + hex.EncodeToString(sum[:]))
	w.must(os.MkdirAll(filepath.Dir(name), 0o755))
	w.must(os.WriteFile(name+".pack", pack, 0o444))
	w.must(os.WriteFile(name+".idx", packIndex(objects, sum[:], fan), 0o444))
}

func packIndex(objects []packed, packSum []byte, fan func(table []uint32)) []byte {
	listed := slices.DeleteFunc(slices.Clone(objects), func(o packed) bool { return o.id == "" })
	slices.SortFunc(listed, func(a, b packed) int { return strings.Compare(a.id, b.id) })
	table := make([]uint32, 256)
	var ids, sums, offsets, far []byte
	for _, o := range listed {
		raw, _ := hex.DecodeString(o.id)
		for b := int(raw[0]); b < 256; b++ {
			table[b]++
		}
		ids = append(ids, raw...)
		sums = binary.BigEndian.AppendUint32(sums, crc32.ChecksumIEEE(o.data))
		if o.at >= 1<<31 {
			offsets = binary.BigEndian.AppendUint32(offsets, uint32(len(far)/8)|1<<31)
			far = binary.BigEndian.AppendUint64(far, uint64(o.at))
		} else {
			offsets = binary.BigEndian.AppendUint32(offsets, uint32(o.at))
		}
	}
	if fan != nil {
		fan(table)
	}
	out := []byte("\xfftOc\x00\x00\x00\x02")
	for _, n := range table {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	out = slices.Concat(out, ids, sums, offsets, far, packSum)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// name is an id that no object has.
func name(n int) string { return fmt.Sprintf("%08x%032d", 0x10000000+n*0x1001, 7) }

// grow is a delta that repeats the whole of its base.
func grow(size, times int) []byte {
	out := slices.Concat(varint(size), varint(size*times))
	for range times {
		for at := 0; at < size; at += 0xffffff {
			n := min(size-at, 0xffffff)
			out = append(out, 0xff, byte(at), byte(at>>8), byte(at>>16), byte(at>>24), byte(n), byte(n>>8), byte(n>>16))
		}
	}
	return out
}

// deltas is a chain of so many deltas on a tree.
func (w *world) deltas(levels, times int) string {
	tree := entry("100644", "file", w.blob())
	objects := []packed{{id: name(0), kind: 2, size: len(tree), data: tree}}
	size := len(tree)
	for i := range levels {
		d := grow(size, times)
		objects = append(objects, packed{id: name(i + 1), kind: 7, size: len(d), base: name(i), data: d})
		size *= times
	}
	w.pack(objects, nil)
	return name(levels)
}

// near makes a delta whose base is itself, or somewhere it cannot be.
func (w *world) near(before int) string {
	d := grow(10, 1)
	w.pack([]packed{{id: name(1), kind: 3, size: 1, data: []byte("x")}, {id: name(0), kind: 6, size: len(d), before: before, data: d}}, nil)
	return name(0)
}

func (w *world) onePacked(change func(o *packed), fan func(table []uint32)) string {
	tree := entry("100644", "file", w.blob())
	o := packed{id: name(0), kind: 2, size: len(tree), data: tree}
	if change != nil {
		change(&o)
	}
	w.pack([]packed{o}, fan)
	return name(0)
}

var packs = map[string]func(w *world) string{
	"deltas, 5,000 deep":  func(w *world) string { return w.deltas(5000, 1) },
	"deltas, a bomb":      func(w *world) string { return w.deltas(8, 32) },
	"a delta of its own":  func(w *world) string { return w.near(0) },
	"a delta of nowhere":  func(w *world) string { return w.near(1 << 30) },
	"a delta of the head": func(w *world) string { return w.near(20) },
	"a circle of two": func(w *world) string {
		d := grow(10, 1)
		w.pack([]packed{{id: name(0), kind: 7, size: len(d), base: name(1), data: d}, {id: name(1), kind: 7, size: len(d), base: name(0), data: d}}, nil)
		return name(0)
	},
	"a delta that lies of its size": func(w *world) string {
		d := slices.Concat(varint(10), varint(1<<60), []byte{0x91, 0, 1})
		w.pack([]packed{{id: name(0), kind: 7, size: len(d), base: name(1), data: d}, {id: name(1), kind: 3, size: 10, data: make([]byte, 10)}}, nil)
		return name(0)
	},
	"an object that claims 2^60": func(w *world) string { return w.onePacked(func(o *packed) { o.size = 1 << 60 }, nil) },
	"an offset beyond the pack":  func(w *world) string { return w.onePacked(func(o *packed) { o.at = 1 << 30 }, nil) },
	"an offset of 2^62":          func(w *world) string { return w.onePacked(func(o *packed) { o.at = 1 << 62 }, nil) },
	"an offset in the trailer":   func(w *world) string { return w.onePacked(func(o *packed) { o.at = 60 }, nil) },
	"a fan of 2^32": func(w *world) string {
		return w.onePacked(nil, func(table []uint32) {
			for i := range table {
				table[i] = 1<<32 - 1
			}
		})
	},
	"a fan that falls": func(w *world) string {
		return w.onePacked(nil, func(table []uint32) { table[3], table[16], table[17] = 7, 1<<31, 0 })
	},
	"a kind that is none": func(w *world) string { return w.onePacked(func(o *packed) { o.kind = 5 }, nil) },
}

func TestNoPackTakesMoreThanItsBound(t *testing.T) {
	kinds := map[string]kind{}
	for what, make := range packs {
		deep := what == "deltas, 5,000 deep"
		kinds[what] = kind{make: func(w *world) { w.offer(make(w)) }, slow: deep}
		kinds[what+", the head"] = kind{make: func(w *world) { w.headed(make(w)) }, slow: deep}
	}
	all(t, kinds)
}
