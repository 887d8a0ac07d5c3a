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

// While another worktree records its first snapshot, or after that was killed, the
// budget of the store is not met by dropping snapshots that fit into it.
func TestALargeStageBesideAPruneDropsNoSnapshotThatFits(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 800<<10)
	for range 20 {
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		p.snap(e, string(noise), nil)
	}
	opt := &PruneOptions{MaxStoreSize: 24 << 20, DryRun: true}
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Fatalf("without it %d are dropped", len(out.Dropped))
	}
	defer p.noisy(e)()
	if out := p.prune(e, opt); len(out.Dropped) > 0 {
		t.Errorf("%d snapshots that fit would be dropped", len(out.Dropped))
	}
}

// What a snapshot that failed has written, a prune gives back to the disk.
func TestAPruneGivesBackWhatADiscardedStageHasWritten(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.noisy(e)()
	p.prune(e, &PruneOptions{Grace: -1})
	info, err := os.Stat(filepath.Join(e.dir, storeFile))
	p.must(err)
	if info.Size() > 2<<20 {
		t.Errorf("the store of one small snapshot has %d bytes after a prune without grace", info.Size())
	}
}

// A file that is mostly free pages is written anew by a prune that has nothing else
// to do, and the prune says what that gave back.
func TestAPruneGivesBackFreePages(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "one", nil)
	p.noisy(e)()
	all := e.sweeping(context.Background(), cas.SweepOptions{Grace: -1}, nil)
	_, err := e.atHand().Sweep(context.Background(), all) // a purge that dies before it writes the file anew
	p.must(err)
	before, err := os.Stat(filepath.Join(e.dir, storeFile))
	p.must(err)
	out := p.prune(e, &PruneOptions{})
	after, err := os.Stat(filepath.Join(e.dir, storeFile))
	p.must(err)
	if gone := before.Size() - after.Size(); gone < 20<<20 || out.Freed != gone {
		t.Errorf("%d of %d bytes went, %d were said to", gone, before.Size(), out.Freed)
	}
}
