package engine

import (
	"context"
	"testing"
)

// A record that is made anew from the commit can have a label; the labels of before went
// with the store, as pins do.
func TestASnapshotWhoseStoreWasLostCanHaveALabel(t *testing.T) {
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	first := p.snap(e, "one", nil).ID
	p.sync(e)
	e = p.loseStore(e)
	p.must(e.Label(ctx, first, "found again", false))
	if s, err := e.Find(ctx, "label:found again"); err != nil || s.ID != first {
		t.Errorf("%v, %v", s, err)
	}
}

func TestALabelThatIsTakenAwayLeavesASnapshotRecordedOnPurpose(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.snap(e, "one", nil)
	last := p.snap(e, "two", &SnapshotOptions{Label: "mine", Trigger: "undo"}).ID
	p.must(e.Label(ctx, last, "mine", true))
	if s, err := e.Find(ctx, "@"); err != nil || s.ID != last || s.OfRestore() || s.Label() != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
