package cas

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsSparedOutlivesCollectionsButNotAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s spares[*int]
		none := func() *int { return nil }
		one := s.take(func() *int { return new(int) })
		for range 3 { // used again and again, it stays for as long as that goes on
			s.put(one)
			runtime.GC()
			runtime.GC()
			time.Sleep(sparesFor * 3 / 4)
			if got := s.take(none); got != one {
				t.Fatalf("%v, not %v", got, one)
			}
		}
		s.put(one)
		time.Sleep(3 * sparesFor)
		if s.take(none) != nil || s.timer != nil {
			t.Error("what nobody used is kept")
		}
		s.put(one)
		if s.take(none) != one {
			t.Error("after a pause nothing is kept any more")
		}
		time.Sleep(3 * sparesFor)
	})
}

func TestSparesAreAsManyAsProcessors(t *testing.T) {
	var s spares[int]
	for i := range runtime.GOMAXPROCS(0) + 3 {
		s.put(i)
	}
	if len(s.free) != runtime.GOMAXPROCS(0) {
		t.Errorf("%d are kept", len(s.free))
	}
	s.timer.Stop()
}
