package process

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

func TestTheFirstCollectionIsLateAndTheNextAreSoon(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	CollectLater()
	if got := debug.SetGCPercent(1200); got != 1200 {
		t.Fatalf("%d percent at first", got)
	}
	for range 100 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // the cleanup has a goroutine of its own
		if got := debug.SetGCPercent(1200); got == collectAt {
			return
		}
	}
	t.Error("the first collection changed nothing")
}

func TestAProgramThatLivesOnHasRoomForGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var ended atomic.Bool
	defer ended.Store(true)
	CollectLess(func() bool { return !ended.Load() })
	large := make([]byte, 64<<20)
	large[0] = 1
	until := func(what string, right func(percent int) bool) {
		t.Helper()
		percent := 0
		for range 200 {
			runtime.GC()
			time.Sleep(10 * time.Millisecond) // the cleanup has a goroutine of its own
			percent = debug.SetGCPercent(100)
			if debug.SetGCPercent(percent); right(percent) {
				return
			}
		}
		t.Errorf("%s: %d percent", what, percent)
	}
	until("a large heap", func(percent int) bool { return percent == percentOf(live()) })
	runtime.KeepAlive(large)
	large = nil
	until("a small heap", func(percent int) bool { return percent > 2*collectAt })
}

func TestALargeHeapGrowsByLittle(t *testing.T) {
	for live, want := range map[uint64]int{0: collectAt, 1 << 20: collectAt, 64 << 20: collectAt, 100 << 20: 40, 200 << 20: 20, 1 << 30: collectAtLeast, 1 << 60: collectAtLeast} {
		if got := percentOf(live); got != want {
			t.Errorf("%d bytes: %d percent, want %d", live, got, want)
		}
	}
}

func TestGOGCIsObeyed(t *testing.T) {
	t.Setenv("GOGC", "70")
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	CollectLater()
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("%d percent", got)
	}
}
