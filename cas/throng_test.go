package cas

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A throng are some processes that work with one store at once. Before each transaction of
// any of them a source of random numbers says who goes on; so a seed repeats all of it.
type throng struct {
	*testing.T
	r     *rand.Rand
	s     *Store        // looks from beside
	ahead time.Duration // of the clock

	events  chan waiter // who is before a transaction; nobody: one has ended
	waiting []waiter
	killed  []*worker
	free    []*worker
	busy    map[*worker]bool

	contents map[oid.ID][]byte
	latest   []oid.ID            // of them
	records  map[string][]oid.ID // acknowledged, by their keys
	done     map[string]int
}

// A worker is one of the processes, and does one thing at a time.
type worker struct {
	h     *Store
	g     *Stage
	holds map[oid.ID]bool // its stage does
	purge map[oid.ID]bool // of what its purge is to leave nothing
}

type waiter struct {
	*worker
	goes chan struct{}
}

// Stages that are open at the same time over the same contents, sweeps, purges, compactions
// and dropped records come between each other's transactions, and are killed there. What a
// Commit has acknowledged can be read as long as its record stays, and a purge leaves no
// byte of what nobody has.
func TestModelOfStagesAndSweepsBetweenEachOthersTransactions(t *testing.T) {
	done, first := map[string]int{}, seed.Of(t)
	for i := range uint64(seed.Times(8)) {
		whole := t.Run(fmt.Sprint("REWIND_SEED=", first+i), func(t *testing.T) {
			m := &throng{T: t, r: rand.New(rand.NewPCG(first+i, 0)), events: make(chan waiter), busy: map[*worker]bool{},
				contents: map[oid.ID][]byte{}, records: map[string][]oid.ID{}, done: done}
			m.s = m.open(filepath.Join(t.TempDir(), "store.db"))
			m.run(120)
			m.look(1)
			for _, w := range m.killed { // they wait for ever, and are to have no memory for that
				if w.g != nil {
					w.g.mu.Lock()
					w.g.reset()
					w.g.mu.Unlock()
				}
			}
			clear(m.contents)
		})
		if !whole {
			return
		}
	}
	for _, what := range []string{"committed", "discarded", "swept", "full", "killed", "purged", "pruned", "dropped", "compacted"} {
		if done[what] < min(10, seed.Times(10)) { // fewer with -short
			t.Errorf("hardly anything was %s: %v", what, done)
		}
	}
}

func (m *throng) open(path string) *Store {
	s, err := Open(m.Context(), path, &Options{Create: true, Algorithm: oid.SHA1})
	must(m, err)
	m.Cleanup(func() { s.Close() })
	s.now = func() time.Time { return time.Now().Add(m.ahead) }
	return s
}

// run lets the workers do so many things, and goes from transaction to transaction.
func (m *throng) run(things int) {
	for things > 0 || len(m.waiting) > 0 {
		if n := len(m.waiting); things > 0 && n < 6 && (n == 0 || m.r.IntN(3) == 0) {
			things--
			go m.begin(m.worker())
		} else {
			at := m.r.IntN(n)
			w := m.waiting[at]
			m.waiting = slices.Delete(m.waiting, at, at+1)
			if m.r.IntN(80) == 0 { // it never goes on
				m.done["killed"]++
				delete(m.busy, w.worker)
				m.killed = append(m.killed, w.worker)
				continue
			}
			close(w.goes)
		}
		if w := <-m.events; w.worker != nil {
			m.waiting = append(m.waiting, w)
		}
		if m.r.IntN(4) == 0 {
			m.look(4)
		}
		if m.Failed() {
			return
		}
	}
}

