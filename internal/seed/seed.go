// Package seed gives random tests their seeds, and says how long they go on.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// usual is the seed of a usual run. What passes once then passes again, so that a
// failure speaks of the change that is tested. New inputs are looked for on purpose.
const usual = 1

// Of returns the seed of a random test, and prints it: the number in REWIND_SEED, a
// new one if REWIND_SEED is "random", and otherwise the one of usual runs. Random
// tests that make several worlds count up from it, so that a printed seed, given
// back, makes its world the first. Any other REWIND_SEED ends the test.
func Of(t testing.TB) uint64 {
	t.Helper()
	n := uint64(usual)
	switch text := os.Getenv("REWIND_SEED"); text {
	case "":
	case "random":
		n = rand.Uint64N(1 << 40) // short enough to be written down
	default:
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("REWIND_SEED is neither a number nor \"random\": %v", err)
		}
	}
	t.Logf("REWIND_SEED=%d", n)
	return n
}

// Deep reports whether all is to be tried that can be, as by "make deep": with a number
// in REWIND_DEEP. A usual run tries a sample.
func Deep() bool { return factor() > 0 }

// Short is the part of a usual run that "go test -short" tries: under Wine, where each
// look at a file asks a server, and a process takes a fifth of a second.
const short = 6

// Times is how many of something a test tries: n in a usual run, and so many times more
// as REWIND_DEEP says; with -short a sixth, and one at least.
func Times(n int) int {
	if factor() == 0 && testing.Short() {
		return max(n/short, 1)
	}
	return n * max(factor(), 1)
}

func factor() int {
	n, _ := strconv.Atoi(os.Getenv("REWIND_DEEP"))
	return n
}
