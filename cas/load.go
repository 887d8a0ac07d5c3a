package cas

import (
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
	items []staged
	bytes int // of frames, and of what is kept beside them
}

// A staged object has a frame, or a part of one; without a frame it was found in the
// store. Those that share a frame follow one another.
type staged struct {
	id     oid.ID
	kind   oid.Kind
	form   form
	size   uint32
	at     uint32 // of a part
	stored uint32 // the frame's bytes, of a part its share of them
	base   oid.ID
	frame  *frame
}

// A frame is a row of the bucket data.
type frame struct {
	row []byte // codec and frame
	seq uint64 // its number, when it has one
}

// alone gives the object a frame of its own, a delta if it has a base.
func (c *staged) alone(row []byte, base oid.ID) {
	c.form, c.at, c.stored, c.base, c.frame = whole, 0, uint32(len(row)-1), base, &frame{row: row}
	if !base.IsZero() {
		c.form = delta
	}
}

// named is the row of the object, whose frame has a number.
func (c *staged) named(written int64) object {
	o := object{kind: c.kind, form: c.form, written: written, size: uint64(c.size), stored: c.stored, at: c.at, ref: c.base}
	if c.frame != nil {
		o.seq = c.frame.seq
	}
	return o
}

// deliver adds frames to those ready to be written. When they are many the
// whole load is written in the background, one at a time; whoever fills the
// next before that is done waits, which bounds the memory.
func (g *Stage) deliver(ctx context.Context, l *load) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready.items = append(g.ready.items, l.items...)
	g.ready.bytes += l.bytes
	for g.ready.bytes >= g.most() && g.flushing != nil {
		wait := g.flushing
		g.mu.Unlock()
		<-wait
		g.mu.Lock()
	}
	if g.ready.bytes < g.most() || g.err != nil {
		return g.err
	}
	full, done := g.ready, make(chan struct{})
	g.ready, g.flushing = &load{}, done
	go g.flush(ctx, full, done)
	return nil
}

// most is how many bytes of frames are written at once.
func (g *Stage) most() int {
	if g.spill.begun {
		return g.s.parts.load / laterLoads
	}
	return g.s.parts.load
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

// writeRest writes what is not in the store yet when a stage is made durable. The
// chunks of the large objects are all there then.
func (g *Stage) writeRest(u *Update) error {
	if err := u.write(g.ready, g.anew); err != nil {
		return err
	}
	return u.writeLarge(g.large)
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
	if g.err != nil || !g.spill.begun {
		return g.err
	}
	if len(g.ready.items) > 0 {
		if err := g.spillLoad(ctx, g.ready); err != nil {
			return err
		}
		g.ready = &load{}
	}
	return g.index(ctx)
}

// write puts a load into the buckets: frames nearly in the order they came, so
// that they lie together, and rows in the order of their keys, so that each page
// is met once. What is there is renewed. A frame that is visibly damaged is written
// anew; with anew each is that the load has.
func (u *Update) write(l *load, anew bool) error {
	now := u.s.now().Unix()
	var rows []keyed
	var missing []*staged
	for i := range l.items {
		c := &l.items[i]
		old, _, bad := u.frame(c.id)
		if bad == nil && (c.frame == nil || !anew) {
			rows = appendRenewed(rows, c.id, old, now)
			continue
		}
		if c.frame == nil {
			return fmt.Errorf("object %v: %w", c.id, ErrSwept)
		}
		if err := u.checkBase(c.base); err != nil {
			return err
		}
		if err := u.unbase(c, bad); err != nil {
			return err
		}
		if damaged, err := u.object(c.id); err == nil && (damaged.form == whole || damaged.form == delta) {
			if err := u.data.Delete(seqKey(damaged.seq)); err != nil {
				return err
			}
		}
		missing = append(missing, c)
	}
	if _, err := u.putFrames(missing); err != nil {
		return err
	}
	for _, c := range missing {
		rows = append(rows, keyed{c.id, c.named(now)})
	}
	return u.putRows(rows)
}

// unbase makes the frame of a delta whole where bad says that there is a damaged row of
// the object: other deltas may rest on that, and none can rest on a delta.
func (u *Update) unbase(c *staged, bad error) error {
	if c.base.IsZero() || bad == nil || errors.Is(bad, ErrNotFound) {
		return nil
	}
	base, err := u.base(c.base)
	if err != nil {
		return fmt.Errorf("base %v: %w", c.base, err)
	}
	raw, err := u.expand(c.id, c.named(0), c.frame.row, base, nil)
	if err != nil {
		return err
	}
	c.alone(u.s.codecs.encode(raw), oid.ID{})
	return nil
}

// A keyed row is put under an id.
type keyed struct {
	id  oid.ID
	row object
}

// appendRenewed appends the row of an object that is met again, if it is not young.
func appendRenewed(rows []keyed, id oid.ID, old object, now int64) []keyed {
	if old.written >= now-renewSeconds {
		return rows
	}
	old.written = now
	return append(rows, keyed{id, old})
}

// putRows puts rows in the order of their keys.
func (u *Update) putRows(rows []keyed) error {
	slices.SortFunc(rows, func(a, b keyed) int { return a.id.Compare(b.id) })
	for _, r := range rows {
		if err := u.putRow(r.id, r.row); err != nil {
			return err
		}
	}
	return nil
}

func (u *Update) putRow(id oid.ID, o object) error {
	key := id.Bytes()
	return u.put(u.objects, objectsName, key, o.encode(key))
}

// putFrames writes the frames of objects and gives them their numbers, of which it
// returns the first.
func (u *Update) putFrames(missing []*staged) (first uint64, err error) {
	if len(missing) == 0 {
		return 0, nil
	}
	var frames []*frame
	for _, c := range missing {
		if n := len(frames); n == 0 || frames[n-1] != c.frame {
			frames = append(frames, c.frame)
		}
	}
	if first, err = nextSeq(u.data); err != nil {
		return 0, err
	}
	seq := first
	u.data.FillPercent = dataFillPercent
	for _, f := range binPack(frames) {
		if err := u.put(u.data, dataName, seqKey(seq), f.row); err != nil {
			return 0, err
		}
		f.seq = seq
		seq++
	}
	return first, u.data.SetSequence(seq - 1)
}

// checkBase checks that a delta's base is stored and not a delta.
func (u *Update) checkBase(id oid.ID) error {
	if id.IsZero() {
		return nil
	}
	o, err := u.object(id)
	if errors.Is(err, ErrNotFound) || err == nil && !o.stands() { // removed, and stored again as a delta
		return fmt.Errorf("base %v: %w", id, ErrSwept)
	}
	return err
}

// writeLarge puts the rows of objects whose chunks are all there.
func (u *Update) writeLarge(large map[oid.ID]largeFile) error {
	now := u.s.now().Unix()
	var rows []keyed
	for id, f := range large {
		for _, c := range f.chunks {
			if u.objects.Get(c.Bytes()) == nil {
				return fmt.Errorf("object %v: chunk %v: %w", id, c, ErrSwept)
			}
		}
		if old, err := u.object(id); err == nil && old.ref == f.row.ref {
			rows = appendRenewed(rows, id, old, now)
			continue
		}
		f.row.written = now
		rows = append(rows, keyed{id, f.row})
	}
	return u.putRows(rows)
}
