package restic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/restic/chunker"
)

const (
	packBytes  = 16 << 20 // a pack goes when it has so many
	packBlobs  = 1 << 16
	uploads    = 4       // packs that are on their way at once
	indexPacks = 32      // so many packs get a file of the index while a push goes on
	indexBlobs = 1 << 15 // a file of the index names about so many, and has below 8 MiB
	wholeBytes = chunker.MinSize

	benchesMost = 16 // that are kept
)

// A Writer puts blobs into packs. Put may be called by many goroutines; Flush by one, when
// they have returned. What it wrote is in the repository when Flush returned nil, and in
// parts before; nothing names it then.
type Writer struct {
	repo *Repo
	ctx  context.Context
	stop context.CancelCauseFunc
	slot chan struct{}
	wg   sync.WaitGroup

	unindexed bool // who writes puts the packs into the index
	treeMost  int  // bytes of a tree

	// Added is told of every blob's sealed bytes that are new.
	Added func(bytes int)

	benches spare[bench]
	packs   spare[packing] // empty ones

	mu    sync.Mutex // guards what follows
	open  [2]*packing
	taken [2]map[ID]bool // on their way
	done  []indexPack    // there, and in no file of the index yet
	index sync.Mutex     // held by who writes a file of the index
}

// A packing is a pack in the making.
type packing struct {
	data   []byte
	header []byte
	blobs  []indexBlob
}

// A bench is memory that one blob after another is made in: to take fresh memory from the
// system costs as much as to compress what is put there.
type bench struct {
	plain, packed, sealed []byte
	cut                   *chunker.Chunker
}

// A spare is what may be used again. A sync.Pool would give it back at each collection.
type spare[T any] chan *T

func (s spare[T]) get() *T {
	select {
	case v := <-s:
		return v
	default:
		return new(T)
	}
}

func (s spare[T]) put(v *T) {
	select {
	case s <- v:
	default:
	}
}

// Writer begins to write. It ends with the context.
func (r *Repo) Writer(ctx context.Context) *Writer {
	w := &Writer{repo: r, treeMost: blobMost, slot: make(chan struct{}, uploads), taken: [2]map[ID]bool{{}, {}}}
	w.benches, w.packs = make(spare[bench], benchesMost), make(spare[packing], uploads)
	w.ctx, w.stop = context.WithCancelCause(ctx)
	return w
}

// Put stores a blob unless it is there, and returns its id.
func (w *Writer) Put(k Kind, plain []byte) (ID, error) {
	b := w.benches.get()
	defer w.benches.put(b)
	return w.put(b, k, plain)
}

func (w *Writer) put(b *bench, k Kind, plain []byte) (ID, error) {
	id := ID(sha256.Sum256(plain))
	if err := context.Cause(w.ctx); err != nil {
		return id, err
	}
	if w.repo.Has(k, id) {
		return id, nil
	}
	w.mu.Lock()
	known := w.taken[k][id]
	w.taken[k][id] = true
	w.mu.Unlock()
	if known {
		return id, nil
	}
	kind, size, text := byte(k), uint32(0), plain
	b.packed = w.repo.pack.EncodeAll(plain, b.packed[:0])
	if len(b.packed) < len(plain) {
		kind, size, text = kind+2, uint32(len(plain)), b.packed
	}
	b.sealed = w.repo.key.seal(b.sealed[:0], text)
	if w.Added != nil {
		w.Added(len(b.sealed))
	}
	return id, w.add(id, kind, size, b.sealed)
}

// add puts a sealed blob into the pack of its kind.
func (w *Writer) add(id ID, kind byte, size uint32, sealed []byte) error {
	k := kind & 1
	w.mu.Lock()
	p := w.open[k]
	if p == nil {
		p = w.packs.get()
		if p.data == nil { // fresh memory, which costs only what is written there
			p.data = make([]byte, 0, packBytes+packBytes/16)
		}
		w.open[k] = p
	}
	p.add(id, kind, size, sealed)
	full := len(p.data) >= packBytes || len(p.blobs) >= packBlobs
	if full {
		w.open[k] = nil
	}
	w.mu.Unlock()
	if full {
		return w.upload(p)
	}
	return nil
}

func (p *packing) add(id ID, kind byte, size uint32, sealed []byte) {
	b := indexBlob{ID: id, Type: Kind(kind & 1).String(), Offset: uint32(len(p.data)), Length: uint32(len(sealed)), Plain: size}
	p.data = append(p.data, sealed...)
	p.header = binary.LittleEndian.AppendUint32(append(p.header, kind), b.Length)
	if size > 0 {
		p.header = binary.LittleEndian.AppendUint32(p.header, size)
	}
	p.header = append(p.header, id[:]...)
	p.blobs = append(p.blobs, b)
}

