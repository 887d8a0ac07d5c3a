package ui

import (
	"context"
	"fmt"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// The whole timeline, a look at the worktree and at the store's size cost many times what
// the first screen needs: they wait for it.
func TestTheFirstScreenComesBeforeAllElse(t *testing.T) {
	d := newDesk(t)
	for i := range 5 {
		d.write("file", fmt.Sprintln(i))
		d.snapshot(fmt.Sprint("number ", i))
	}
	d.write("file", "edited\n")
	d.m.first = 2
	var kinds []string
	for queue := []tea.Cmd{d.m.list(d.m.first)}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == nil || isTick(queue[0]) {
			continue
		}
		msg := queue[0]()
		if batch, ok := msg.(tea.BatchMsg); ok {
			queue = append(queue, batch...)
			continue
		}
		if a, ok := msg.(answer); ok {
			msg = a.msg
		}
		kinds = append(kinds, fmt.Sprintf("%T", msg)[len("ui."):])
		if _, ok := msg.(polled); ok {
			continue // it would ask again and again
		}
		_, next := d.m.Update(msg)
		queue = append(queue, next)
		if len(kinds) == 3 {
			d.shows("number 4", "number 3", "-3", "+4")
			d.lacks("number 2")
		}
	}
	if want := []string{"listed", "compared", "patched"}; len(kinds) < 6 || !slices.Equal(kinds[:3], want) {
		t.Errorf("it came as %v", kinds)
	}
	for _, kind := range []string{"polled", "listed", "edited"} {
		if !slices.Contains(kinds[min(3, len(kinds)):], kind) {
			t.Errorf("no %s in %v", kind, kinds)
		}
	}
	d.shows("number 0", "1 path changed")
}

func TestAScreenThatIsLateDoesNotHoldUpTheRest(t *testing.T) {
	d := newDesk(t)
	d.write("file", "one\n")
	d.snapshot("one")
	d.m.list(d.m.first)
	d.m.Update(listed{past: past{moments: []*moment{momentAt(1, 1)}}})
	if d.m.opened {
		t.Error("the rest has begun before the first screen was there")
	}
	d.m.Update(late{})
	if !d.m.opened {
		t.Error("the rest has not begun")
	}
}

func TestAnAnswerThatComesTooLateIsDroppedUnlessSomethingWasDone(t *testing.T) {
	d, _, second := worked(t)
	d.press("down")
	d.shows("A keep")
	late := d.m.compare()()
	d.press("up")
	_, next := d.m.Update(late)
	d.run(next)
	d.shows("What "+short(second.ID)+" changed", "A new")
	d.lacks("A keep")
	done := d.m.back.begin(&d.m.deeds, func(context.Context) tea.Msg { return brief(good, "it was done") })
	d.m.deeds.stop()
	d.run(done)
	d.shows("it was done")
}
