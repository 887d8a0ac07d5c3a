//go:build linux

package power

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// A disk serves an image and logs what is done to it.
type disk struct {
	mu        sync.Mutex
	now       image
	logging   bool
	recording recording
	replay    replayer
}

// An event is a write, or a flush if it has no data: when a flush is in the
// log, all that stands before it in the log is durable.
type event struct {
	off  int64
	data []byte
}

func (e event) flush() bool { return e.data == nil }

// A recording is all that happened to a disk since it held start.
type recording struct {
	start image
	log   []event
}

func (d *disk) read(off int64, b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now.read(off, b)
}

func (d *disk) write(off int64, b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now.write(off, b)
	if d.logging {
		d.recording.log = append(d.recording.log, event{off, slices.Clone(b)})
	}
}

func (d *disk) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logging {
		d.recording.log = append(d.recording.log, event{})
	}
}

// record begins a log, with the disk as it is now.
func (d *disk) record() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recording, d.logging = recording{start: d.now.clone()}, true
}

// position is how many events are in the log by now.
func (d *disk) position() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.recording.log)
}

// image is what it holds now.
func (d *disk) image() image {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now.clone()
}

// after is what it would hold if the power had failed.
func (d *disk) after(c cut, rng *rand.Rand) image {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.replay.rec == nil {
		d.replay.rec = &d.recording
	}
	return d.replay.image(c, rng)
}