// upload brings a full pack away, beside the caller where few are on their way.
func (w *Writer) upload(p *packing) error {
	select {
	case w.slot <- struct{}{}:
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
	w.wg.Go(func() {
		defer func() { <-w.slot }()
		if err := w.putPack(p); err != nil {
			w.stop(err)
			return
		}
		p.data, p.header, p.blobs = p.data[:0], p.header[:0], nil // the index keeps the blobs
		w.packs.put(p)
	})
	return nil
}

func (w *Writer) putPack(p *packing) error {
	header := w.repo.key.seal(nil, p.header)
	data := append(append(p.data, header...), 0, 0, 0, 0)
	p.data = data
	binary.LittleEndian.PutUint32(data[len(data)-4:], uint32(len(header)))
	pack := ID(sha256.Sum256(data))
	if err := put(w.ctx, w.repo.place, "data/"+packName(pack), data); err != nil {
		return err
	}
	w.mu.Lock()
	w.done = append(w.done, indexPack{ID: pack, Blobs: p.blobs})
	many := len(w.done) >= indexPacks && !w.unindexed
	w.mu.Unlock()
	if many {
		return w.putIndex()
	}
	return nil
}

// putIndex writes files of the index for the packs that are there.
func (w *Writer) putIndex() error {
	w.index.Lock()
	defer w.index.Unlock()
	for {
		w.mu.Lock()
		var f indexFile
		n := 0
		for len(w.done) > 0 && (n == 0 || n+len(w.done[0].Blobs) <= indexBlobs) {
			n += len(w.done[0].Blobs)
			f.Packs, w.done = append(f.Packs, w.done[0]), w.done[1:]
		}
		w.mu.Unlock()
		if n == 0 {
			return nil
		}
		id, err := w.repo.putJSON(w.ctx, "index", f)
		if err != nil {
			return err
		}
		w.repo.mu.Lock()
		err = w.repo.index.add(id, &f)
		w.repo.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Flush brings away what is left, and then what names it. Afterwards the writer may be used on.
func (w *Writer) Flush() error {
	for k, p := range w.open {
		if p == nil {
			continue
		}
		w.open[k] = nil
		if err := w.upload(p); err != nil {
			break
		}
	}
	w.wg.Wait()
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	if w.unindexed {
		return nil
	}
	if err := w.putIndex(); err != nil {
		return err
	}
	w.taken = [2]map[ID]bool{{}, {}}
	return nil
}

// Close ends the writer. What was not flushed is nowhere, or nothing names it.
func (w *Writer) Close() {
	w.stop(errors.New("the writer was closed"))
	w.wg.Wait()
}

// PutContent stores a content that is in memory, as PutReader does.
func (w *Writer) PutContent(payload []byte) ([]ID, error) {
	if n := int64(len(payload)); n == 0 || n > wholeBytes {
		return w.PutReader(bytes.NewReader(payload), n)
	}
	id, err := w.Put(Data, payload)
	return []ID{id}, err
}

// PutReader stores exactly size bytes of a content, cut where restic would, and returns
// the blobs.
func (w *Writer) PutReader(r io.Reader, size int64) ([]ID, error) {
	b := w.benches.get()
	defer w.benches.put(b)
	if size <= wholeBytes {
		return w.putWhole(b, r, size)
	}
	ids, n := []ID{}, int64(0)
	if b.cut == nil {
		b.cut = chunker.New(r, w.repo.config.Polynomial)
	} else {
		b.cut.Reset(r, w.repo.config.Polynomial)
	}
	if cap(b.plain) < chunker.MaxSize {
		b.plain = make([]byte, 0, chunker.MaxSize)
	}
	for {
		c, err := b.cut.Next(b.plain[:chunker.MaxSize])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		id, err := w.put(b, Data, c.Data)
		if err != nil {
			return nil, err
		}
		ids, n = append(ids, id), n+int64(c.Length)
	}
	if n != size {
		return nil, fmt.Errorf("a content has %d bytes, and should have %d", n, size)
	}
	return ids, nil
}

// putWhole stores a content that is one blob, or none if it is empty.
func (w *Writer) putWhole(b *bench, r io.Reader, size int64) ([]ID, error) {
	b.plain = slices.Grow(b.plain[:0], int(size)+1)[:size+1]
	n, err := io.ReadFull(r, b.plain)
	if err == nil || n < int(size) && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)) {
		return []ID{}, fmt.Errorf("a content has not the %d bytes that it should", size)
	}
	if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return []ID{}, err
	}
	if size == 0 {
		return []ID{}, nil
	}
	id, err := w.put(b, Data, b.plain[:size])
	return []ID{id}, err
}
