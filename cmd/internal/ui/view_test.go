package ui

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

func TestTheScreenAtSeveralWidths(t *testing.T) {
	for _, size := range [][2]int{{60, 24}, {80, 24}, {120, 36}, {300, 40}, {40, 10}} {
		m := still(t, size[0], size[1])
		tellAll(m)
		wantWhole(t, m)
		wantPicture(t, m, fmt.Sprintf("screen-%dx%d", size[0], size[1]))
	}
}

func TestTheDialogs(t *testing.T) {
	m := still(t, 100, 30)
	tellAll(m)
	keys(m, "?")
	wantWhole(t, m)
	wantPicture(t, m, "help")
	m.Update(planned{deed: deed{title: "Restore 3f2a1b9c0d1e", of: "everything", back: "z"}, plan: &engine.Diff{
		Changes:   changed(),
		Kept:      []engine.Note{{Path: ".env", Reason: "it is ignored"}},
		Conflicts: []engine.Note{{Path: "odd\x1b[2Jname", Reason: "it is\nlost"}},
	}})
	wantWhole(t, m)
	wantPicture(t, m, "question")
	m.Update(tell(deed{title: "Restore 3f2a1b9c0d1e", back: "z"}, &engine.Restored{
		ID: idOf(1), Undo: idOf(2), Written: 3, Deleted: 1,
		Kept: []engine.Note{{Path: ".env", Reason: "it is ignored"}}, Conflicts: []engine.Note{{Path: "src/app.py", Reason: "it was changed meanwhile"}},
	}, nil, 12*time.Millisecond))
	wantWhole(t, m)
	wantPicture(t, m, "told")
}

// Whatever the size, the pane, the dialog and the place: the rows fill the terminal.
func TestEveryRowIsAsWideAsTheTerminal(t *testing.T) {
	seed := seed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	names := []string{"up", "down", "left", "right", "pgdown", "home", "end", "d", "?", "esc", "/", "a", "+", "space", "-", "p", "c", "n", "L", "H", "世", "enter", "]"}
	m := still(t, 80, 24)
	for range 1000 {
		switch r.IntN(8) {
		case 0:
			m.Update(tea.WindowSizeMsg{Width: 1 + r.IntN(310), Height: 1 + r.IntN(70)})
		case 1:
			tellAll(m)
		case 2:
			m.Update(tea.MouseClickMsg{X: r.IntN(m.w), Y: r.IntN(m.h), Button: tea.MouseLeft})
		case 3:
			m.Update(tea.MouseWheelMsg{X: r.IntN(m.w), Y: r.IntN(m.h), Button: tea.MouseWheelDown})
		default:
			keys(m, names[r.IntN(len(names))])
		}
		wantWhole(t, m)
	}
}

func TestScreensOfWhatIsWrongSaySo(t *testing.T) {
	for what, test := range map[string]struct {
		msg  listed
		want string
	}{
		"no snapshot":  {listed{}, "No snapshot yet"},
		"a dead store": {listed{err: errors.New("the store \x1b[2J is damaged")}, `! the store \x1b[2J is damaged`},
		"a bad record": {listed{past: past{moments: story().moments, damage: errors.New("record 3 is damaged")}}, "! record 3 is damaged"},
		"a lost state": {listed{past: story()}, "not whole: its contents are gone"},
	} {
		m := still(t, 130, 24)
		m.Update(test.msg)
		wantWhole(t, m)
		if !strings.Contains(picture(m), test.want) {
			t.Errorf("%s: the screen does not say %q:\n%s", what, test.want, picture(m))
		}
	}
	m := still(t, 120, 30)
	tellAll(m)
	m.Update(compared{err: errors.New("the tree is gone")})
	wantWhole(t, m)
	if !strings.Contains(picture(m), "! the tree is gone") {
		t.Errorf("a comparison that failed says nothing:\n%s", picture(m))
	}
}

// Only the rows that are seen are drawn, however many there are.
func TestTheCostOfAScreenDoesNotGrowWithTheHistory(t *testing.T) {
	cost := func(n int) float64 {
		m := still(t, 120, 40)
		p := past{}
		for i := range n {
			p.moments = append(p.moments, momentAt(i+1, i, engine.Point{Label: fmt.Sprintf("label %08d", i)}))
		}
		m.Update(listed{past: p})
		m.timeline.cursor.at = n / 2
		return testing.AllocsPerRun(5, func() { m.screen() })
	}
	few, many := cost(100), cost(10_000)
	t.Logf("%.0f allocations for 100 snapshots, %.0f for 10,000", few, many)
	if many > few*1.2+20 {
		t.Errorf("a screen of 10,000 snapshots takes %.0f allocations, one of 100 takes %.0f", many, few)
	}
}

// The library wakes up that often also while nobody does anything.
func TestAnIdleScreenWakesAtMostTwentyTimesASecond(t *testing.T) {
	p := (&Screen{}).draws(t.Context(), &model{}, colorprofile.ASCII)
	if fps := reflect.ValueOf(p).Elem().FieldByName("fps").Int(); fps < 1 || fps > 20 {
		t.Errorf("%d times", fps)
	}
}
