package cas

import (
	"runtime"
	"sync"
	"time"
)

// sparesFor is how long what nobody uses is kept. With a second, a first snapshot of 78,000 files took 104 MB instead of 93.
const sparesFor = 100 * time.Millisecond

// spares keep what is costly to make for the next who needs it, one for each processor. A [sync.Pool] is emptied by
// every second collection, and a command that records a thousand files has one every twenty milliseconds: it would make
// each again and again.
type spares[T any] struct {
	mu    sync.Mutex
	free  []T
	used  bool // since expire looked last
	timer *time.Timer
}

// take takes one, or makes one where there is none.
func (s *spares[T]) take(anew func() T) T {
	s.mu.Lock()
	last := len(s.free) - 1
	if last < 0 {
		s.mu.Unlock()
		return anew()
	}
	defer s.mu.Unlock()
	x := s.free[last]
	clear(s.free[last:])
	s.free = s.free[:last]
	return x
}

// put gives one back, which the caller must not use any more.
func (s *spares[T]) put(x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) < runtime.GOMAXPROCS(0) {
		s.free = append(s.free, x)
	}
	if s.used = true; s.timer == nil {
		s.timer = time.AfterFunc(sparesFor, s.expire)
	}
}

// expire leaves all to the collector, if none was used for a while. A process that waits is not woken again.
func (s *spares[T]) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used {
		s.used = false
		s.timer.Reset(sparesFor)
		return
	}
	s.free, s.timer = nil, nil
}
