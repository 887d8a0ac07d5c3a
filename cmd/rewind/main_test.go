package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestTheFirstCollectionIsLateAndTheNextAreSoon(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	collectLater()
	if got := debug.SetGCPercent(1600); got != 1600 {
		t.Fatalf("%d percent at first", got)
	}
	for range 100 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // the cleanup has a goroutine of its own
		if got := debug.SetGCPercent(1600); got == 60 {
			return
		}
	}
	t.Error("the first collection changed nothing")
}

func TestADurationOfManyUnitsIsTheLongestThereIs(t *testing.T) {
	for n, want := range map[float64]time.Duration{0: 0, 0.5: 12 * time.Hour, 3: 72 * time.Hour, 106752: math.MaxInt64, 616385997: math.MaxInt64, 1e300: math.MaxInt64} {
		if got := duration(n, 24*time.Hour); got != want {
			t.Errorf("%v days are %v, want %v", n, got, want)
		}
	}
}

func TestGOGCIsObeyed(t *testing.T) {
	t.Setenv("GOGC", "70")
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	collectLater()
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("%d percent", got)
	}
}
