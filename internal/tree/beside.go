package tree

import (
	"iter"
)

// besideBatch is how many changes are handed over at a time.
const besideBatch = 256

// Beside yields what a list does, which is made on a goroutine of its own meanwhile. What the
// list is made by must stand being called beside the caller.
func Beside(list iter.Seq2[Change, error]) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		type found struct {
			c   Change
			err error
		}
		batches, stop := make(chan []found, 4), make(chan struct{})
		go func() {
			defer close(batches)
			var batch []found
			hand := func() bool {
				select {
				case batches <- batch:
					batch = make([]found, 0, besideBatch)
					return true
				case <-stop:
					return false
				}
			}
			for c, err := range list {
				if batch = append(batch, found{c, err}); len(batch) == besideBatch && !hand() {
					return
				}
			}
			hand()
		}()
		defer func() {
			close(stop)
			for range batches { // until the goroutine has ended
			}
		}()
		for batch := range batches {
			for _, f := range batch {
				if !yield(f.c, f.err) {
					return
				}
			}
		}
	}
}
