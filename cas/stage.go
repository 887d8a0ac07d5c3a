package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	// batchBytes of payload are looked up in the store at once: an open file
	// for each would cost as much as compressing it.
	batchBytes = 1 << 20
	// itemsEach are worth a goroutine: each has encoders of its own, whose
	// tables are fresh memory, and that costs more than compressing a few.
	itemsEach = 16
	// loadBytes of frames are written at once, while the next are being made:
	// this bounds a stage's memory, whatever is put into it. What is kept of each
	// beside its bytes counts too. A smaller stage is one transaction; when a stage
	// has turned out to be a large one, a third is written at once.
	loadBytes      = 10 << 20
	laterLoads     = 3
	loadBytesExtra = 256
	// payloadBytesMin is the least room made for a payload: most fit.
	payloadBytesMin = 16 << 10
)

// A Stage collects objects, hashed and compressed outside of any lock, until
// [Stage.Commit] makes them durable in one transaction. Any number of
// goroutines may put into it at once.
//
// A stage that grows large writes its contents to the store before Commit:
// without a record that names them they are harmless, another large stage finds
// them, and a sweep removes them when they are old. So its memory is bounded, but for
// less than a hundred bytes for each content.
type Stage struct {
	s    *Store
	anew bool // what the store has is read back, and stored again where that fails

	mu       sync.Mutex           // guards what follows, and is never held over work
	seen     idTable              // what was put; beside it where its frame was spilled to
	sweeps   uint64               // of the store, when it was first looked at
	looked   bool                 // it was
	batch    *batch               // payloads that nothing was done with yet
	ready    *load                // frames to be written
	spill    spill                // frames that are written, and have no rows yet
	large    map[oid.ID]largeFile // rows written at the end, after all their chunks
	flushing chan struct{}        // closed when the load under way is written; nil if none is
	err      error                // what failed: the stage can only be discarded
	early    sync.WaitGroup       // what was begun before Commit
}

// A batch is a run of payloads, one behind another in one buffer.
type batch struct {
	buf   []byte
	items []item
	based bool // an item has a base
}

// An item is a small object, or a chunk of a large one.
type item struct {
	id       oid.ID
	kind     oid.Kind
	base     oid.ID
	from, to int
	size     int  // of the payload
	framed   bool // what lies there is its frame
}

// A largeFile is the row of an object of several chunks, and the chunks.
type largeFile struct {
	row    object
	chunks []oid.ID
}

// Stage begins an empty stage. It costs nothing and holds nothing.
func (s *Store) Stage() *Stage {
	g := &Stage{s: s}
	g.reset()
	return g
}

func (g *Stage) reset() {
	g.seen, g.spill = idTable{}, spill{}
	g.large = make(map[oid.ID]largeFile)
	g.batch, g.ready, g.err, g.looked = &batch{}, &load{}, nil, false
}

// Has reports whether an object was put into the stage since it was last
// committed or discarded.
func (g *Stage) Has(id oid.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, large := g.large[id]
	return large || g.seen.note(id) != nil
}

// look notes, when the stage first relies on the store, how often that was
// swept. Commit looks again at what it relies on if it was swept since.
func (g *Stage) look(v *View) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.looked {
		g.looked, g.sweeps = true, v.Sweeps()
	}
}

// swept reports what was put and is not stored any more, because a sweep that
// spares nothing took it from under the stage.
func (g *Stage) swept(v *View) error {
	if !g.looked || g.sweeps == v.Sweeps() {
		return nil
	}
	for id := range g.seen.all() {
		if !v.Has(id) {
			return fmt.Errorf("object %v: %w", id, ErrSwept)
		}
	}
	return nil
}

// Put stages an object and returns its id; the caller may reuse payload. Base
// is the previous version of the same thing, or zero. If the store has base,
// the stage may store only the difference from it. What the store has already
// is not compressed again; Commit makes it young. If a sweep takes it before that,
// Commit gives [ErrSwept].
func (g *Stage) Put(ctx context.Context, kind oid.Kind, payload []byte, base oid.ID) (oid.ID, error) {
	if len(payload) > wholeMax {
		return g.putLarge(ctx, kind, bytes.NewReader(payload), int64(len(payload)))
	}
	it := item{id: g.s.meta.algorithm.Sum(kind, payload), kind: kind, base: base, size: len(payload)}
	return it.id, g.add(ctx, it, payload)
}

