package engine

import (
	"context"
	"fmt"
	"testing"
)

func TestHistoryThatPassesATenthOfTheDiskIsSaidOnceAndWhenItHasDoubled(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		e, free := p.open(), int64(1<<40)
		e.free = func(string) (int64, error) { return free, nil }
		step := 0
		take := func() *Recorded {
			step++
			return p.snap(e, noise(uint64(step), 50<<10), nil)
		}
		if r := take(); r.Cost != nil {
			t.Errorf("git %v: said of a large disk: %+v", git, *r.Cost)
		}
		c := e.costNow()
		if c.Store == 0 || git != (c.Git > 0) {
			t.Errorf("git %v: %+v", git, c)
		}
		free = 9 * (c.Store + c.Git)
		r := take()
		if r.Cost == nil || r.Cost.Free != free || r.Cost.Store < c.Store {
			t.Fatalf("git %v: nothing was said: %+v", git, r.Cost)
		}
		said := r.Cost.Store + r.Cost.Git
		if again, err := e.Snapshot(context.Background(), nil); err != nil || again.Cost != nil {
			t.Errorf("git %v: it was said of no new snapshot: %v", git, err)
		}
		for {
			e = p.open() // it is remembered by the store
			e.free = func(string) (int64, error) { return free, nil }
			r := take()
			now := e.costNow()
			if total := now.Store + now.Git; r.Cost == nil && total >= 2*said {
				t.Errorf("git %v: nothing was said at %d bytes after %d", git, total, said)
			} else if r.Cost != nil && total < 2*said {
				t.Errorf("git %v: it was said again at %d bytes after %d", git, total, said)
			} else if total >= 2*said {
				break
			}
		}
		st, err := e.Status(context.Background())
		if err != nil || !st.Much || st.FreeBytes == nil || *st.FreeBytes != free || git != (st.GitBytes > 0) {
			t.Errorf("git %v: status says %+v, %v", git, st, err)
		}
		e.free = func(string) (int64, error) { return 0, nil } // full is not unknown
		if st, err = e.Status(context.Background()); err != nil || !st.Much || st.FreeBytes == nil || *st.FreeBytes != 0 {
			t.Errorf("git %v: of a full disk status says %+v, %v", git, st, err)
		}
		e.free = func(string) (int64, error) { return 0, fmt.Errorf("unknown") }
		if st, err = e.Status(context.Background()); err != nil || st.Much || st.FreeBytes != nil {
			t.Errorf("git %v: status says %+v, %v", git, st, err)
		}
		if _, err := e.Purge(context.Background(), []string{"nothing"}, false); err != nil {
			t.Error(err)
		}
	}
}
