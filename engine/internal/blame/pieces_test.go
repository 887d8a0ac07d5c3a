package blame

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBetweenWhatVersionsShareAreWholeLines(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	for range 20_000 {
		known := map[string][]byte{}
		var lines []string
		for range r.IntN(8) {
			lines = append(lines, []string{"a\n", "in 3 and n\n", "\n", "n3n3", "long 3 without an end n"}[r.IntN(5)])
		}
		before := &Version{Text: cut([]byte(fmt.Sprint(lines)), known)}
		for range r.IntN(3) {
			at := r.IntN(len(lines) + 1)
			lines = slices.Insert(lines, at, []string{"b\n", "n", "3\n"}[r.IntN(3)])
		}
		after := &Version{Text: cut([]byte(fmt.Sprint(lines)), known)}
		if r.IntN(2) == 0 {
			before.ends(nil)
		}
		old, new, first := between(before, after)
		a, b := whole(before.Text), whole(after.Text)
		above := 0
		for range first {
			above += bytes.IndexByte(a[above:], '\n') + 1
		}
		if !bytes.HasPrefix(a[above:], old) || !bytes.HasPrefix(b[above:], new) || !bytes.Equal(a[:above], b[:above]) {
			t.Fatalf("%q and %q: %q and %q lie between, from line %d on", a, b, old, new, first)
		}
		rest := a[above+len(old):]
		if !bytes.Equal(rest, b[above+len(new):]) || len(rest) > 0 && !(beginsLine(a, len(a)-len(rest)) && beginsLine(b, len(b)-len(rest))) {
			t.Fatalf("%q and %q: %q and %q lie between, and %q and %q below", a, b, old, new, rest, b[above+len(new):])
		}
		if n := bytes.Count(a, newline); sum(before.ends(nil)) != n || sum(after.ends(before)) != bytes.Count(b, newline) {
			t.Fatalf("%q and %q: the lines are miscounted", a, b)
		}
	}
}

func sum(numbers []int) (n int) {
	for _, x := range numbers {
		n += x
	}
	return n
}
