//go:build unix

package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// relink makes a chain of our ref that keeps these snapshots, the oldest first, on top
// of a link, as a program that sweeps the ref does. It returns the head.
func (p *place) relink(base string, ids ...oid.ID) string {
	p.t.Helper()
	empty := p.git("hash-object", "-w", "-t", "tree", "/dev/null")
	for _, id := range ids {
		args := []string{"commit-tree", empty}
		if base != "" {
			args = append(args, "-p", base)
		}
		base = p.git(append(args, "-p", id.String(), "-m", "pi rewind store")...)
	}
	p.git("update-ref", gitbridge.StoreRef, base)
	return base
}

func TestAChainThatAnotherProgramPutsInOrderIsNotMended(t *testing.T) {
	p, e, first := borrowed(t)
	ids := []oid.ID{first.ID}
	for i := range 4 {
		p.write("file", fmt.Sprint("turn ", i))
		ids = append(ids, p.take(e).ID)
	}
	slices.Reverse(ids)
	head := p.relink("", ids...)
	for i := range 3 {
		p.write("file", fmt.Sprint("later ", i))
		p.take(p.open())
	}
	p.git("merge-base", "--is-ancestor", head, gitbridge.StoreRef) // the chain grew, and was not made anew
}

func TestTheRefIsCountedOnceAndThenLookedAtWhereItGrew(t *testing.T) {
	p, e, _ := borrowed(t)
	kept := func() (k records.Kept) {
		p.must(e.view(context.Background(), func(v *records.View) error {
			d, err := v.Debt(false)
			k = d.Kept
			return err
		}))
		return k
	}
	var last records.Kept
	for i := range 6 {
		before := p.git("rev-parse", gitbridge.StoreRef)
		p.write("file", fmt.Sprint("turn ", i))
		p.take(e)
		if now := kept(); i > 1 && (now.Tip.String() != before || now.Upto != last.Upto+1) {
			t.Errorf("turn %d: noted is %+v after %+v, and the ref was at %s", i, now, last, before)
		}
		last = kept()
	}
	p.write("file", "turn 5")
	p.take(e)
	if now := kept(); now != last {
		t.Errorf("a snapshot of nothing new writes %+v", now)
	}
}

// A sweeper is other programs that do what they like with our ref.
type sweeper struct {
	*place
	*rand.Rand
	links []string // heads of the chain, of all that it ever was
	lost  string   // an object that the next snapshot has to put back
}

// cut leaves of the ref what it happens to leave, in any order, on any link that was.
func (s *sweeper) cut(e *Engine) string {
	kept := slices.DeleteFunc(s.inRef(e), func(oid.ID) bool { return s.IntN(3) == 0 })
	if s.IntN(2) == 0 {
		slices.Reverse(kept)
	}
	if s.IntN(4) == 0 {
		s.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	}
	base := ""
	if s.IntN(2) == 0 {
		base = s.links[s.IntN(len(s.links))]
		kept = kept[:min(len(kept), s.IntN(3))]
	}
	switch {
	case len(kept) > 0:
		return fmt.Sprintf("cut to %v on %q: %v", kept, base, s.relink(base, kept...))
	case base != "":
		s.git("update-ref", gitbridge.StoreRef, base)
		return "set to " + base
	}
	s.git("update-ref", "-d", gitbridge.StoreRef)
	return "deleted"
}

// step does something with the ref or the records, and tells what.
func (s *sweeper) step(e *Engine) string {
	switch s.IntN(12) {
	case 0, 1, 2:
		return s.cut(e)
	case 3:
		return fmt.Sprint("another program's snapshot ", s.hook(fmt.Sprint("hook ", s.IntN(5))))
	case 4:
		_, err := e.Prune(context.Background(), &PruneOptions{MaxSnapshots: 1 + s.IntN(12)})
		s.must(err)
		return "prune"
	case 5:
		s.write("secret", fmt.Sprint("of step ", s.Uint64()))
		s.take(e)
		_, err := e.Purge(context.Background(), []string{"secret"}, false)
		s.must(err)
		return "purge"
	case 6:
		s.git("pack-refs", "--all")
		s.git("gc", "-q")
		return "gc"
	case 8, 9:
		return s.lose()
	case 7:
		_, err := e.Sync(context.Background())
		s.must(err)
		return "sync"
	}
	return ""
}

// lose takes an object away of the newest snapshot, as a collection does: one that the store
// has too.
func (s *sweeper) lose() string {
	tip := s.git("rev-parse", gitbridge.StoreRef)
	what := []string{"^2", "^2^{tree}", "^2:file"}[s.IntN(3)]
	id, err := s.tryGit("rev-parse", "-q", "--verify", tip+what)
	if err == nil {
		err = os.Remove(filepath.Join(s.dir, ".git", "objects", id[:2], id[2:]))
	}
	if err == nil {
		s.lost = id
	}
	return fmt.Sprint("lost ", what, ": ", err)
}

// TestWhateverBecomesOfTheRefTheNextSnapshotMendsIt: others sweep our ref, and after the
// next snapshot it keeps all that the store has a record of.
func TestWhateverBecomesOfTheRefTheNextSnapshotMendsIt(t *testing.T) {
	t.Parallel()
	steps := seed.Times(25)
	p, e, _ := borrowed(t)
	s := &sweeper{place: p, Rand: rand.New(rand.NewPCG(seed.Of(t), 1))}
	var log []string
	for i := range steps {
		s.links = append(s.links, p.git("rev-parse", gitbridge.StoreRef))
		log = append(log, s.step(e))
		if s.IntN(2) == 0 {
			e = p.open()
		}
		p.write("file", fmt.Sprint("step ", i))
		log = append(log, fmt.Sprint("snapshot ", p.take(e).ID))
		if _, err := p.tryGit("cat-file", "-e", s.lost); s.lost != "" && err != nil {
			t.Fatalf("step %d of %d: %s is lost still, after %q", i, steps, s.lost, log[max(0, len(log)-8):])
		}
		s.lost = ""
		kept := p.inRef(e)
		for _, id := range p.records(e) {
			if !slices.Contains(kept, id) {
				t.Fatalf("step %d of %d: the ref does not keep %v, after %q", i, steps, id, log[max(0, len(log)-8):])
			}
		}
	}
	p.wantClean(e)
}
