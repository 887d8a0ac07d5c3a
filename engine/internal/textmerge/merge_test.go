package textmerge

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

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
