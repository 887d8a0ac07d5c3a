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
