package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// When Go collects garbage. It changes what a command costs, and nothing that it does.

// CollectLater lets the first garbage collection wait until the heap has grown
// to 48 MiB, where Go would begin at 4: what most commands need lies between,
// and collecting it would take a tenth of their time. From then on a collection
// comes sooner than usual: a first snapshot of 80,000 files without git then takes
// 97 MB. A restore of as many pays a twentieth more processor time for it than where
// the heap grows by 60 percent. What a large heap has is mostly lists without pointers,
// which a collection does not look into; so it may come sooner still. GOGC overrides all of it. Near 800 MiB collections come
// as often as they have to, up to half of the time: what somebody made to fill the
// memory meets the bounds of docs/limits.md first. GOMEMLIMIT overrides that.
func CollectLater() {
	const later, limit = 1200, 800 << 20
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(later)
	collectSoon(later)
}

// collectSoon adapts what was set to the heap after each collection, until
// [CollectLess] has set another percentage.
func collectSoon(set int) {
	afterCollection(func() {
		percent := percentOf(live())
		if percent != set {
			if other := debug.SetGCPercent(percent); other != set {
				debug.SetGCPercent(other)
				return
			}
		}
		collectSoon(percent)
	})
}

// collectAt is how much the heap grows between two collections, in percent. A
// large one grows by largeRoom, but by no less than collectAtLeast percent.
const (
	collectAt      = 40
	collectAtLeast = 15
	largeRoom      = 40 << 20
)

// live returns how much of the heap was in use at the last collection; 0 if that
// is not known.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if v := sample[0].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0
}

// percentOf returns by how much a heap of so many bytes may grow.
func percentOf(live uint64) int {
	return int(min(collectAt, max(collectAtLeast, 100*largeRoom/max(live, 1))))
}

// afterCollection calls a function after the next collection.
func afterCollection(f func()) {
	freed := new([64]byte)
	runtime.AddCleanup(freed, func(f func()) { f() }, f)
}

// CollectLess lets a program that lives on collect less often. It keeps some megabytes
// and makes as many in a few turns: by the rule of [percentOf] a sixth of its time went into
// collections. With so much room its heap is that much larger at most.
// It goes on as long as it is told to.
func CollectLess(goOn func() bool) {
	const room = 24 << 20
	if os.Getenv("GOGC") != "" || !goOn() {
		return
	}
	if n := live(); n > 0 {
		debug.SetGCPercent(max(percentOf(n), int(100*room/n)))
	}
	afterCollection(func() { CollectLess(goOn) })
}
