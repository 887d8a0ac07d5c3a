package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// A breaker records nothing. It fails from a turn on, or when it is to put something back.
type breaker struct {
	peer
	turns, fails int
}

func (b *breaker) snapshot(context.Context, *lane) (string, error) {
	if b.turns++; b.turns > b.fails {
		return "", errors.New("it broke")
	}
	return "x", nil
}

func (*breaker) restore(context.Context, *lane, string) error { return errors.New("it cannot") }

// What was not recorded is not put back, and is no proof of anything.
func TestWhoFailsInATurnOrInItsProofIsNotCalledExact(t *testing.T) {
	t.Parallel()
	for fails, want := range map[int]report.Exactness{0: "", 1: "", 2: "", 9: report.NotExact} {
		peer := contender{key: "peer", name: "peer", make: func(*lane) system { return &breaker{fails: fails} }}
		o, err := Options{Files: 100, Turns: 4}.filled()
		if err != nil {
			t.Fatal(err)
		}
		st, err := newStage(t.Context(), o, place{dir: t.TempDir()}, []contender{peer})
		if err != nil {
			t.Fatal(err)
		}
		results, err := turns(t.Context(), st, workload{name: "turns"})
		if err != nil {
			t.Fatal(err)
		}
		if line := results[0].Lines[0]; line.Exact != want || (line.Left == "") != (fails == 9) {
			t.Errorf("after %d turns: %+v", fails, line)
		}
	}
}