// worker returns a process that does nothing, as large or small as any.
func (m *throng) worker() (w *worker) {
	if n := len(m.free); n > 0 {
		w, m.free = m.free[n-1], m.free[:n-1]
	} else {
		w = &worker{h: m.open(m.s.Path())}
		w.h.between = func() {
			goes := make(chan struct{})
			m.events <- waiter{w, goes}
			<-goes
		}
	}
	w.h.parts = []parts{{batchBytes, loadBytes, rowsEach, mappedBytes, groupBytes}, {batch: 10_000, load: 12_000, rows: 4, group: 9_000},
		{batch: 20_000, load: 8_000, rows: 9, group: groupBytes}, {batch: 30_000, load: 9_000, rows: 5, group: groupBytes}}[m.r.IntN(4)]
	m.busy[w] = true
	return w
}

func (m *throng) begin(w *worker) {
	defer func() { // also of a test that fails
		w.holds, w.purge = nil, nil
		delete(m.busy, w)
		m.free = append(m.free, w)
		m.ahead += time.Duration(m.r.IntN(5)) * time.Hour
		m.events <- waiter{}
	}()
	switch n := m.r.IntN(20); {
	case n < 10:
		m.stage(w)
	case n < 13:
		m.sweep(w, -1)
	case n < 15:
		m.sweep(w, 0)
	case n < 19:
		m.drop(w)
	default:
		_, _, err := w.h.Compact(m.Context())
		m.ends("compacted", err)
	}
}

// ends counts what was done, or that it could not be, which only a few things may.
func (m *throng) ends(what string, err error, may ...error) {
	for _, known := range []error{ErrSwept, syscall.ENOSPC} {
		if slices.Contains(may, known) && errors.Is(err, known) {
			m.done[map[error]string{ErrSwept: "swept", syscall.ENOSPC: "full"}[known]]++
			return
		}
	}
	if m.done[what]++; err != nil {
		m.Errorf("what was to be %s: %v", what, err)
	}
}

// content draws a content that others have or put too, an edit of one, or a new one. Each
// begins with bytes that no other has.
func (m *throng) content() (p []byte, base oid.ID) {
	head := noise(m.r, markBytes)
	if len(m.latest) == 0 || m.r.IntN(4) == 0 {
		sizes := []int{m.r.IntN(100), 500 + m.r.IntN(3000), 500 + m.r.IntN(3000)}
		return append(head, text(m.r, sizes[m.r.IntN(len(sizes))])...), oid.ID{}
	}
	base = m.latest[max(0, len(m.latest)-1-m.r.IntN(120))]
	if p = m.contents[base]; m.r.IntN(4) > 0 {
		return p, oid.ID{}
	}
	return append(head, p[markBytes:]...), base
}

const markBytes = 16

// stage fills a stage, and commits or discards it.
func (m *throng) stage(w *worker) {
	g := w.h.Stage()
	defer g.Discard()
	w.g, w.holds = g, map[oid.ID]bool{}
	if m.r.IntN(12) == 0 {
		failWrite(w.h, 1+m.r.IntN(10))
		defer func() { w.h.opened = nil }()
	}
	var err error
	for range 1 + m.r.IntN(60) {
		p, base := m.content()
		id := m.s.Algorithm().Sum(oid.Blob, p)
		if _, known := m.contents[id]; !known {
			m.contents[id], m.latest = p, append(m.latest, id)
		}
		w.holds[id] = true
		for other := range m.busy {
			delete(other.purge, id)
		}
		if _, err = g.Put(m.Context(), oid.Blob, p, base); err != nil {
			break
		}
		if g.settle(); m.r.IntN(40) == 0 {
			g.Early(m.Context())
			g.early.Wait()
			g.settle()
		}
	}
	if err == nil && m.r.IntN(6) == 0 {
		err = g.Flush(m.Context())
	}
	if err == nil && m.r.IntN(8) == 0 {
		m.ends("discarded", nil)
		return
	}
	ids, key := slices.SortedFunc(maps.Keys(w.holds), oid.ID.Compare), ""
	if err == nil {
		err = g.Commit(m.Context(), func(u *Update) error {
			seq, err := u.Table("rec").Append(joined(ids))
			if key = string(seqKey(seq)); m.r.IntN(4) > 0 {
				return err
			}
			return errors.Join(err, m.readable(&u.View, ids))
		})
	}
	if m.ends("committed", err, ErrSwept, syscall.ENOSPC); err == nil {
		m.records[key] = ids
		if err := m.s.View(m.Context(), func(v *View) error { return m.readable(v, ids) }); err != nil {
			m.Errorf("a commit was acknowledged, and %v", err)
		}
	}
}

