package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/changes"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func testID(n int) oid.ID { return oid.SHA1.Sum(oid.Blob, fmt.Append(nil, n)) }

func TestALineOfTheListIsNeverWiderThanTheTerminal(t *testing.T) {
	wide := strings.Repeat("深い", 40)
	snapshot := func(n int, label string, names ...string) *engine.Snapshot {
		s := &engine.Snapshot{ID: testID(n), Where: ".", Time: time.Now(), Points: []engine.Point{{Label: label, Session: "s"}}}
		s.Changed = &changes.Changed{Base: testID(n + 1), Known: true, Files: 12345678, Added: 99999, Removed: 12345}
		for _, name := range names {
			s.Changed.Names = append(s.Changed.Names, changes.Name{Path: name, Status: 'M'})
		}
		return s
	}
	list := []*engine.Snapshot{
		snapshot(1, "short", "a.go"), snapshot(2, wide, wide+"/"+wide, "b\x1b[31m\n"), snapshot(3, strings.Repeat("x", 500), strings.Repeat("y/", 200)),
	}
	escapes := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for width := 40; width <= 300; width++ {
		for _, color := range []bool{false, true} {
			var b bytes.Buffer
			m := moments{here: list[1], pins: map[oid.ID][]string{list[2].ID: {"a pin", wide}}}
			p := &printer{graph: newGraph(), w: &b, m: m, l: &listing{graph: width%2 == 0, oneline: width%5 == 0}, width: width, how: look{color: color}}
			if err := p.print(list); err != nil {
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
	g := newGraph()
	for _, s := range []struct{ id, base int }{
		{9, 7}, {8, 3}, {7, 5}, {6, 3}, {5, 3}, {12, 11}, {11, 0}, {4, 3}, {3, 1}, {10, 0}, {1, 0},
	} {
		snapshot := &engine.Snapshot{ID: testID(s.id), Changed: &changes.Changed{}}
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
