package blame

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A list is a past that is a list of versions, the newest first. The oldest was there
// when the history began.
type list struct {
	versions []*Version
	reads    int
	damaged  *records.Snapshot
}

func (l *list) Earlier(_ context.Context, v *Version) (*records.Snapshot, *Version, bool, error) {
	l.reads++
	at := slices.Index(l.versions, v)
	switch {
	case v.Snapshot == l.damaged && v.Snapshot != nil:
		return v.Snapshot, nil, false, errDamaged
	case at == len(l.versions)-1:
		return v.Snapshot, nil, true, nil
	}
	return v.Snapshot, l.versions[at+1], false, nil
}

var errDamaged = errors.New("damaged")

// snapshot makes the one with a number.
func snapshot(n int) *records.Snapshot {
	return &records.Snapshot{ID: oid.SHA1.Sum(oid.Blob, fmt.Append(nil, n)), Time: time.Unix(int64(n), 0)}
}

// A told line knows by whom it was brought.
type told struct {
	text string
	by   int
}

func TestEachLineIsSaidToComeFromWhereItCame(t *testing.T) {
	seed := seed.Of(t)
	r := rand.New(rand.NewPCG(seed, 3))
	for range 300 {
		var now []told
		past, made := &list{}, 0
		for n := range 2 + r.IntN(12) {
			for range r.IntN(6) {
				at := r.IntN(len(now) + 1)
				if r.IntN(3) == 0 && at < len(now) {
					now = slices.Delete(now, at, at+1)
					continue
				}
				made++
				now = slices.Insert(now, at, told{fmt.Sprintf("line %d\n", made), n})
			}
			var text bytes.Buffer
			for _, l := range now {
				text.WriteString(l.text)
			}
			past.versions = slices.Insert(past.versions, 0, &Version{Snapshot: snapshot(n), Path: "f", Text: bytes.Clone(text.Bytes())})
		}
		first := 1 + r.IntN(3)
		last := first + r.IntN(20)
		got, err := Run(t.Context(), past, past.versions[0], first, last)
		if err != nil {
			t.Fatal(err)
		}
		want := now[min(first-1, len(now)):min(last, len(now))]
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i, l := range got {
			if string(l.Text) != want[i].text || l.From.ID != snapshot(want[i].by).ID || l.Older != (want[i].by == 0) {
				t.Fatalf("line %d: %q from %v, older %v; want %+v", first+i, l.Text, l.From.Time, l.Older, want[i])
			}
		}
	}
}

func TestWhatIsKnownOfAllLinesIsLookedForNoFurther(t *testing.T) {
	past := &list{}
	for n := range 50 {
		text := fmt.Appendf(nil, "top %d\n", n)
		for i := range n {
			text = fmt.Appendf(text, "line %d\n", i)
		}
		past.versions = slices.Insert(past.versions, 0, &Version{Snapshot: snapshot(n), Path: "f", Text: text})
	}
	if _, err := Run(t.Context(), past, past.versions[0], 48, 50); err != nil || past.reads != 3 {
		t.Errorf("%d versions looked at, want 3: %v", past.reads, err)
	}
}

func TestAVersionThatCannotBeReadEndsWhatIsKnown(t *testing.T) {
	past := &list{}
	for n, text := range []string{"x\n", "old\n", "middle\nold\n", "new\nmiddle\nold\n"} {
		past.versions = slices.Insert(past.versions, 0, &Version{Snapshot: snapshot(n), Path: "f", Text: []byte(text)})
	}
	past.versions[0].Snapshot = nil
	past.damaged = past.versions[2].Snapshot
	got, err := Run(t.Context(), past, past.versions[0], 1, 9)
	if !errors.Is(err, errDamaged) {
		t.Fatalf("%v, %v", err, got)
	}
	if got[0].From != nil || got[1].From.ID != snapshot(2).ID || got[1].Older || got[2].From.ID != snapshot(1).ID || !got[2].Older {
		t.Errorf("%+v", got)
	}
}

// Most of the time goes into the comparison of whole texts, with which the short one must
// agree.
func TestWhatTextsHaveInCommonIsWholeLinesOfBoth(t *testing.T) {
	pairs, seed := seed.Times(1500), seed.Of(t)
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	text := func() []byte {
		lines := strings.SplitAfter(strings.Repeat("a\nb\naa\n\nb", rnd.IntN(6)), "\n")
		for range rnd.IntN(4) {
			at := rnd.IntN(len(lines) + 1)
			lines = slices.Insert(lines, at, []string{"a", "b\n", "aa\n", "\n", strings.Repeat("long\n", 2000)}[rnd.IntN(5)])
		}
		return []byte(strings.Join(lines, ""))
	}
	met := map[string]int{}
	for range pairs {
		a, b := text(), text()
		above, below := alike(a, b)
		if above+below > min(len(a), len(b)) {
			t.Fatalf("%q and %q: %d and %d bytes in common", a, b, above, below)
		}
		for _, of := range [][]byte{a, b} {
			if !bytes.Equal(of[:above], a[:above]) || !bytes.Equal(of[len(of)-below:], a[len(a)-below:]) || !beginsLine(of, above) || below > 0 && !beginsLine(of, len(of)-below) {
				t.Fatalf("%q and %q: %d and %d bytes in common", a, b, above, below)
			}
		}
		met[fmt.Sprintf("alike above %v, below %v", above > 0, below > 0)]++
		came := 0 // a shortest script has as many lines that came as one of the whole texts
		for _, h := range hunk.Of(a, b) {
			for _, l := range h.Lines {
				if l.Op == '+' {
					came++
				}
			}
		}
		numbers := make([]int, len(slices.Collect(bytes.Lines(b))))
		for i := range numbers {
			numbers[i] = i
		}
		old, new, last := slices.Collect(bytes.Lines(a)), slices.Collect(bytes.Lines(b)), -1
		for i, at := range back(b, a, numbers) {
			if at < 0 {
				came--
			} else if at <= last || !bytes.Equal(old[at], new[i]) {
				t.Fatalf("%q from %q: line %d is line %d", b, a, i, at)
			}
			last = max(last, at)
		}
		if came != 0 {
			t.Fatalf("%q from %q: %d lines fewer came than in the whole comparison", b, a, came)
		}
	}
	if len(met) < 4 {
		t.Errorf("the texts met only these cases: %v", met)
	}
}
