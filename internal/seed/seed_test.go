package seed_test

import (
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

func TestAUsualRunHasTheSameSeedAndOthersAreAskedFor(t *testing.T) {
	t.Setenv("REWIND_SEED", "")
	if a, b := seed.Of(t), seed.Of(t); a != b {
		t.Errorf("two usual seeds: %d, %d", a, b)
	}
	t.Setenv("REWIND_SEED", "18446744073709551615")
	if got := seed.Of(t); got != 1<<64-1 {
		t.Errorf("%d", got)
	}
	t.Setenv("REWIND_SEED", "random")
	if a, b := seed.Of(t), seed.Of(t); a == b {
		t.Errorf("two drawn seeds are both %d", a)
	}
}

func TestADeepRunTriesMore(t *testing.T) {
	for text, times := range map[string]int{"": 1, "no number": 1, "7": 7} {
		t.Setenv("REWIND_DEEP", text)
		if got := seed.Times(3); got != 3*times || seed.Deep() != (times > 1) {
			t.Errorf("%q: %d, deep %v", text, got, seed.Deep())
		}
	}
}
