//go:build unix

package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
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
