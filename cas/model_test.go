package cas

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A model is what a store should hold.
type model struct {
	*testing.T
	r       *rand.Rand
	handles []*Store
	ahead   time.Duration // of the clock

	contents map[oid.ID][]byte        // all that was ever put
	latest   []oid.ID                 // of them
	put      map[oid.ID]time.Duration // when it was put last, also by a stage that came to nothing
	young    map[oid.ID]time.Duration // when a commit of it was acknowledged last
	records  map[string]string        // ids of contents, one behind another, under numbers
	last     uint64                   // the number of the newest record that there was
	rows     map[string]string        // of another table
	done     map[string]int
}

// TestModel lets two handles of a store, whose stages are large or small, do at random what
// can be done with it, and compares all that it has with a model after each step.
func TestModel(t *testing.T) {
	done := map[string]int{}
	for i := range seed.Times(4) {
		m := &model{T: t, r: rand.New(rand.NewPCG(seed.Of(t), uint64(i))), contents: map[oid.ID][]byte{}, put: map[oid.ID]time.Duration{}, young: map[oid.ID]time.Duration{},
			records: map[string]string{}, rows: map[string]string{}, done: done}
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "s", "store.db"), &Options{Create: true, Algorithm: []oid.Algorithm{oid.SHA1, oid.SHA256, oid.BLAKE3}[i%3]})
		must(t, err)
		m.handles = []*Store{s, again(t, s)}
		for _, h := range m.handles {
			h.now = func() time.Time { return time.Now().Add(m.ahead) }
		}
		for range 150 {
			h := m.handles[m.r.IntN(2)]
			h.parts = []parts{{batchBytes, loadBytes, rowsEach, mappedBytes, groupBytes}, few, {batch: 10_000, load: 100_000, rows: 50, mapped: mappedBytes, group: 60_000}, {batch: 40_000, load: 50_000, rows: 50, group: 9_000}}[m.r.IntN(4)]
			switch act := m.r.IntN(24); {
			case act < 10:
				m.stage(h)
			case act < 13:
				m.drop(h)
			case act < 18:
				m.sweep(h)
			case act < 20:
				m.ahead += []time.Duration{time.Hour, 13 * time.Hour, 26 * time.Hour}[m.r.IntN(3)]
			case act < 21:
				must(t, h.Close())
			case act < 22:
				_, _, err := h.Compact(t.Context())
				must(t, err)
			default:
				m.repair(h)
			}
			m.compare(m.handles[m.r.IntN(2)], 3)
		}
		undamaged(t, s)
	}
	for _, what := range []string{"committed", "failed", "full", "swept", "left", "repaired", "shared"} {
		if done[what] < min(5, seed.Times(5)) { // fewer with -short
			t.Errorf("hardly anything was %s: %v", what, done)
		}
	}
}

// content draws a new content, an edit of one, or one again, and what it may be a difference from.
func (m *model) content() (p []byte, base oid.ID) {
	if len(m.latest) > 0 && m.r.IntN(3) > 0 {
		base = m.latest[max(0, len(m.latest)-1-m.r.IntN(30))]
		p = bytes.Clone(m.contents[base])
		switch m.r.IntN(4) {
		case 0: // again
		case 1:
			p = append([]byte(fmt.Sprintln("edit", m.r.Uint32())), p...)
		default:
			copy(p[m.r.IntN(len(p)+1):], fmt.Sprint("edit", m.r.Uint32()))
		}
		return p, base
	}
	sizes := []int{0, 1 + m.r.IntN(300), 1000 + m.r.IntN(20_000), 5000 + m.r.IntN(20_000), 1 + m.r.IntN(2000), 1 + m.r.IntN(2000), wholeMax + m.r.IntN(3), wholeMax + m.r.IntN(200_000)}
	if n := sizes[m.r.IntN(len(sizes))]; m.r.IntN(2) == 0 {
		return noise(m.r, n), base
	} else {
		return text(m.r, n), base
	}
}

