package show

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func testID(n int) oid.ID { return oid.SHA1.Sum(oid.Blob, fmt.Append(nil, n)) }

// setChanged adds a path that was changed.
func setChanged(c *engine.Changed, path string) {
	c.Names = slices.Grow(c.Names, 1)[:len(c.Names)+1]
	last := &c.Names[len(c.Names)-1]
	last.Path, last.Status = path, 'M'
}

func TestALineOfTheListIsNeverWiderThanTheTerminal(t *testing.T) {
	wide := strings.Repeat("深い", 40)
	snapshot := func(n int, label string, names ...string) *engine.Snapshot {
		s := &engine.Snapshot{ID: testID(n), Where: ".", Time: time.Now(), Points: []engine.Point{{Label: label, Session: "s"}}}
		s.Changed = &engine.Changed{Base: testID(n + 1), Known: true, Files: 12345678, Added: 99999, Removed: 12345}
		for _, name := range names {
			setChanged(s.Changed, name)
		}
		return s
	}
	list := []*engine.Snapshot{
		snapshot(1, "short", "a.go"), snapshot(2, wide, wide+"/"+wide, "b\x1b[31m\n"), snapshot(3, strings.Repeat("x", 500), strings.Repeat("y/", 200)),
	}
	escapes := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for width := Narrowest; width <= 300; width++ {
		for _, color := range []bool{false, true} {
			var b bytes.Buffer
			m := moments{Here: list[1], Pins: map[oid.ID][]string{list[2].ID: {"a pin", wide}}}
			p := &Printer{W: &b, M: m, L: &Listing{Graph: width%2 == 0, Oneline: width%5 == 0}, Width: width, How: Look{Color: color}}
			if err := p.Print(list); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(escapes.ReplaceAllString(b.String(), "")) {
				if line = strings.TrimSuffix(line, "\n"); runewidth.StringWidth(line) > width || strings.ContainsAny(line, "\x1b\n") {
					t.Fatalf("%d columns: %d: %q", width, runewidth.StringWidth(line), line)
				}
			}
			if bare := escapes.ReplaceAllString(b.String(), ""); color == (bare == b.String()) {
				t.Fatalf("colours: %v: %q", color, b.String())
			}
			if got := strings.Count(b.String(), "<- "); got != 1 {
				t.Fatalf("%d columns: %d marks: %s", width, got, b.String())
			}
		}
	}
}

func TestAGraphJoinsEachSnapshotWithItsBase(t *testing.T) {
	var got strings.Builder
	g := graph{}
	for _, s := range []struct{ id, base int }{
		{9, 7}, {8, 3}, {7, 5}, {6, 3}, {5, 3}, {12, 11}, {11, 0}, {4, 3}, {3, 1}, {10, 0}, {1, 0},
	} {
		snapshot := &engine.Snapshot{ID: testID(s.id), Changed: &engine.Changed{}}
		if s.base > 0 {
			snapshot.Changed.Base = testID(s.base)
		}
		for _, line := range g.add(snapshot, &engine.Snapshot{ID: testID(6)}) {
			got.WriteString(line + "\n")
		}
		fmt.Fprintf(&got, "%s%d\n", g.lead, s.id)
	}
	want := `* 9
| * 8
* | 7
| | @ 6
* | | 5
| | | * 12
| | | * 11
| | |
| | | * 4
|_|_|/
|_|/
|/
* 3
| * 10
* 1
`
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}

func TestTheColumnsOfANarrowListStandBelowOneAnother(t *testing.T) {
	at := time.Now().Add(-time.Minute)
	s := &engine.Snapshot{ID: testID(1), Where: ".", Time: at, Points: []engine.Point{{Label: "label"}}}
	op := &engine.Operation{Kind: "undo", From: testID(2), Started: at.Add(time.Second)}
	for width := Narrowest; width <= 120; width++ {
		var b bytes.Buffer
		m := moments{Ops: []*engine.Operation{op}, Kept: map[oid.ID]bool{op.From: true}}
		p := &Printer{W: &b, M: m, L: &Listing{Oneline: true}, Width: width}
		if err := p.Print([]*engine.Snapshot{s}); err != nil {
			t.Fatal(err)
		}
		first, second, _ := strings.Cut(b.String(), "\n")
		if was, is := strings.Index(first, "what"), strings.Index(second, "label"); is < 1 || was != is {
			t.Errorf("%d columns:\n%s", width, b.String())
		}
	}
}

func TestWithoutATerminalNamesAreWhole(t *testing.T) {
	s := &engine.Snapshot{ID: testID(1), Where: ".", Time: time.Now()}
	s.Changed = &engine.Changed{Base: testID(2), Known: true, Files: 1}
	setChanged(s.Changed, "deep/down/below/a.go")
	var b bytes.Buffer
	if err := (&Printer{W: &b, L: &Listing{}}).Print([]*engine.Snapshot{s}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "  deep/down/below/a.go") {
		t.Error(b.String())
	}
}

func TestTheFirstSnapshotTellsHowManyFilesItHas(t *testing.T) {
	for files, want := range map[int]string{0: "no files", 1: "the only file", 2: "all 2 files"} {
		if got := changesText(&engine.Changed{Known: true, Files: files}); got != want {
			t.Errorf("%d: %q, want %q", files, got, want)
		}
	}
}