// framedMin is from what size on a frame from elsewhere is taken: what is less is worth more in a frame with others.
const framedMin = 16 << 10

// PutFrame is [Stage.Put] without a base, for who has a zstd frame that decodes to the payload, and has decoded it. It
// is stored as it is, if that is worth it and the store's reader is sure to read it (RFC 8878, 3.1.1.1).
func (g *Stage) PutFrame(ctx context.Context, kind oid.Kind, payload, frame []byte) (oid.ID, error) {
	var h zstd.Header
	if len(payload) < framedMin || len(payload) > wholeMax || len(frame) >= len(payload) || h.Decode(frame) != nil || !h.HasFCS || h.FrameContentSize != uint64(len(payload)) || h.DictionaryID != 0 {
		return g.Put(ctx, kind, payload, oid.ID{})
	}
	it := item{id: g.s.meta.algorithm.Sum(kind, payload), kind: kind, size: len(payload), framed: true}
	return it.id, g.add(ctx, it, frame)
}

// PutReader is [Stage.Put] for a payload that need not be in memory: exactly
// size bytes of r, or [ErrSize]. It may read one byte more to be sure.
func (g *Stage) PutReader(ctx context.Context, kind oid.Kind, r io.Reader, size int64, base oid.ID) (oid.ID, error) {
	if size < 0 {
		return oid.ID{}, fmt.Errorf("%w: %d bytes", ErrSize, size)
	}
	if size > wholeMax {
		return g.putLarge(ctx, kind, r, size)
	}
	buf := g.s.payload(size + 1)
	defer g.s.payloads.put(buf)
	payload := buf[:size+1]
	n, err := io.ReadFull(r, payload)
	if err == nil || int64(n) < size {
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: announced %d bytes, read %d", ErrSize, size, n)
		}
		return oid.ID{}, err
	}
	return g.Put(ctx, kind, payload[:size], base)
}

// putLarge stages the chunks as they come. Nothing says before the end which
// object they are, so its row waits for Commit.
func (g *Stage) putLarge(ctx context.Context, kind oid.Kind, r io.Reader, size int64) (oid.ID, error) {
	alg := g.s.meta.algorithm
	hasher := alg.NewHasher(kind, size)
	var f largeFile
	var ids []byte
	var read int64
	stage := func(raw []byte) error {
		it := item{id: alg.Sum(chunkKind, raw), kind: chunkKind, size: len(raw)}
		f.chunks, f.row.ref = append(f.chunks, it.id), it.id
		return g.add(ctx, it, raw)
	}
	err := g.s.cuts.cut(io.LimitReader(r, size), size, func(raw []byte) error {
		hasher.Write(raw)
		read += int64(len(raw))
		err := stage(raw)
		ids = f.row.ref.Append(ids)
		return err
	})
	if err == nil {
		err = exhausted(r, read, size)
	}
	if err == nil {
		err = stage(ids)
	}
	if err != nil {
		return oid.ID{}, err
	}
	f.row.kind, f.row.form, f.row.size = kind, list, uint64(size)
	id := hasher.Sum()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.large[id] = f
	return id, nil
}

// exhausted checks that r had size bytes and has no more.
func exhausted(r io.Reader, read, size int64) error {
	if read == size {
		var more [1]byte
		n, err := io.ReadFull(r, more[:])
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if n == 0 {
			return err
		}
		read++
	}
	return fmt.Errorf("%w: announced %d bytes, read %d", ErrSize, size, read)
}

// add copies the bytes of an item into the batch, and works the batch off when it is full.
func (g *Stage) add(ctx context.Context, it item, payload []byte) error {
	g.mu.Lock()
	if err := g.err; err != nil {
		g.mu.Unlock()
		return err
	}
	if g.seen.add(it.id) {
		g.mu.Unlock()
		return nil
	}
	b := g.batch
	if b.buf == nil {
		b.buf = make([]byte, 0, len(payload)+4<<10)
	}
	it.from = len(b.buf)
	b.buf = append(b.buf, payload...)
	it.to = len(b.buf)
	b.items = append(b.items, it)
	b.based = b.based || !it.base.IsZero()
	if len(b.buf) < g.s.parts.batch {
		g.mu.Unlock()
		return nil
	}
	g.batch = &batch{buf: g.s.buffer()}
	g.mu.Unlock()
	return g.workOff(ctx, b)
}