// fill puts contents into a stage.
func (m *model) fill(g *Stage) (ids []oid.ID) {
	for range 1 + m.r.IntN(12) {
		p, base := m.content()
		var id oid.ID
		var err error
		if m.r.IntN(2) == 0 {
			id, err = g.Put(m.Context(), oid.Blob, p, base)
		} else {
			id, err = g.PutReader(m.Context(), oid.Blob, bytes.NewReader(p), int64(len(p)), base)
		}
		if errors.Is(err, ErrSwept) || errors.Is(err, syscall.ENOSPC) {
			return ids // Commit says so too
		}
		must(m, err)
		for _, off := range []int64{-1, 1} {
			if _, err := g.PutReader(m.Context(), oid.Blob, bytes.NewReader(p), int64(len(p))+off, oid.ID{}); !errors.Is(err, ErrSize) && !errors.Is(err, syscall.ENOSPC) {
				m.Errorf("%d bytes that are announced as %d more give %v", len(p), off, err)
			}
		}
		if id != g.s.Algorithm().Sum(oid.Blob, p) || !g.Has(id) {
			m.Fatalf("%d bytes are put as %v", len(p), id)
		}
		m.contents[id], m.put[id] = p, m.ahead
		m.latest = append(m.latest, id)
		if ids = append(ids, id); m.r.IntN(8) == 0 {
			g.Early(m.Context())
		}
	}
	return ids
}

// stage fills a stage and commits it, or does not. Meanwhile somebody may sweep all that no
// record names, the disk may be full, or what is recorded may fail.
func (m *model) stage(h *Store) {
	g, fate := h.Stage(), m.r.IntN(10)
	if fate == 4 && m.r.IntN(2) == 0 {
		failWrite(h, 1+m.r.IntN(5))
	}
	ids := m.fill(g)
	if fate != 4 && m.r.IntN(4) == 0 {
		must(m, g.Flush(m.Context()))
		if slices.ContainsFunc(ids, func(id oid.ID) bool { return !g.Has(id) }) {
			m.Error("what was flushed is not known any more")
		}
		ids = append(ids, m.fill(g)...)
	}
	g.early.Wait()
	g.settle()
	switch fate {
	case 0:
		m.done["left"]++ // its process dies
		return
	case 1:
		g.Discard()
		if slices.ContainsFunc(ids, g.Has) {
			m.Error("a discarded stage has something")
		}
		return
	case 2, 3:
		m.sweepAll(m.handles[m.r.IntN(2)])
	case 4:
		if h.opened == nil {
			failWrite(h, 1+m.r.IntN(5))
		}
	}
	rows, fails, value := maps.Clone(m.rows), errors.New("it fails"), ""
	err := g.Commit(m.Context(), func(u *Update) error {
		value = m.record(u, ids, rows)
		if fate == 5 {
			return fails
		}
		return nil
	})
	h.opened = nil
	switch {
	case err == nil:
		m.done["committed"]++
		m.last++
		m.records[string(seqKey(m.last))], m.rows = value, rows
		for _, id := range ids {
			m.young[id] = m.ahead
		}
		if fate == 5 || slices.ContainsFunc(ids, g.Has) {
			m.Error("what failed was recorded, or the stage is not empty")
		}
		return
	case errors.Is(err, ErrSwept) && fate < 4:
		m.done["swept"]++
	case errors.Is(err, fails) && fate == 5:
		m.done["failed"]++
	case errors.Is(err, syscall.ENOSPC) && fate == 4:
		m.done["full"]++
	default:
		m.Fatal(err)
	}
	if err := g.Commit(m.Context(), nil); err == nil {
		m.Error("a stage that failed can be committed")
	}
}

