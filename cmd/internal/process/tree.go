package process

import "time"

// A Work is what a process and all that it started have done.
type Work struct {
	Took time.Duration // of a processor
	Who  uint64        // stands for the processes that there are: another one, others
}
