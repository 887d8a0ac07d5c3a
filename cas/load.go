package cas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

const (
	// fillPercent suits a table whose keys only grow.
	fillPercent = 0.95
	// dataFillPercent: a row of the bucket data is never replaced by a longer one.
	dataFillPercent = 1
	// renewSeconds: a write time younger than this is not renewed, to spare the
	// page. A sweep allows for it.
	renewSeconds = 10 * 60
)

// A load is what one transaction writes of a stage.
type load struct {
	objects []stagedObject
	chunks  []stagedChunk
	bytes   int // of frames, and of what is kept beside them
}

type stagedObject struct {
	id     oid.ID
	row    object
	chunks []digest // of a large object
}

// A stagedChunk without a row was found in the store.
type stagedChunk struct {
	digest digest
	raw    uint32
	base   digest
	row    []byte // codec and frame
}

// deliver adds frames to those ready to be written. When they are many the
// whole load is written in the background, one at a time; whoever fills the
// next before that is done waits, which bounds the memory.
func (g *Stage) deliver(ctx context.Context, l *load) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready.objects = append(g.ready.objects, l.objects...)
	g.ready.chunks = append(g.ready.chunks, l.chunks...)
	g.ready.bytes += l.bytes
	for g.ready.bytes >= g.s.parts.load && g.flushing != nil {
		wait := g.flushing
		g.mu.Unlock()
		<-wait
		g.mu.Lock()
	}
	if g.ready.bytes < g.s.parts.load || g.err != nil {
		return g.err
	}
	full, done := g.ready, make(chan struct{})
	g.ready, g.flushing = &load{}, done
	go g.flush(ctx, full, done)
	return nil
}

// flush spills a load, whatever becomes of ctx.
func (g *Stage) flush(ctx context.Context, l *load, done chan struct{}) {
	err := g.indexOthers(ctx)
	switch {
	case err != nil:
	case g.anew: // there are rows already
		err = g.s.Update(context.WithoutCancel(ctx), func(u *Update) error { return u.write(l, g.anew) })
	default:
		err = g.spillLoad(context.WithoutCancel(ctx), l)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = errors.Join(g.err, err)
	g.flushing = nil
	close(done)
}

// settle waits until nothing is being written.
func (g *Stage) settle() {
	g.mu.Lock()
	wait := g.flushing
	g.mu.Unlock()
	if wait != nil {
		<-wait
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

// writeRest writes what is not in the store yet when a stage is made durable. The
// chunks of the large objects are all there then.
func (g *Stage) writeRest(u *Update) error {
	for id, f := range g.large {
		g.ready.objects = append(g.ready.objects, stagedObject{id, f.row, f.chunks})
	}
	return u.write(g.ready, g.anew)
}

// finish works off the last batch. If frames lie in the store without rows, the
// last ones are put there too, and all get their rows.
func (g *Stage) finish(ctx context.Context) error {
	g.early.Wait()
	if len(g.batch.items) > 0 {
		_ = g.workOff(ctx, g.batch)
		g.batch = &batch{}
	}
	g.settle()
	if g.err != nil || g.spill.chunks.n == 0 {
		return g.err
	}
	if len(g.ready.chunks) > 0 {
		if err := g.spillLoad(ctx, g.ready); err != nil {
			return err
		}
		g.ready = &load{}
	}
	return g.index(ctx)
}

// write puts a load into the buckets: frames nearly in the order they came, so
// that they lie together, and rows in the order of their keys, so that each page
// is met once. With anew a frame replaces the one that is there.
func (u *Update) write(l *load, anew bool) error {
	if len(l.chunks)+len(l.objects) == 0 {
		return nil
	}
	now := u.s.now().Unix()
	rows, err := u.writeFrames(l.chunks, anew, now)
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b keyed) int { return bytes.Compare(a.key, b.key) })
	for _, r := range rows {
		if err := u.put(u.chunks, chunksName, r.key, r.row); err != nil {
			return err
		}
	}
	return u.writeObjects(l.objects, now)
}

type keyed struct{ key, row []byte }

// writeFrames writes the chunks that are new and returns the rows that name
// them, and the renewed ones of those that are not. A chunk whose row or frame
// is visibly damaged is written anew.
func (u *Update) writeFrames(chunks []stagedChunk, anew bool, now int64) ([]keyed, error) {
	var rows []keyed
	var missing []*stagedChunk
	added := make(map[digest]struct{}, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		key := c.digest[:]
		if _, twice := added[c.digest]; twice {
			continue
		}
		if old, _, err := u.frame(c.digest); err == nil && (c.row == nil || !anew) {
			if old.written < now-renewSeconds {
				old.written = now
				rows = append(rows, keyed{key, old.encode(key)})
			}
			continue
		}
		if c.row == nil {
			return nil, fmt.Errorf("chunk %x: %w", c.digest, ErrSwept)
		}
		if err := u.checkBase(c.base); err != nil {
			return nil, err
		}
		if damaged, err := decodeChunk(key, u.chunks.Get(key)); err == nil {
			if err := u.data.Delete(seqKey(damaged.seq)); err != nil {
				return nil, err
			}
		}
		missing = append(missing, c)
		added[c.digest] = struct{}{}
	}
	err := u.putFrames(missing, func(c *stagedChunk, seq uint64) {
		row := chunk{seq: seq, raw: c.raw, stored: uint32(len(c.row) - 1), written: now, base: c.base}
		rows = append(rows, keyed{c.digest[:], row.encode(c.digest[:])})
	})
	return rows, err
}

// putFrames writes frames, and calls fn with each and its number.
func (u *Update) putFrames(missing []*stagedChunk, fn func(c *stagedChunk, seq uint64)) error {
	seq, err := nextSeq(u.data)
	if err != nil {
		return err
	}
	u.data.FillPercent = dataFillPercent
	for _, c := range arrange(missing) {
		if err := u.put(u.data, dataName, seqKey(seq), c.row); err != nil {
			return err
		}
		fn(c, seq)
		seq++
	}
	return u.data.SetSequence(seq - 1)
}

// checkBase checks that a delta's base is stored and not a delta.
func (u *Update) checkBase(d digest) error {
	if d == (digest{}) {
		return nil
	}
	row := u.chunks.Get(d[:])
	if row == nil {
		return fmt.Errorf("base %x: %w", d, ErrSwept)
	}
	c, err := decodeChunk(d[:], row)
	if err == nil && c.base != (digest{}) {
		err = fmt.Errorf("base %x: %w", d, ErrSwept) // removed, and stored again as a delta
	}
	return err
}

func (u *Update) writeObjects(objects []stagedObject, now int64) error {
	slices.SortFunc(objects, func(a, b stagedObject) int {
		return bytes.Compare(a.id.Bytes(), b.id.Bytes())
	})
	for _, o := range objects {
		for _, d := range o.chunks {
			if u.chunks.Get(d[:]) == nil {
				return fmt.Errorf("object %v: chunk %x: %w", o.id, d, ErrSwept)
			}
		}
		key := o.id.Bytes()
		if old, err := decodeObject(key, u.objects.Get(key)); err == nil &&
			old.digest == o.row.digest && old.written >= now-renewSeconds {
			continue
		}
		o.row.written = now
		if err := u.put(u.objects, objectsName, key, o.row.encode(key)); err != nil {
			return err
		}
	}
	return nil
}