// record writes a record that names contents, which can be read already, and some rows.
func (m *model) record(u *Update, ids []oid.ID, rows map[string]string) string {
	var value []byte
	for _, id := range ids {
		value = id.Append(value)
		if _, p, err := u.Object(id); err != nil || !bytes.Equal(p, m.contents[id]) {
			m.Errorf("what is staged gives %d bytes, %v", len(p), err)
		}
	}
	if seq, err := u.Table("rec").Append(value); err != nil || seq != m.last+1 {
		m.Errorf("a record has the number %d after %d, %v", seq, m.last, err)
	}
	for range m.r.IntN(6) {
		key, value := fmt.Sprintf("k%02d", m.r.IntN(40)), strings.Repeat("v", m.r.IntN(3000))
		if m.r.IntN(3) == 0 {
			delete(rows, key)
			must(m, u.Table("map").Delete([]byte(key)))
		} else {
			rows[key] = value
			must(m, u.Table("map").Put([]byte(key), []byte(value)))
		}
	}
	return string(value)
}

// drop deletes some records.
func (m *model) drop(h *Store) {
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		if m.r.IntN(3) == 0 {
			delete(m.records, key)
			must(m, h.Update(m.Context(), func(u *Update) error { return u.Table("rec").Delete([]byte(key)) }))
		}
	}
}

// live are the contents that records name.
func (m *model) live() map[oid.ID]bool {
	live := map[oid.ID]bool{}
	for _, value := range m.records {
		for id := range slices.Chunk([]byte(value), m.handles[0].Algorithm().Size()) {
			id, err := oid.FromBytes(id)
			must(m, err)
			live[id] = true
		}
	}
	return live
}

// sweepAll removes all that no record names.
func (m *model) sweepAll(h *Store) SweepReport {
	live := m.live()
	maps.DeleteFunc(m.young, func(id oid.ID, _ time.Duration) bool { return !live[id] })
	return sweepOld(m.T, h, SweepOptions{Grace: -1, Live: keep(slices.Collect(maps.Keys(live))...)})
}

// sweep removes what no record names and what is not young, or all of it, as it says before;
// half of what lives it hears in the end alone. Bases of deltas may stay.
func (m *model) sweep(h *Store) {
	live, all := m.live(), m.r.IntN(2) == 0
	ids := slices.Collect(maps.Keys(live))
	opt := SweepOptions{DryRun: true, Live: keep(ids[:len(ids)/2]...), Rest: func(_ *View, mark func(oid.ID)) error { return keep(ids[len(ids)/2:]...)(mark) }}
	if all {
		opt.Grace = -1
	}
	must(m, h.indexSpilled(m.Context())) // so that what stages have left is counted as objects too
	would := sweepOld(m.T, h, opt)
	opt.DryRun = false
	did := sweepOld(m.T, h, opt)
	if did.Free = would.Free; did != would { // a repair may have left something to be given back
		m.Errorf("it would sweep %+v, and swept %+v", would, did)
	}
	if all {
		m.sweepAll(h)
	}
	bases := map[oid.ID]bool{}
	must(m, h.View(m.Context(), func(v *View) error {
		return v.eachObject(func(_ []byte, o object) error {
			bases[o.ref] = true
			return nil
		})
	}))
	n := countRows(m.T, h)
	frames, stored := shares(m.T, h)
	wasted, err := h.halfDead(m.Context(), nil, false)
	must(m, err)
	switch {
	case n.manifests > 0:
		m.Errorf("%+v is left", n)
	case (all || did.Objects+did.Chunks > 0) && frames != n.frames, all && stored != n.frameBytes-n.frames:
		m.Errorf("%+v is left, of which rows know %d frames and %d bytes", n, frames, stored)
	case len(wasted) > 0:
		m.Errorf("%d frames are left that waste space", len(wasted))
	case frames < n.objects-n.lists:
		m.done["shared"]++
	}
	for id := range m.contents {
		is := has(m, h, id)
		at, acknowledged := m.young[id]
		switch {
		case live[id] && !is, acknowledged && m.ahead-at < 24*time.Hour && !is:
			m.Errorf("a content is gone that lives (%v) or is young", live[id])
		case !live[id] && is && (all || m.ahead-m.put[id] > 25*time.Hour && !bases[id]):
			m.Errorf("a content stays that nobody needs, after a sweep without grace (%v)", all)
		}
	}
	m.compare(h, 1)
}

