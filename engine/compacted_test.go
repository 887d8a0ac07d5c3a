package engine

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// A prune that gave back free pages does not make the next one drop snapshots that fit.
func TestAPruneThatCompactedDropsNoSnapshotThatFitsNextTime(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 800<<10)
	for range 22 {
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		p.snap(e, string(noise), nil)
	}
	opt := &PruneOptions{MaxStoreSize: 24 << 20, DryRun: true}
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Fatalf("before %d are dropped", len(out.Dropped))
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(e.dir, storeFile))
		p.must(err)
		return info.Size()
	}
	before := size()
	p.noisy(e)()
	during := size()
	p.prune(e, &PruneOptions{Grace: -1})
	t.Log(before, during, size())
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Errorf("%d snapshots that fit would be dropped: %d bytes were enough before, the file has %d", len(out.Dropped), before, size())
	}
}
