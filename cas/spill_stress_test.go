package cas

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A crowd are stages and sweeps of one store, at once.
type crowd struct {
	t    *testing.T
	s    *Store
	pool [][]byte // contents that they share
	puts atomic.Int64

	mu          sync.Mutex
	want        map[oid.ID][]byte // acknowledged
	done, swept int
}

// Large stages of several handles that share contents, sweeps without grace and
// rewritten files beside them: what a Commit has acknowledged can be read, and in
// the end the file has nothing but that.
func TestLargeStagesBesideSweepsKeepWhatTheyAcknowledge(t *testing.T) {
	c := &crowd{t: t, s: newStore(t), want: map[oid.ID][]byte{}}
	c.s.parts = parts{batch: 60_000, load: 200_000, rows: 20, group: 50_000}
	r := seeded(t)
	for range 150 {
		c.pool = append(c.pool, noise(r, 20_000+r.IntN(4_000)))
	}
	for range 3 {
		c.pool = append(c.pool, noise(r, 700<<10))
	}
	for range 40 { // small ones, that compress
		c.pool = append(c.pool, bytes.Repeat(noise(r, 100), 1+r.IntN(50)))
	}
	var writers, sweeper sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		writers.Go(func() { c.write(own) })
	}
	own := rand.New(rand.NewPCG(r.Uint64(), 0))
	sweeper.Go(func() { c.sweepUntil(stop, own) })
	writers.Wait()
	close(stop)
	sweeper.Wait()
	if t.Logf("%d committed, %d swept", c.done, c.swept); c.done == 0 {
		t.Error("nothing was committed")
	}
	c.sweep(c.s, -1)
	for id, p := range c.want {
		if !bytes.Equal(read(t, c.s, id), p) {
			t.Errorf("%v differs", id)
		}
	}
	n := countRows(t, c.s)
	if n.objects < len(c.want) || n.manifests != 0 {
		t.Errorf("%d wanted, %+v", len(c.want), n)
	}
	if r := sweepOld(t, c.s, SweepOptions{Grace: -1, DryRun: true, Live: func(mark func(oid.ID)) error {
		return c.s.View(t.Context(), func(v *View) error { return live(v, mark) })
	}}); r.Chunks > 0 {
		t.Errorf("%+v is left", r)
	}
	undamaged(t, c.s)
}

func (c *crowd) open() *Store {
	h, err := Open(c.t.Context(), c.s.Path(), nil)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	h.parts = c.s.parts
	c.t.Cleanup(func() { h.Close() })
	return h
}

// live marks what the records name.
func live(v *View, mark func(oid.ID)) error {
	for _, rec := range v.Table("rec").All() {
		for ; len(rec) > 0; rec = rec[20:] {
			id, _ := oid.FromBytes(rec[:20])
			mark(id)
		}
	}
	return nil
}

func (c *crowd) sweep(h *Store, grace time.Duration) {
	_, err := h.Sweep(c.t.Context(), SweepOptions{Grace: grace,
		Live: func(mark func(oid.ID)) error {
			return h.View(c.t.Context(), func(v *View) error { return live(v, mark) })
		}, Rest: live})
	if err != nil {
		c.t.Error(err)
	}
}

// sweepUntil sweeps after some contents have been put, however long that takes: on a slow
// machine sweeps by the clock let no stage come to its end.
func (c *crowd) sweepUntil(stop chan struct{}, r *rand.Rand) {
	h := c.open()
	for h != nil {
		for next := c.puts.Load() + r.Int64N(1500); c.puts.Load() < next; {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
		if r.IntN(3) > 0 {
			c.sweep(h, []time.Duration{-1, -1, 0}[r.IntN(3)])
		} else if _, _, err := h.Compact(c.t.Context()); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *crowd) write(r *rand.Rand) {
	h := c.open()
	if h == nil {
		return
	}
	for range 14 {
		g := h.Stage()
		mine, err := c.fill(g, r)
		if err != nil {
			c.t.Error(err)
			return
		}
		if r.IntN(5) == 0 {
			g.Discard()
			continue
		}
		c.commit(g, mine, r)
		if r.IntN(3) > 0 {
			g.Discard()
		} // or its process dies
	}
}

// fill puts contents into a stage, some of them those of others, some as deltas.
func (c *crowd) fill(g *Stage, r *rand.Rand) (map[oid.ID][]byte, error) {
	mine := map[oid.ID][]byte{}
	n, from := 40+r.IntN(250), r.IntN(len(c.pool))
	for i := range n {
		p := c.pool[(from+i*7)%len(c.pool)]
		if r.IntN(8) == 0 {
			p = noise(r, 1000+r.IntN(10_000))
		}
		var base oid.ID
		if r.IntN(5) == 0 {
			for id, q := range mine {
				if len(q) < 20_000 {
					base = id
					p = append(bytes.Clone(q), 'x')
				}
				break
			}
		}
		id, err := g.Put(c.t.Context(), oid.Blob, p, base)
		if err != nil {
			return nil, err
		}
		mine[id] = p
		c.puts.Add(1)
	}
	return mine, nil
}

var errFirst = errors.New("the first time it fails")

// commit tries up to three times to record what was put.
func (c *crowd) commit(g *Stage, mine map[oid.ID][]byte, r *rand.Rand) {
	var order []byte
	for id := range mine {
		order = append(order, id.Bytes()...)
	}
	fail := r.IntN(4) == 0
	for range 3 {
		var err error
		if r.IntN(4) == 0 {
			err = g.Flush(c.t.Context())
		}
		if err == nil {
			err = g.Commit(c.t.Context(), func(u *Update) error {
				if fail {
					fail = false
					return errFirst
				}
				_, err := u.Table("rec").Append(order)
				return err
			})
		}
		switch {
		case errors.Is(err, errFirst):
			continue
		case err == nil:
			c.acknowledge(mine)
		case errors.Is(err, ErrSwept):
			c.acknowledge(nil)
		default:
			c.t.Error(err)
		}
		return
	}
}

func (c *crowd) acknowledge(mine map[oid.ID][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mine == nil {
		c.swept++
		return
	}
	c.done++
	for id, p := range mine {
		c.want[id] = p
	}
}