// workOff works a batch off. If that fails its payloads are gone, so the
// stage is done for: Commit must not record without them.
func (g *Stage) workOff(ctx context.Context, b *batch) error {
	err := g.work(ctx, b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if cap(b.buf) > batchBytes {
		g.s.buffers.put(b.buf)
	}
	g.err = errors.Join(g.err, err)
	return err
}

// payload returns memory for so many bytes, to be put back.
func (s *Store) payload(size int64) []byte {
	buf := s.payloads.take(func() []byte { return nil })
	if int64(cap(buf)) < size {
		buf = make([]byte, max(size, payloadBytesMin))
	}
	return buf
}

func (s *Store) buffer() []byte {
	return s.buffers.take(func() []byte { return make([]byte, 0, batchBytes+wholeMax) })[:0]
}

// work turns a batch into frames, and begins to write them if they are many.
func (g *Stage) work(ctx context.Context, b *batch) error {
	found, err := g.lookUp(ctx, b)
	if err != nil {
		return err
	}
	tasks := b.tasks(found, g.s.parts.group)
	made := make([][]staged, len(tasks))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(b.items)+itemsEach-1)/itemsEach) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(tasks)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				made[i] = g.s.prepareAll(b, tasks[i], found)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err // some frames were not made
	}
	l := &load{items: slices.Concat(made...), bytes: len(b.items) * loadBytesExtra}
	for _, list := range made {
		l.bytes += len(list[0].frame.row)
	}
	for i, it := range b.items {
		if found[i].here {
			l.items = append(l.items, it.staged())
		}
	}
	return g.deliver(ctx, l)
}

// Early begins to compress what was put so far, beside the caller: [Stage.Commit] then
// need not. It is for a stage to which little will be put before it is committed; more
// may be. What of it fails fails Commit.
func (g *Stage) Early(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.batch; len(b.items) > 0 {
		g.batch = &batch{}
		g.early.Go(func() { _ = g.workOff(ctx, b) })
	}
}

// Commit makes what is staged durable, and whatever fn records: if it returns
// nil all of it is, otherwise nothing that fn did is visible. fn may be nil, and
// can read what was staged. What fn records is one transaction; of a small stage
// the contents are in it too, a large one writes its contents and rows in
// transactions before it, which may stay after an error, until a sweep finds them
// old. Afterwards the stage is empty and can be used again; after an error it can
// only be discarded.
//
// Commit must not run at the same time as Put.
func (g *Stage) Commit(ctx context.Context, fn func(*Update) error) error {
	return g.end(ctx, func(u *Update) error {
		if err := g.swept(&u.View); err != nil || fn == nil {
			return err
		}
		return fn(u)
	}, g.reset)
}

// Flush makes what is staged durable without a record of it. The stage goes on
// knowing it: [Stage.Has] reports it, and [Stage.Commit] looks whether a sweep
// has left it. Flush must not run at the same time as Put.
func (g *Stage) Flush(ctx context.Context) error {
	return g.end(ctx, func(u *Update) error {
		g.look(&u.View)
		return nil
	}, func() {
		for id := range g.large {
			g.seen.add(id)
		}
		clear(g.large)
		g.seen.forget()
		g.ready, g.spill = &load{}, spill{}
	})
}

// end writes all that is staged, the last of it in a transaction with what fn writes,
// and then calls done.
func (g *Stage) end(ctx context.Context, fn func(*Update) error, done func()) error {
	err := g.finish(ctx)
	if err == nil {
		err = g.s.Update(ctx, func(u *Update) error {
			if err := g.writeRest(u); err != nil {
				return err
			}
			return fn(u)
		})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err = err; err == nil {
		done()
	}
	return err
}

// Discard forgets what was staged. What a large stage has written stays: the next
// one that is given the same contents finds it, and a sweep removes it when it is old.
func (g *Stage) Discard() {
	g.early.Wait()
	g.settle()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reset()
}