func joined(ids []oid.ID) (out []byte) {
	for _, id := range ids {
		out = id.Append(out)
	}
	return out
}

// readable is an error if one of the contents has not its bytes.
func (m *throng) readable(v *View, ids []oid.ID) error {
	lost, damage := 0, error(nil)
	for _, id := range ids {
		if _, p, err := v.Object(id); err != nil || !bytes.Equal(p, m.contents[id]) {
			lost, damage = lost+1, fmt.Errorf("%v has %d bytes of %d: %w", id, len(p), len(m.contents[id]), err)
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d contents cannot be read: %w", lost, len(ids), damage)
	}
	return nil
}

// look reads one of so many records, and what it names.
func (m *throng) look(of int) {
	must(m, m.s.View(m.Context(), func(v *View) error {
		for _, key := range slices.Sorted(maps.Keys(m.records)) {
			if m.r.IntN(of) > 0 {
				continue
			}
			if p, err := v.Table("rec").Value([]byte(key)); err != nil || !bytes.Equal(p, joined(m.records[key])) {
				m.Errorf("a record has %d bytes: %v", len(p), err)
			}
			if err := m.readable(v, m.records[key]); err != nil {
				m.Errorf("record %x: %v", key, err)
			}
		}
		return nil
	}))
}

// drop deletes some records.
func (m *throng) drop(w *worker) {
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		if m.r.IntN(2) == 0 {
			continue
		}
		err := w.h.Update(m.Context(), func(u *Update) error { return u.Table("rec").Delete([]byte(key)) })
		if delete(m.records, key); err != nil {
			m.Error(err)
		}
	}
	m.ends("dropped", nil)
}

// sweep removes what no record names. Without a grace it is to leave nothing of what no
// record names at its beginning, and no stage holds until its end.
func (m *throng) sweep(w *worker, grace time.Duration) {
	what := "pruned"
	if grace < 0 {
		what, w.purge = "purged", maps.Clone(m.holdNowhere())
	}
	_, err := w.h.Sweep(m.Context(), SweepOptions{Grace: grace, Rest: live, Live: func(mark func(oid.ID)) error {
		return w.h.View(m.Context(), func(v *View) error { return live(v, mark) })
	}})
	if m.ends(what, err); err != nil || len(w.purge) == 0 {
		return
	}
	marks := map[string]oid.ID{}
	for id := range w.purge {
		marks[string(m.contents[id][:markBytes])] = id
		if has(m, m.s, id) {
			m.Errorf("after a purge %v is there", id)
		}
	}
	must(m, m.s.View(m.Context(), func(v *View) error {
		return v.data.ForEach(func(_, row []byte) error {
			raw, err := m.s.codecs.decodeGroup(nil, row)
			for at := 0; err == nil && at+markBytes <= len(raw); at++ {
				if id, is := marks[string(raw[at:at+markBytes])]; is {
					m.Errorf("after a purge a frame has bytes of %v", id)
				}
			}
			return nil
		})
	}))
}

// holdNowhere returns the contents that no record names and no stage holds.
func (m *throng) holdNowhere() map[oid.ID]bool {
	out := map[oid.ID]bool{}
	for id := range m.contents {
		out[id] = true
	}
	for _, ids := range m.records {
		for _, id := range ids {
			delete(out, id)
		}
	}
	for w := range m.busy {
		for id := range w.holds {
			delete(out, id)
		}
	}
	return out
}
