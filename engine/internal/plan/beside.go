package plan

import (
	"iter"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// besideBatch is how many changes are handed over at a time.
const besideBatch = 256

// beside yields what a list does, which is made on a goroutine of its own meanwhile. What the
// list is made by must stand being called beside the caller.
func beside(list iter.Seq2[tree.Change, error]) iter.Seq2[tree.Change, error] {
	return func(yield func(tree.Change, error) bool) {
		type found struct {
			c   tree.Change
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
