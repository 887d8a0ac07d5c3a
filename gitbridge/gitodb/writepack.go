package gitodb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// packWorkers compress at the same time, each one object in memory.
const packWorkers = 2

// streamBytesMin is the size from which an object is compressed straight into
// the pack, instead of in memory beside others.
const streamBytesMin = 4 << 20

// WritePack writes objects into one new pack, whether they are elsewhere in the
// database or not. Objects are stored whole, without deltas: git's next repack
// finds those. The pack is durable when WritePack returns its name, which is
// its path without an extension; before, and if it fails, none of it can be seen.
// Without objects there is no pack and no name. With [Options.Keep] the pack is
// kept until [DB.Release].
func (d *DB) WritePack(ctx context.Context, ids []oid.ID, source Source) (name string, err error) {
	return d.writePack(ctx, ids, source, d.opt.Keep)
}

func (d *DB) writePack(ctx context.Context, ids []oid.ID, source Source, keep bool) (name string, err error) {
	ids = distinct(ids)
	if len(ids) == 0 {
		return "", nil
	}
	dir := filepath.Join(d.dir, "pack")
	t, err := d.createTemp(dir, "tmp_pack_")
	if err != nil {
		return "", fmt.Errorf("write pack: %w", err)
	}
	defer t.abandon()
	w := &packWriter{db: d, hash: d.alg.Hash(), keep: keep, ids: ids, list: make([]packed, 0, len(ids))}
	w.out = bufio.NewWriterSize(io.MultiWriter(t.f, w.hash), 256<<10)
	if err := w.fill(ctx, source); err != nil {
		return "", fmt.Errorf("write pack: %w", err)
	}
	if d.opt.Ready != nil {
		if err := d.opt.Ready(ctx); err != nil {
			return "", fmt.Errorf("write pack: %w", err)
		}
	}
	return w.finish(t, dir)
}

// distinct returns ids without repetitions, in their order: neighbours are
// often near each other where the source reads them.
func distinct(ids []oid.ID) []oid.ID {
	x := oid.NewIndex(ids)
	if x.Len() == len(ids) {
		return ids
	}
	out := make([]oid.ID, 0, x.Len())
	for i, id := range ids {
		if first, _ := x.Place(id); first == i {
			out = append(out, id)
		}
	}
	return out
}

// A packed is an object's line in a pack's index. Its id is in the list of those that
// the pack has: a pack of a first snapshot may have millions.
type packed struct {
	off   int64
	crc   uint32
	place uint32
}

// A packWriter appends objects to a pack that has no name yet.
type packWriter struct {
	db   *DB
	keep bool

	mu   sync.Mutex // held for each append
	out  *bufio.Writer
	hash hash.Hash // of everything that left out
	off  int64
	ids  []oid.ID // what is to be written; they are distinct
	list []packed // in the order in which it was written
}

