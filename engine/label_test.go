package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestALabelThatIsGivenLaterChangesNothingElse(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		e, ctx := p.open(), context.Background()
		first := p.snap(e, "one", nil).ID
		last := p.snap(e, "two", &SnapshotOptions{Label: "mine"}).ID
		ref := refOf(p, e)
		p.do(e, Op{To: first})
		p.write("file", "three")
		p.do(e, Op{To: first})
		undo := p.find(e, "undo:1")
		for text, id := range map[string]oid.ID{"the first": first, "theirs": last, "left": undo.ID} {
			p.must(e.Label(ctx, id, text, false))
			p.must(e.Label(ctx, id, text, false)) // once more says nothing new
			s, err := e.Find(ctx, "label:"+text)
			if err != nil || s.ID != id || s.Label() != text {
				t.Errorf("%s: %v, %v", text, s, err)
			}
			n := 0
			for _, point := range s.Points {
				if point.Label == text {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s: %d points", text, n)
			}
		}
		for name, id := range map[string]oid.ID{"@": last, "label:mine": last, "undo:1": undo.ID} {
			if s, err := e.Find(ctx, name); err != nil || s.ID != id {
				t.Errorf("%s is %v, %v", name, s, err)
			}
		}
		if here, err := e.Here(ctx); err != nil || here.ID != first {
			t.Errorf("the files stand at %v, %v", here, err)
		}
		if now := refOf(p, e); git && len(now) < len(ref) {
			t.Errorf("the ref had %v and has %v", ref, now)
		}
		p.must(e.Close())
		e = p.open()
		p.prune(e, &PruneOptions{MaxSnapshots: 1})
		for _, text := range []string{"the first", "theirs", "mine", "left"} {
			if _, err := e.Find(ctx, "label:"+text); err != nil {
				t.Errorf("after a prune: %v", err)
			}
		}
		p.must(e.Label(ctx, last, "mine", true))
		if err := e.Label(ctx, last, "mine", true); !errors.Is(err, ErrNoSnapshot) {
			t.Errorf("taken away twice: %v", err)
		}
		if s, err := e.Find(ctx, last.String()); err != nil || s.Label() != "theirs" || s.OfRestore() {
			t.Errorf("%+v, %v", s, err)
		}
		if err := e.Label(ctx, last, " ", false); !errors.Is(err, ErrRefused) {
			t.Errorf("an empty label: %v", err)
		}
	}
}

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

// refOf returns what the store ref keeps, none without git.
func refOf(p *place, e *Engine) []oid.ID {
	if e.repo == nil {
		return nil
	}
	return p.inRef(e)
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

func TestALabelWithWhiteSpaceAroundItCanBeTakenAway(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	id := p.snap(e, "one", &SnapshotOptions{Label: " mine\n"}).ID
	p.must(e.Label(ctx, id, "mine", true))
	if s, err := e.Find(ctx, id.String()); err != nil || s.Label() != "" {
		t.Errorf("%+v, %v", s, err)
	}
}
