package engine

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// noisy puts 12 MiB or more into a new stage and returns what ends it.
func (p *place) noisy(e *Engine) (discard func()) {
	r := rand.New(rand.NewPCG(3, 4))
	g := e.atHand().Stage()
	for range 300 {
		noise := make([]byte, 100<<10)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		_, err := g.Put(context.Background(), oid.Blob, noise, oid.ID{})
		p.must(err)
	}
	return g.Discard
}

// full takes so many snapshots that the store has about 20 MB, and returns a budget into
// which they fit.
func (p *place) full(e *Engine) *PruneOptions {
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
		p.t.Fatalf("%d snapshots are dropped from the beginning", len(out.Dropped))
	}
	return opt
}

// While another worktree records its first snapshot, or after that was killed, the
// budget of the store is not met by dropping snapshots that fit into it. Nor is it after
// a prune without grace has taken away what is left of that, and written the file anew.
func TestALargeStageBesideAPruneDropsNoSnapshotThatFits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	e := p.open()
	opt := p.full(e)
	discard := p.noisy(e)
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Errorf("%d snapshots that fit would be dropped", len(out.Dropped))
	}
	discard()
	before := p.storeBytes(e)
	p.prune(e, &PruneOptions{Grace: -1})
	if p.storeBytes(e) >= before {
		t.Fatal("the file was not written anew")
	}
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Errorf("%d snapshots that fit would be dropped, now that the file was written anew", len(out.Dropped))
	}
}

func (p *place) storeBytes(e *Engine) int64 {
	info, err := os.Stat(filepath.Join(e.dir, storeFile))
	p.must(err)
	return info.Size()
}

// What a snapshot that failed has written, a prune gives back to the disk.
func TestAPruneGivesBackWhatADiscardedStageHasWritten(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.noisy(e)()
	p.prune(e, &PruneOptions{Grace: -1})
	if size := p.storeBytes(e); size > 2<<20 {
		t.Errorf("the store of one small snapshot has %d bytes after a prune without grace", size)
	}
}

// A file that is mostly free pages is written anew by a prune that has nothing else
// to do, and the prune says what that gave back. One at the start of a program leaves
// that to the next.
func TestAPruneGivesBackFreePages(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.noisy(e)()
	all := e.sweeping(context.Background(), cas.SweepOptions{Grace: -1}, nil)
	_, err := e.atHand().Sweep(context.Background(), all) // a purge that dies before it writes the file anew
	p.must(err)
	before := p.storeBytes(e)
	if out := p.prune(e, &PruneOptions{Startup: true}); out.Freed != 0 || p.storeBytes(e) != before {
		t.Errorf("at the start of a program %d of %d bytes went, %d were said to", before-p.storeBytes(e), before, out.Freed)
	}
	out := p.prune(e, &PruneOptions{})
	if gone := before - p.storeBytes(e); gone < 20<<20 || out.Freed != gone {
		t.Errorf("%d of %d bytes went, %d were said to", gone, before, out.Freed)
	}
}