// repair damages a content that lives, and stores it again.
func (m *model) repair(h *Store) {
	live := m.live()
	if len(live) == 0 {
		return
	}
	id := slices.SortedFunc(maps.Keys(live), oid.ID.Compare)[m.r.IntN(len(live))]
	var parts []oid.ID
	must(m, h.View(m.Context(), func(v *View) (err error) {
		o, err := v.object(id)
		must(m, err)
		if parts, _, err = v.chunks(id); o.form == list {
			parts = append(parts[1:], o.ref)
		}
		return err
	}))
	for _, part := range parts {
		alter(m.T, h, part, m.r.IntN(2) == 0)
	}
	if got, err := readOne(m.T, h, id); err == nil && !bytes.Equal(got, m.contents[id]) || err != nil && !errors.Is(err, ErrCorrupt) {
		m.Errorf("a damaged content gives %d bytes, %v", len(got), err)
	}
	if m.r.IntN(3) == 0 { // while it is damaged: what is whole stays
		_, err := h.Sweep(m.Context(), SweepOptions{Live: keep(slices.Collect(maps.Keys(live))...)})
		if err != nil && !errors.Is(err, ErrCorrupt) {
			m.Error(err)
		}
	}
	for other := range m.contents { // whatever shared a frame with it, or rests on it
		q := m.contents[other]
		if is := has(m, h, other); !is && !live[other] {
			continue
		}
		if got, err := readOne(m.T, h, other); err == nil && bytes.Equal(got, q) {
			continue
		} else if !errors.Is(err, ErrCorrupt) {
			m.Errorf("%v gives %d bytes, %v", other, len(got), err)
		}
		if got, err := h.Repair(m.Context(), oid.Blob, bytes.NewReader(q), int64(len(q))); err != nil || got != other {
			m.Errorf("%v is stored again as %v, %v", other, got, err)
		}
		m.put[other] = m.ahead
		m.done["repaired"]++
	}
	if h.Check(m.Context()) != nil { // a chunk that no content has shared the frame
		m.sweepAll(h)
	}
}

// compare reads one of so many of the contents that a store has to hold, and all records, in
// each way in which they can be read.
func (m *model) compare(h *Store, of int) {
	m.Helper()
	if m.r.IntN(3) == 0 {
		defer h.KeepDecoded()()
	}
	live := m.live()
	for id := range live {
		if m.r.IntN(of) > 0 {
			delete(live, id)
			continue
		}
		p := m.contents[id]
		var w bytes.Buffer
		if _, n, err := h.WriteTo(m.Context(), &w, id); err != nil || n != int64(len(p)) || !bytes.Equal(w.Bytes(), p) {
			m.Fatalf("%v has %d bytes, not %d: %v", id, n, len(p), err)
		}
	}
	must(m, h.View(m.Context(), func(v *View) error {
		for id := range live {
			p := m.contents[id]
			kind, got, err := v.Object(id)
			_, size, _ := v.Stat(id)
			stored, _ := v.Stored(id)
			if err != nil || kind != oid.Blob || !bytes.Equal(got, p) || size != int64(len(p)) || !v.Has(id) || v.ReadBack(id) != nil || stored > size+size/100+100 {
				m.Fatalf("%v has %d bytes and says %d, takes up %d: %v", id, len(got), size, stored, err)
			}
		}
		if _, _, err := v.Object(h.Algorithm().Sum(oid.Tree, nil)); !errors.Is(err, ErrNotFound) {
			m.Errorf("what was never put gives %v", err)
		}
		m.table(v.Table("rec"), m.records, string(seqKey(m.r.Uint64N(m.last+2))), string(seqKey(0)[:7]))
		m.table(v.Table("map"), m.rows, fmt.Sprintf("k%02d", m.r.IntN(42)), fmt.Sprintf("k%d", m.r.IntN(5)))
		return nil
	}))
}
