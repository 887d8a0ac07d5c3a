package blame

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/hunk"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

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
