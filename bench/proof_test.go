package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// Who fails in a later round has not shown that what it recorded comes back.
func TestWhoFailsBeforeItsProofIsNotCalledExact(t *testing.T) {
	st := &stage{o: Options{Rounds: 3, longest: 1 << 40, Progress: func(string) {}, Note: func(string) {}}}
	l, err := (&stage{dir: t.TempDir()}).emptyLane("x")
	if err != nil {
		t.Fatal(err)
	}
	n, proved := 0, false
	nothing := func(context.Context) error { return nil }
	w := way{name: "peer", lane: l, before: nothing, after: nothing,
		act: func(context.Context) error {
			if n++; n == 3 {
				return errors.New("it broke")
			}
			return nil
		},
		prove: func(context.Context) error { proved = true; return nil },
	}
	lines, err := measure(context.Background(), st, "w", []way{w})
	if err != nil {
		t.Fatal(err)
	}
	if lines[0].Exact == report.Exact && !proved {
		t.Errorf("exact, and nothing was proved: %+v", lines[0])
	}
}
