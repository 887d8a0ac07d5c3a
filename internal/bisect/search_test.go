package bisect

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// made makes a search over n snapshots that all differ.
func made(n int) *search {
	s := &search{verdicts: make([]Verdict, n)}
	for i := range n {
		id := oid.SHA1.Sum(oid.Blob, []byte{byte(i), byte(i >> 8)})
		s.list = append(s.list, &engine.Snapshot{ID: id, Tree: id})
	}
	s.verdicts[0], s.verdicts[n-1] = Good, Bad
	return s
}

func TestASearchFindsTheFirstBadWithFewTestsWhateverIsSkipped(t *testing.T) {
	seed := seed.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		n := 2 + r.IntN(300)
		first := 1 + r.IntN(n-1)
		skips := map[int]bool{}
		if r.IntN(2) == 0 {
			for range r.IntN(n) {
				skips[1+r.IntN(n-1)] = true
			}
		}
		s, tests := made(n), 0
		for {
			at, left := s.next()
			if at < 0 {
				break
			}
			if left < 1 || s.verdicts[at] != "" {
				t.Fatalf("seed %d: %d is to be tested again, %d left", seed, at, left)
			}
			v := Bad
			switch tests++; {
			case skips[at]:
				v = Skipped
			case at < first:
				v = Good
			}
			if err := s.mark(s.list[at].ID, v); err != nil {
				t.Fatal(err)
			}
		}
		good, bad := s.bounds()
		if good >= first || bad < first {
			t.Fatalf("seed %d: the first of %d is %d, found in (%d, %d]", seed, n, first, good, bad)
		}
		for i := good + 1; i < bad; i++ {
			if !skips[i] {
				t.Fatalf("seed %d: %d is left open in (%d, %d], and was not skipped", seed, i, good, bad)
			}
		}
		if most := steps(n); len(skips) == 0 && tests > most {
			t.Errorf("seed %d: %d tests among %d, more than %d", seed, tests, n, most)
		}
	}
}

func TestAVerdictThatContradictsIsRefusedAndChangesNothing(t *testing.T) {
	s := made(10)
	mark := func(at int, v Verdict) error { return s.mark(s.list[at].ID, v) }
	if err := mark(5, Bad); err != nil {
		t.Fatal(err)
	}
	for at, v := range map[int]Verdict{7: Good, 0: Bad, 9: Good} {
		if err := mark(at, v); err == nil {
			t.Errorf("%d may be %s", at, v)
		}
	}
	if err := mark(2, Good); err != nil {
		t.Fatal(err)
	}
	if err := mark(1, Bad); err == nil {
		t.Error("a bad one before a good one")
	}
	if good, bad := s.bounds(); good != 2 || bad != 5 {
		t.Errorf("bounds %d, %d", good, bad)
	}
}

func TestOneVerdictCountsForAllSnapshotsOfTheSameFiles(t *testing.T) {
	s := made(10)
	s.list[2].Tree = s.list[6].Tree
	if err := s.mark(s.list[6].ID, Bad); err != nil {
		t.Fatal(err)
	}
	if _, bad := s.bounds(); bad != 2 {
		t.Errorf("the first known to be bad is %d", bad)
	}
}
