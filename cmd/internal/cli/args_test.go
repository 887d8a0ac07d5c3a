package cli

import (
	"math"
	"testing"
	"time"
)

func TestADurationOfManyUnitsIsTheLongestThereIs(t *testing.T) {
	for n, want := range map[float64]time.Duration{0: 0, 0.5: 12 * time.Hour, 3: 72 * time.Hour, 106752: math.MaxInt64, 616385997: math.MaxInt64, 1e300: math.MaxInt64} {
		if got := Duration(n, 24*time.Hour); got != want {
			t.Errorf("%v days are %v, want %v", n, got, want)
		}
	}
}
