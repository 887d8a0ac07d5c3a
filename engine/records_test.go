package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

// spoil puts something in the place of the oldest records that is a record for
// who only looks at it, and none for who decodes it.
func (p *place) spoil(e *Engine, n int) {
	p.t.Helper()
	p.must(p.storeOf(e).Update(context.Background(), func(u *cas.Update) error {
		for key, value := range u.Table("snapshots").All() {
			if n--; n < 0 {
				break
			}
			defer func() { p.must(u.Table("snapshots").Put(key, append(value, "no more"...))) }()
		}
		return nil
	}))
}

func TestWhatIsNotShownIsNotDecoded(t *testing.T) {
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	var all []*Recorded
	for i := range 10 {
		all = append(all, p.snap(e, fmt.Sprint(i), &SnapshotOptions{Label: `"worktree":"elsewhere","source":`, Entry: fmt.Sprint(i)}))
	}
	p.spoil(e, 6)
	list := p.list(e, &ListOptions{Limit: 4})
	if len(list) != 4 || list[0].ID != all[9].ID || list[3].ID != all[6].ID {
		t.Errorf("%d are listed", len(list))
	}
	if st, err := e.Status(ctx); err != nil || st.Snapshots != 10 || st.Total != 10 {
		t.Errorf("status: %+v, %v", st, err)
	}
	for n, text := range []string{"@", "@~1", "@~2", all[6].ID.String()[:11]} {
		if s, err := e.Find(ctx, text); err != nil || s.ID != all[9-n].ID {
			t.Errorf("%s: %v", text, err)
		}
	}
	if s, err := e.Before(ctx, all[7].Snapshot); err != nil || s.ID != all[6].ID {
		t.Errorf("before: %v, %v", s, err)
	}
	if _, err := e.Find(ctx, strings.Repeat("0", 9)); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("a prefix of none: %v", err)
	}
	if s := p.snap(e, "more", nil); s.Reused {
		t.Error("nothing was recorded")
	}
	if list, err := e.List(ctx, nil); !errors.Is(err, ErrDamaged) || len(list) != 5 { // and those that are whole
		t.Errorf("all of them: %d, %v", len(list), err)
	}
}

func TestManyRecordsAreDecodedInTheirOrder(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	first := p.snap(e, "one", nil)
	const n = 1000
	p.must(e.update(context.Background(), func(u *records.Update) error {
		for i := range n {
			s := *first.Snapshot
			s.Points = []Point{{Entry: fmt.Sprint(i), Session: fmt.Sprint(i % 2)}}
			s.ID = e.alg.Sum(1, fmt.Append(nil, i))
			if err := u.Record(&s, false); err != nil {
				return err
			}
		}
		return nil
	}))
	list := p.list(e, &ListOptions{Session: "1"})
	if len(list) != n/2 {
		t.Fatalf("%d are listed", len(list))
	}
	for i, s := range list {
		if want := fmt.Sprint(n - 1 - 2*i); s.Points[0].Entry != want {
			t.Fatalf("at %d is %s, not %s", i, s.Points[0].Entry, want)
		}
	}
}

func TestStatusMakesNothingOfTheSnapshotsThatItCounts(t *testing.T) {
	p := newPlace(t, false) // with git it also looks at the files among git's objects that are not packed yet
	e, ctx := p.open(), context.Background()
	made := func(total int) float64 {
		for n := range total {
			p.write("f", fmt.Sprint(total, " ", n))
			p.record(e, fmt.Sprint(n))
		}
		return testing.AllocsPerRun(5, func() {
			p.status(e)
		})
	}
	few, many := made(20), made(120)
	if st, err := e.Status(ctx); err != nil || st.Snapshots != 140 || st.Total != 140 {
		t.Errorf("%+v, %v", st, err)
	}
	if many > few+60 {
		t.Errorf("with 20 snapshots %v allocations, with 140 %v", few, many)
	}
}

// A list whose id table is damaged used to call such a snapshot the first of all.
func TestASnapshotToWhichItsIDDoesNotLeadIsNotCalledTheFirst(t *testing.T) {
	ctx := context.Background()
	for _, counted := range []bool{true, false} {
		p := newPlace(t, false)
		e := p.open()
		p.write("a", "1\n")
		p.record(e, "one")
		p.write("a", "1\n2\n")
		two := p.record(e, "two")
		p.write("b", "3\n")
		p.record(e, "three")
		if !counted {
			p.forgetChanges(e)
		}
		p.must(e.update(ctx, func(u *records.Update) error { return u.Table("snapshot-ids").Delete(two.ID.Bytes()) }))
		list, err := e.List(ctx, &ListOptions{Changes: true})
		if !errors.Is(err, ErrDamaged) || len(list) != 3 {
			t.Fatalf("counted %v: %d snapshots, %v", counted, len(list), err)
		}
		if c := list[1].Changed; list[1].ID != two.ID || c != nil && c.Known {
			t.Errorf("counted %v: of %s it says %+v", counted, list[1].Label(), c)
		}
		if c := list[2].Changed; c == nil || !c.Base.IsZero() || c.Files != 1 {
			t.Errorf("counted %v: of the first it says %+v", counted, c)
		}
		if base, err := e.Before(ctx, list[1]); !errors.Is(err, ErrDamaged) {
			t.Errorf("counted %v: before it was %v, %v", counted, base, err)
		}
	}
}
