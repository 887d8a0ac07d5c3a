package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
)

const year = 365 * 24 * time.Hour

// dated records a snapshot by a clock that is wrong by so much.
func (p *place) dated(e *Engine, text string, wrong time.Duration) ID {
	p.t.Helper()
	defer func() { e.now = time.Now }()
	e.now = func() time.Time { return time.Now().Add(wrong) }
	p.write("f", text)
	return p.snap(e, text, nil).ID
}

// The machine that prunes has the oldest alone.
func TestAPruneOfARemoteLosesNothingByAWrongClock(t *testing.T) {
	for _, wrong := range []time.Duration{time.Hour, year, -time.Since(time.Unix(100, 0))} {
		for _, lim := range []PruneOptions{{MaxSnapshots: 1}, {MaxAge: time.Millisecond}, {ThinDays: 1}} {
			p := newPlace(t, false)
			e := p.open()
			var ids []ID
			for i := range 5 {
				off := time.Duration(i-20) * 24 * time.Hour
				if i == 2 {
					off = wrong
				}
				ids = append(ids, p.dated(e, fmt.Sprint(i), off))
			}
			m := p.newRemote(e)
			p.mustPush(e, m)
			dir := filepath.Join(t.TempDir(), "other")
			if _, err := resumed(p, dir, m.URL, ids[0].String()); err != nil {
				t.Fatal(err)
			}
			n, err := Open(context.Background(), dir, &Options{Getenv: p.getenv, NoGit: true})
			p.must(err)
			t.Cleanup(func() { n.Close() })
			out := p.pruneAway(n, m, away.Limits{Options: &lim})
			there := p.distant(e, m)
			for _, i := range []int{0, 2, 4} {
				if !there[ids[i].String()] {
					t.Errorf("with a clock wrong by %v and %+v snapshot %d is lost: %d were dropped", wrong, lim, i, len(out.Dropped))
				}
			}
			if lim.ThinDays == 0 && (there[ids[1].String()] || there[ids[3].String()]) {
				t.Errorf("with a clock wrong by %v and %+v the others stay: %v", wrong, lim, there)
			}
		}
	}
}

func TestAResumeTakesNoSnapshotForTheNewestThatIsDatedFarAhead(t *testing.T) {
	for _, c := range []struct {
		first, second time.Duration
		want          int  // of the two
		tells         bool // of the first
	}{
		{year, 0, 1, true},
		{time.Hour, 0, 0, true}, // its machine may be right about the order
		{10 * time.Second, 0, 0, false},
		{2 * year, year, 0, true}, // the clock here may be behind
	} {
		p := newPlace(t, false)
		e := p.open()
		ids := []ID{p.dated(e, "0", c.first), p.dated(e, "1", c.second)}
		m := p.newRemote(e)
		p.mustPush(e, m)
		top := t.TempDir()
		r, err := resumed(p, filepath.Join(top, "a"), m.URL, "")
		p.must(err)
		if r.Snapshot.ID != ids[c.want] || (r.Ahead != nil) != c.tells || r.Ahead != nil && r.Ahead.Of != ids[0] {
			t.Errorf("dated %v and %v ahead it is %v of %v, and tells %+v", c.first, c.second, r.Snapshot.ID, ids, r.Ahead)
		}
		if r, err = resumed(p, filepath.Join(top, "b"), m.URL, ids[0].String()); err != nil || r.Snapshot.ID != ids[0] || r.Ahead != nil {
			t.Errorf("asked for by its id it is %+v: %v", r, err)
		}
	}
}