// fill writes the pack's head and its objects, about in the order of their ids.
func (w *packWriter) fill(ctx context.Context, source Source) error {
	head := append([]byte("PACK"), 0, 0, 0, 2)
	head = binary.BigEndian.AppendUint32(head, uint32(len(w.ids)))
	w.off = int64(len(head))
	if _, err := w.out.Write(head); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range packWorkers {
		workers.Go(func() {
			var buf bytes.Buffer
			for i := next.Add(1) - 1; int(i) < len(w.ids) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := w.add(int(i), source, &buf); err != nil {
					stop(fmt.Errorf("%v: %w", w.ids[i], err))
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// add appends the object in one place of the list, which it compresses before it
// takes the lock, unless it is large.
func (w *packWriter) add(place int, source Source, buf *bytes.Buffer) (err error) {
	id := w.ids[place]
	o, err := source(id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Data.Close()) }()
	if o.Size >= streamBytesMin {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.append(place, func(out io.Writer) error { return w.deflate(out, id, o) })
	}
	buf.Reset()
	if err := w.deflate(buf, id, o); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.append(place, func(out io.Writer) error {
		_, err := out.Write(buf.Bytes())
		return err
	})
}

// append notes where an object begins and lets f write it.
func (w *packWriter) append(place int, f func(io.Writer) error) error {
	crc := crc32.NewIEEE()
	n := &counter{w: io.MultiWriter(w.out, crc)}
	if err := f(n); err != nil {
		return err
	}
	w.list = append(w.list, packed{w.off, crc.Sum32(), uint32(place)})
	w.off += n.n
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// deflate writes an object's entry: its kind and size, then its payload.
func (w *packWriter) deflate(out io.Writer, id oid.ID, o Object) error {
	var head []byte
	b, rest := byte(o.Kind)<<4|byte(o.Size&15), o.Size>>4
	for ; rest > 0; rest >>= 7 {
		head = append(head, b|0x80)
		b = byte(rest & 0x7f)
	}
	if _, err := out.Write(append(head, b)); err != nil {
		return err
	}
	z := w.db.deflate.begin(out)
	defer w.db.deflate.pool.Put(z)
	if err := w.db.copyVerified(z, id, o); err != nil {
		return err
	}
	return z.Close()
}

// finish ends the pack, writes its index and names both, the index last: git
// takes a pack for there when its index is.
func (w *packWriter) finish(t *temp, dir string) (name string, err error) {
	if err := w.out.Flush(); err != nil {
		return "", err
	}
	sum := w.hash.Sum(nil)
	if _, err := t.f.Write(sum); err != nil {
		return "", err
	}
	x, err := w.db.createTemp(dir, "tmp_idx_")
	if err != nil {
		return "", err
	}
	defer x.abandon()
	if _, err := x.f.Write(encodeIndex(w.ids, w.list, sum, w.db.alg)); err != nil {
		return "", err
	}
	if err := x.f.Sync(); err != nil { // before anything has its name: there may be no room
		return "", err
	}
	called := sum
	if w.keep {
		// A collection may be about to remove a pack of the same bytes that nobody keeps
		// any more, by its name: this one has another.
		h := w.db.alg.Hash()
		h.Write(binary.BigEndian.AppendUint64(sum[:len(sum):len(sum)], rand.Uint64()))
		called = h.Sum(nil)
	}
	base := filepath.Join(dir, "pack-"+hex.EncodeToString(called))
	if w.keep {
		if err := w.db.keep(base); err != nil {
			return "", err
		}
	}
	err = t.install(base+".pack", true, w.db.opt.Share)
	if err == nil {
		err = x.install(base+".idx", true, w.db.opt.Share)
	}
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if err != nil {
		w.db.Release(base)
		return "", err
	}
	return base, nil
}

// encodeIndex returns a pack's index of version 2 over some of the ids. It sorts the
// list.
func encodeIndex(ids []oid.ID, list []packed, packSum []byte, alg oid.Algorithm) []byte {
	slices.SortFunc(list, func(a, b packed) int { return ids[a.place].Compare(ids[b.place]) })
	size := alg.Size()
	p := make([]byte, 0, len(idxMagic)+256*4+len(list)*(size+4+4)+2*size)
	p = append(p, idxMagic...)
	var counts [256]uint32
	var first [32]byte
	for _, e := range list {
		counts[ids[e.place].Append(first[:0])[0]]++
	}
	n := uint32(0)
	for _, count := range counts {
		n += count
		p = binary.BigEndian.AppendUint32(p, n)
	}
	for _, e := range list {
		p = ids[e.place].Append(p)
	}
	for _, e := range list {
		p = binary.BigEndian.AppendUint32(p, e.crc)
	}
	var wide []byte
	for _, e := range list {
		if e.off < 1<<31 {
			p = binary.BigEndian.AppendUint32(p, uint32(e.off))
			continue
		}
		p = binary.BigEndian.AppendUint32(p, 1<<31|uint32(len(wide)/8))
		wide = binary.BigEndian.AppendUint64(wide, uint64(e.off))
	}
	p = append(p, wide...)
	p = append(p, packSum...)
	h := alg.Hash()
	h.Write(p)
	return h.Sum(p)
}
