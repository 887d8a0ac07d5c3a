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

func TestWhatAnotherProgramCutOutOfTheRefIsPutBackByTheNextSnapshot(t *testing.T) {
	cuts := []struct {
		name string
		cut  func(p *place, links []string, ids []oid.ID) // of the newest snapshots, the oldest first
	}{
		{"the newest alone is kept", func(p *place, _ []string, ids []oid.ID) { p.relink("", ids[4:]...) }},
		{"the newest two are kept", func(p *place, _ []string, ids []oid.ID) { p.relink("", ids[3:]...) }},
		{"older ones are dropped", func(p *place, _ []string, ids []oid.ID) { p.relink("", ids...) }},
		{"one in the middle is dropped", func(p *place, links []string, ids []oid.ID) { p.relink(links[1], ids[3:]...) }},
		{"the last but one is dropped", func(p *place, links []string, ids []oid.ID) { p.relink(links[2], ids[4]) }},
		{"the newest alone, and another's", func(p *place, _ []string, ids []oid.ID) { p.relink("", ids[4]); p.hook("another program's") }},
		{"set back by one", func(p *place, links []string, _ []oid.ID) { p.git("update-ref", gitbridge.StoreRef, links[3]) }},
		{"set back by four", func(p *place, links []string, _ []oid.ID) { p.git("update-ref", gitbridge.StoreRef, links[0]) }},
		{"deleted", func(p *place, _ []string, _ []oid.ID) { p.git("update-ref", "-d", gitbridge.StoreRef) }},
	}
	for _, living := range []bool{false, true} {
		p, e, first := borrowed(t)
		all, links := []oid.ID{first.ID}, []string{p.git("rev-parse", gitbridge.StoreRef)}
		take := func(text string) {
			if p.write("file", text); !living {
				e = p.open()
			}
			all, links = append(all, p.take(e).ID), append(links, p.git("rev-parse", gitbridge.StoreRef))
		}
		for _, c := range cuts {
			for i := range 4 {
				take(fmt.Sprint(c.name, i))
			}
			c.cut(p, links[len(links)-5:], all[len(all)-5:])
			if kept := p.inRef(e); !slices.ContainsFunc(all, func(id oid.ID) bool { return !slices.Contains(kept, id) }) {
				t.Fatalf("%s: nothing is cut out: this proves nothing", c.name)
			}
			take(c.name + ", afterwards")
			kept := p.inRef(e)
			for i, id := range all {
				if !slices.Contains(kept, id) {
					t.Errorf("%s, living %v: the ref does not keep snapshot %d of %d", c.name, living, i+1, len(all))
				}
			}
		}
		p.leave() // nothing but the ref keeps what git alone has of the first
		p.collect()
		e = p.open()
		p.do(e, Op{To: first.ID})
		if p.read("tracked/7") != "7" {
			t.Errorf("tracked/7 came back as %q", p.read("tracked/7"))
		}
		p.wantClean(e)
	}
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
