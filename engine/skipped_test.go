package engine

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
)

func TestManySkippedPathsAreStoredOnce(t *testing.T) {
	p := newPlace(t, false)
	p.write(".rewind-test", "")
	p.env["XDG_CONFIG_HOME"] = p.home
	p.must(os.MkdirAll(p.home+"/rewind", 0o755))
	p.must(os.WriteFile(p.home+"/rewind/config", []byte("[rewind]\n\texclude = *.out\n"), 0o644))
	const many = 2560 // far more than stand in a record itself
	for i := range many {
		p.write(fmt.Sprint("d/", i, ".out"), "left out")
	}
	e, ctx := p.open(), context.Background()
	one := p.snap(e, "one", nil)
	if len(one.Skipped) != many {
		t.Fatalf("%d paths were skipped", len(one.Skipped))
	}
	two := p.snap(e, "two", nil)
	most := 0
	p.must(e.view(ctx, func(v *records.View) error {
		for _, value := range v.Table("snapshots").All() {
			most = max(most, len(value))
		}
		return nil
	}))
	if most > 2000 {
		t.Errorf("a record has %d bytes", most)
	}
	e = p.open()
	for _, id := range []*Recorded{one, two} {
		s, err := e.Find(ctx, id.ID.String())
		if err != nil || len(s.Skipped) != many {
			t.Errorf("%d skipped paths, %v", len(s.Skipped), err)
		}
	}
	list := p.list(e, nil)
	st := p.status(e)
	if len(list) != 2 || len(list[1].Skipped) != many || len(st.Skipped) != many {
		t.Errorf("%d snapshots, %d skipped paths in the status", len(list), len(st.Skipped))
	}
	again, err := e.Snapshot(ctx, &SnapshotOptions{Label: "again"})
	if err != nil || !again.Reused || len(again.Skipped) != many {
		t.Errorf("reused %v, %d skipped paths, %v", again.Reused, len(again.Skipped), err)
	}
	// A restore does not delete what was left out then, and a prune keeps the list.
	p.prune(e, &PruneOptions{MaxSnapshots: 2, Grace: -1})
	r, err := e.Do(ctx, Op{To: one.ID})
	if err != nil || r.Deleted != 0 || !p.exists("d/7.out") {
		t.Errorf("%+v, %v", r, err)
	}
	p.wantClean(e)
}
