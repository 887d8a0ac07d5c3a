package textmerge

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

func TestAMergeTakesWhatOneSideAloneChanged(t *testing.T) {
	seed := seed.Of(t)
	t.Logf("seed %d", seed)
	for i := range uint64(2000) {
		x := newTriple(seed + i)
		for _, c := range []struct {
			what                     string
			base, ours, theirs, want []byte
		}{
			{"theirs alone", x.base, x.base, x.theirs, x.theirs},
			{"ours alone", x.base, x.ours, x.base, x.ours},
			{"both to the same", x.base, x.ours, x.ours, x.ours},
		} {
			if got, n := mergeOf(t, c.base, c.ours, c.theirs, Labels{}); n != 0 || !bytes.Equal(got, c.want) {
				t.Fatalf("seed %d, %s: %d conflicts\n%s", seed+i, c.what, n, got)
			}
			if m, n := mergedByLines(c.base, c.ours, c.theirs); n != 0 || !bytes.Equal(m, c.want) { // without the short cut
				t.Fatalf("seed %d, %s, by lines: %d conflicts\n%s", seed+i, c.what, n, m)
			}
		}
		one, n := mergeOf(t, x.base, x.ours, x.theirs, Labels{})
		other, m := mergeOf(t, x.base, x.theirs, x.ours, Labels{})
		if (n == 0) != (m == 0) || n == 0 && !bytes.Equal(one, other) {
			t.Fatalf("seed %d: with the sides exchanged %d conflicts, not %d\n%s\n%s", seed+i, m, n, one, other)
		}
		checkLines(t, seed+i, x, one, n)
	}
}

func mergeOf(t *testing.T, base, ours, theirs []byte, labels Labels) ([]byte, int) {
	t.Helper()
	text, n, err := Merge(t.Context(), base, ours, theirs, labels)
	if err != nil {
		t.Fatal(err)
	}
	return text, n
}

// An ending context ends when it has been asked a number of times whether it has.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// Texts of few different words have no short script: to find it would take minutes.
func TestAMergeThatIsCalledOffEnds(t *testing.T) {
	text := func(seed uint64) []byte {
		r := rand.New(rand.NewPCG(seed, 7))
		var p []byte
		for range 1 << 18 {
			p = append(p, byte('a'+r.IntN(7)), '\n')
		}
		return p
	}
	base, ours, theirs := text(1), text(2), text(3)
	for _, left := range []int{0, 8, 16 * 3, 16*3 + 5, 16*3 + 40} {
		ctx := &ending{t.Context(), left}
		got, n, err := Merge(ctx, base, ours, theirs, Labels{})
		if !errors.Is(err, context.Canceled) || got != nil || n != 0 {
			t.Errorf("after %d looks: %d bytes, %d conflicts, %v", left, len(got), n, err)
		}
		if ctx.left < -8 {
			t.Errorf("after %d looks: it went on for %d more", left, -ctx.left)
		}
	}
}

func mergedByLines(base, ours, theirs []byte) ([]byte, int) {
	m := merging{ctx: context.Background()}
	m.base, m.ours, m.theirs = m.lines(base), m.lines(ours), m.lines(theirs)
	return m.merge()
}

// checkLines checks that no line is lost, brought back or doubled in a clean merge,
// where counting lines can tell.
func checkLines(t *testing.T, seed uint64, x triple, merged []byte, conflicts int) {
	t.Helper()
	if conflicts > 0 {
		return
	}
	base, ours, theirs, got := counted(x.base), counted(x.ours), counted(x.theirs), counted(merged)
	for line := range counted(append(append(bytes.Clone(x.ours), "\n"...), x.theirs...)) {
		o, b, h, n := ours[line], base[line], theirs[line], got[line]
		switch {
		case b == 0 && (n < max(o, h) || n > o+h), // added
			o == 0 && h == 0 && n > 0: // taken away
			t.Fatalf("seed %d: %q is there %d times: base %d, ours %d, theirs %d\nbase\n%s\nours\n%s\ntheirs\n%s\nmerged\n%s",
				seed, line, n, b, o, h, x.base, x.ours, x.theirs, merged)
		}
	}
}

func counted(p []byte) map[string]int {
	n := map[string]int{}
	for line := range strings.Lines(string(p)) {
		n[strings.TrimRight(line, "\n")]++
	}
	return n
}

func TestTextsWithoutCommonLinesAreOneConflict(t *testing.T) {
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"", "a\n", "b\n", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"},
		{"x", "a", "", "<<<<<<< ours\na\n=======\n>>>>>>> theirs\n"},
		{"x\r\n", "a\r\n", "b", "<<<<<<< ours\r\na\r\n=======\r\nb\r\n>>>>>>> theirs\r\n"},
		{"x\r\n", "a\r\n", "b\r\n", "<<<<<<< ours\r\na\r\n=======\r\nb\r\n>>>>>>> theirs\r\n"},
	} {
		got, n := mergeOf(t, []byte(c.base), []byte(c.ours), []byte(c.theirs), Labels{"ours", "theirs"})
		if n != 1 || string(got) != c.want {
			t.Errorf("%q %q %q: %d conflicts, %q", c.base, c.ours, c.theirs, n, got)
		}
		if want, n := (triple{[]byte(c.base), []byte(c.ours), []byte(c.theirs)}).merged(t, t.TempDir()); n != 1 || string(want) != c.want {
			t.Errorf("git merges %q %q %q: %d conflicts, %q", c.base, c.ours, c.theirs, n, want)
		}
	}
}

// Texts that have nothing but lines of the other in another order take quadratic
// time in a search for the shortest script.
func TestTextsInAnotherOrderAreMergedAllTheSame(t *testing.T) {
	w := &writer{Rand: rand.New(rand.NewPCG(1, 1)), words: 1}
	var list []string
	for range 60_000 {
		w.fresh++
		list = append(list, "line "+strings.Repeat("x", w.fresh%7)+string(rune('a'+w.fresh%26))+"\n")
	}
	base := []byte(strings.Join(list, ""))
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	ours := []byte(strings.Join(list, ""))
	if got, n := mergeOf(t, base, ours, append(bytes.Clone(base), "end\n"...), Labels{}); n == 0 && len(got) != len(ours)+4 {
		t.Errorf("%d bytes", len(got))
	}
}
