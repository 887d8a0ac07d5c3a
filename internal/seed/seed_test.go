package seed_test

import (
	"flag"
	"strconv"
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

func TestADeepRunTriesMoreAndAShortOneLess(t *testing.T) {
	was := testing.Short()
	defer func() { must(t, flag.Set("test.short", strconv.FormatBool(was))) }()
	for _, c := range []struct {
		deep  string
		short bool
		of    int
		want  int
	}{{"", false, 3, 3}, {"no number", false, 3, 3}, {"7", false, 3, 21}, {"7", true, 3, 21}, {"", true, 60, 10}, {"", true, 3, 1}} {
		t.Setenv("REWIND_DEEP", c.deep)
		must(t, flag.Set("test.short", strconv.FormatBool(c.short)))
		if got := seed.Times(c.of); got != c.want || seed.Deep() != (c.deep == "7") {
			t.Errorf("%+v: %d, deep %v", c, got, seed.Deep())
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
