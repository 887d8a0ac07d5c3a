package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// many returns a place of which a snapshot was taken, and in which so many
// files changed since that their way into git begins early.
func many(t *testing.T) (*place, *Engine, *Recorded) {
	p := newPlace(t, true)
	e := p.open()
	for i := range 2 * earlyFiles {
		p.write(fmt.Sprintf("dir%d/%d", i%7, i), fmt.Sprint("first ", i))
	}
	one := p.snap(e, "one", nil)
	for i := range 2 * earlyFiles {
		p.write(fmt.Sprintf("dir%d/%d", i%7, i), fmt.Sprint("second ", i))
	}
	return p, e, one
}

func (p *place) packs() []string {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "pack", "*"))
	p.must(err)
	return list
}

func TestALargeUndoIsInGitWhenItsRestoreIsDone(t *testing.T) {
	p, e, one := many(t)
	before := len(p.packs())
	r, err := e.Restore(context.Background(), one.ID, nil)
	p.must(err)
	if p.read("dir0/0") != "first 0" || r.Written < 2*earlyFiles {
		t.Fatalf("%q, %+v", p.read("dir0/0"), r)
	}
	if !e.repo.Keeps(context.Background(), r.Undo) || p.git("cat-file", "blob", r.Undo.String()+":dir0/0") != "second 0" {
		t.Error("git does not keep the undo")
	}
	if got := len(p.packs()); got != before+2 { // a pack and its index
		t.Errorf("%d files of packs were made: %q", got-before, p.packs())
	}
	if out := p.git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") {
		t.Error(out)
	}
	if n := p.git("rev-list", "--count", gitbridge.StoreRef); n != "4" { // two snapshots, two keepalives
		t.Errorf("the chain has %s commits", n)
	}
	if _, err := e.Undo(context.Background()); err != nil || p.read("dir0/0") != "second 0" {
		t.Errorf("%v, %q", err, p.read("dir0/0"))
	}
	p.wantClean(e)
}

func TestAnUndoThatIsNotRecordedLeavesNothingInGit(t *testing.T) {
	p, e, one := many(t)
	before, ref := len(p.packs()), p.git("rev-parse", gitbridge.StoreRef)
	during, stop := context.WithCancel(context.Background())
	calls := 0
	e.now = func() time.Time {
		if calls++; calls == 2 { // scanned and planned, and nothing recorded yet
			stop()
		}
		return time.Now()
	}
	if _, err := e.Restore(during, one.ID, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := p.packs(); len(got) != before || p.git("rev-parse", gitbridge.StoreRef) != ref || p.read("dir0/0") != "second 0" {
		t.Errorf("packs %q, ref %s, %q", got, p.git("rev-parse", gitbridge.StoreRef), p.read("dir0/0"))
	}
}

func TestWhatWasWrittenAheadAndCollectedSinceIsNotTrusted(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "one", nil)
	p.write("file", "two")
	ctx := context.Background()
	c, err := e.capture(ctx, captureOptions{})
	p.must(err)
	defer c.discard()
	payload := c.commitObject()
	e.writeAhead(ctx, c, e.alg.Sum(oid.Commit, payload), payload)()
	if whole := c.whole(); len(whole) != 1 || whole[0] != c.state.Tree || p.git("cat-file", "blob", whole[0].String()+":file") != "two" {
		t.Fatalf("%v", whole)
	}
	p.git("gc", "-q", "--prune=now")
	if whole := c.whole(); whole != nil {
		t.Errorf("git is said to have %v", whole)
	}
}
