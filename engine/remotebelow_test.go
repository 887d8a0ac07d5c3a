package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// letters are the changes of a diff, each with git's letter.
func letters(d *Diff) (list []string) {
	for _, c := range d.Changes {
		list = append(list, fmt.Sprintf("%c %s", c.Status(), c.Path))
	}
	return list
}

// wantTold compares what a list and a diff say of a snapshot, and the one before it, with what is to be told.
func (p *place) wantTold(e *Engine, from, to *Snapshot, want ...string) {
	p.t.Helper()
	slices.Sort(want)
	got := letters(p.diff(e, from, to))
	if slices.Sort(got); !slices.Equal(got, want) {
		p.t.Errorf("diff tells\n%q, want\n%q", got, want)
	}
	if d := p.diff(e, to, nil); len(d.Changes) > 0 {
		p.t.Errorf("nothing has changed since, and a diff tells %q", letters(d))
	}
	var listed []string
	for _, s := range p.list(e, &ListOptions{Changes: true}) {
		for i := 0; s.ID == to.ID && i < len(s.Changed.Names); i++ {
			listed = append(listed, fmt.Sprintf("%c %s", s.Changed.Names[i].Status, s.Changed.Names[i].Path))
		}
	}
	if slices.Sort(listed); !slices.Equal(listed, want) {
		p.t.Errorf("list tells\n%q, want\n%q", listed, want)
	}
}

// whole is a snapshot with all that it names.
func (p *place) whole(e *Engine, id ID) *Snapshot {
	p.t.Helper()
	s, err := e.Find(context.Background(), id.String())
	p.must(err)
	return s
}

// manyKeys are so many files of two directories, of which all stays at home, that a record has their names elsewhere.
func manyKeys() (names []string) {
	for i := range 70 {
		names = append(names, fmt.Sprintf("keys/%d.pem", i), fmt.Sprintf("keys/deep/%d.pem", i))
	}
	return names
}

// What another machine makes below a directory that stays at home is told there, and a restore takes it away again.
func TestWhatIsMadeElsewhereBelowADirectoryThatStaysAtHomeIsTold(t *testing.T) {
	for _, names := range [][]string{{"keys/0.pem", "keys/deep/0.pem"}, manyKeys()} {
		_, _, _, there, n := homeAndThere(t, names...)
		one := there.whole(n, there.snap(n, "1", nil).ID)
		begun := there.shown(there.dir)
		there.write("keys/deep/new", "made there\n")
		there.write("keys/0.pem", "another one\n")
		two := there.whole(n, there.snap(n, "2", nil).ID)
		there.wantTold(n, one, two, "M file", "A keys/deep/new") // nobody here knows what keys/0.pem was
		there.must(os.Remove(filepath.Join(there.dir, "keys/0.pem")))
		three := there.whole(n, there.snap(n, "3", nil).ID)
		there.wantTold(n, two, three, "M file", "D keys/0.pem")
		there.must(os.RemoveAll(filepath.Join(there.dir, "keys")))
		four := there.whole(n, there.snap(n, "4", nil).ID)
		there.wantTold(n, three, four, "M file", "D keys/deep/new")
		there.do(n, Op{To: three.ID})
		there.do(n, Op{To: one.ID})
		there.wantShown(there.dir, begun)
	}
}

// At home nothing changed below it, and no plan says that something goes.
func TestAtHomeADirectoryThatStayedIsNoChangeOfWhatComesFromElsewhere(t *testing.T) {
	p, e, remote, there, n := homeAndThere(t, manyKeys()...)
	mine := p.list(e, nil)[0]
	there.write("keys/new", "made there\n")
	there.snap(n, "2", nil)
	origin, err := n.Remotes().Find("")
	there.must(err)
	there.mustPush(n, origin)
	f, err := p.fetched(e, remote)
	p.must(err)
	last := p.whole(e, f.Snapshots[len(f.Snapshots)-1].ID)
	want := []string{"M file", "A keys/new"}
	if got := letters(p.diff(e, p.whole(e, mine.ID), last)); !slices.Equal(got, want) {
		t.Errorf("diff tells %q, want %q", got, want)
	}
	if got := letters(p.plan(e, Op{To: last.ID})); !slices.Equal(got, want) {
		t.Errorf("a plan tells %q, want %q", got, want)
	}
	was := p.shown(p.dir)
	p.do(e, Op{To: last.ID})
	p.undo(e)
	p.wantShown(p.dir, was)
}

// Whatever another machine does below directories of which all stays at home: it is told there, and going home, and
// back, loses no byte.
func TestRandomWorkElsewhereBelowWhatStaysAtHomeIsToldAndLosesNothing(t *testing.T) {
	first := seed.Of(t)
	for n := range uint64(seed.Times(4)) {
		t.Run(fmt.Sprint(first+n), func(t *testing.T) { randomBelow(t, first+n) })
	}
}

// A belower works below directories of which all stays at home.
type belower struct {
	*place
	rnd    *rand.Rand
	e      *Engine
	origin away.Remote
	log    []string
}

func newBelower(t *testing.T, rnd *rand.Rand) (b *belower, p *place, e *Engine, remote away.Remote) {
	p = newPlace(t, true)
	p.env["REWIND_REMOTE_SECRETS"], p.env["REWIND_SECRETS"] = "false", "*.pem"
	b = &belower{place: newPlace(t, false), rnd: rnd}
	for range 1 + rnd.IntN(90) {
		p.write(b.path()+".pem", fmt.Sprintf("of home %d\n", rnd.Uint64()))
	}
	e = p.open()
	added := p.newRemote
	if rnd.IntN(2) == 0 {
		added = p.newGitRemote
	}
	remote = added(e)
	p.snap(e, "home", nil)
	p.mustPush(e, remote)
	b.env["REWIND_SECRETS"] = "*.pem"
	b.resumedFrom(remote)
	b.e = b.openAt(b.dir)
	origin, err := b.e.Remotes().Find("")
	p.must(err)
	b.origin = origin
	return b, p, e, remote
}

// path is one below a few directories, up to three deep.
func (b *belower) path() string {
	at := fmt.Sprintf("keys%d", b.rnd.IntN(3))
	for range b.rnd.IntN(3) {
		at += fmt.Sprintf("/d%d", b.rnd.IntN(3))
	}
	return fmt.Sprintf("%s/f%d", at, b.rnd.IntN(6))
}

// act makes, changes or deletes something.
func (b *belower) act() {
	at, what := b.path(), b.rnd.IntN(9)
	if b.rnd.IntN(3) == 0 {
		at += ".pem"
	}
	if what > 6 { // a directory of these
		at = tree.Parent(at)
	}
	b.log = append(b.log, fmt.Sprint(what, " ", at))
	full := filepath.Join(b.dir, at)
	_ = os.MkdirAll(filepath.Dir(full), 0o755)
	switch what {
	case 0:
		_ = os.MkdirAll(full, 0o755)
	case 1, 7:
		_ = os.RemoveAll(full)
	case 2:
		_ = os.Remove(full)
	case 8: // a file where a directory was
		if b.rnd.IntN(3) == 0 {
			_ = os.RemoveAll(full)
			_ = os.WriteFile(full, []byte("a file\n"), 0o644)
		}
	default:
		_ = os.WriteFile(full, fmt.Appendf(nil, "there %d\n", b.rnd.IntN(9)), 0o644)
	}
}

// unknown returns what a snapshot says of a path that it does not have: it, or what is above it, stays at home; or it is a directory
// above that.
func unknown(s *Snapshot, path string, isDir bool) bool {
	return slices.ContainsFunc(s.Skipped, func(n Note) bool {
		out := string(n.Path)
		return n.Reason == retention.AtHome && (path == out || strings.HasPrefix(path, out+"/") || isDir && strings.HasPrefix(out, path+"/"))
	})
}

// differences are what a diff is to tell, of two states as they were on disk.
func differences(from, to *Snapshot, before, after map[string]string) (want []string) {
	for path, was := range before {
		is, there := after[path]
		switch {
		case !there && !unknown(to, path, was[0] == 'd'):
			want = append(want, "D "+path)
		case there && was[0] != is[0]:
			want = append(want, "T "+path)
		case there && was != is:
			want = append(want, "M "+path)
		}
	}
	for path, is := range after {
		if _, was := before[path]; !was && !unknown(from, path, is[0] == 'd') {
			want = append(want, "A "+path)
		}
	}
	return want
}

func randomBelow(t *testing.T, s uint64) {
	rnd := rand.New(rand.NewPCG(s, 13))
	b, p, e, remote := newBelower(t, rnd)
	home := p.shown(p.dir)
	last := b.whole(b.e, b.snap(b.e, "0", nil).ID)
	shown := map[ID]map[string]string{last.ID: b.shown(b.dir)}
	all := []*Snapshot{last}
	for i := range 2 + rnd.IntN(5) {
		for range 1 + rnd.IntN(5) {
			b.act()
		}
		now := b.whole(b.e, b.snap(b.e, fmt.Sprint(1+i), nil).ID)
		shown[now.ID] = b.shown(b.dir)
		b.wantTold(b.e, last, now, differences(last, now, shown[last.ID], shown[now.ID])...)
		last, all = now, append(all, now)
		if rnd.IntN(2) == 0 {
			b.restoresAndTakesBack(all[rnd.IntN(len(all))], shown)
		}
		if t.Failed() {
			t.Fatalf("%q", b.log)
		}
	}
	b.mustPush(b.e, b.origin)
	p.wantOf(p.fetches(e, remote, last.Time), shown[last.ID], home)
	p.undo(e)
	p.wantShown(p.dir, home)
	back := p.snap(e, "back", nil)
	p.mustPush(e, remote)
	end := b.shown(b.dir)
	b.fetches(b.e, b.origin, back.Time)
	b.undo(b.e)
	b.wantShown(b.dir, end)
	if t.Failed() {
		t.Fatalf("%q", b.log)
	}
}

// restoresAndTakesBack goes to a snapshot and back again. If what it was is known, that is there, and what it knows nothing of.
func (b *belower) restoresAndTakesBack(to *Snapshot, shown map[ID]map[string]string) {
	b.t.Helper()
	was := b.shown(b.dir)
	b.log = append(b.log, "RESTORE "+to.ID.Short())
	done := b.do(b.e, Op{To: to.ID})
	if want, ok := shown[to.ID]; ok {
		b.wantOf(to, want, was)
	}
	if done.Written+done.Deleted > 0 {
		b.undo(b.e)
	}
	b.wantShown(b.dir, was)
}

// fetches fetches, and restores what was recorded elsewhere at a time. It may have another id there.
func (p *place) fetches(e *Engine, m away.Remote, at time.Time) *Snapshot {
	p.t.Helper()
	f, err := p.fetched(e, m)
	p.must(err)
	for _, s := range f.Snapshots {
		if s.Time.Equal(at) {
			p.do(e, Op{To: s.ID})
			return p.whole(e, s.ID)
		}
	}
	p.t.Fatalf("no snapshot of %v came: %+v", at, f)
	return nil
}

// wantOf compares the files with those of a snapshot. What it does not have because that stays at home, is as it was.
func (p *place) wantOf(s *Snapshot, its, was map[string]string) {
	p.t.Helper()
	got, want := p.shown(p.dir), map[string]string{}
	for path := range was {
		if unknown(s, path, false) {
			for at := path; at != ""; at = tree.Parent(at) { // its directories, too
				want[at] = was[at]
			}
		}
	}
	for path, is := range its {
		if !unknown(s, path, is[0] == 'd') {
			want[path] = is
		} else if is[0] == 'd' { // it may have come
			want[path] = got[path]
		}
	}
	for path := range want {
		if got[path] != want[path] {
			p.t.Errorf("%q is %.80s, want %.80s", path, got[path], want[path])
		}
	}
	for path, is := range got {
		if _, ok := want[path]; !ok {
			p.t.Errorf("%q is there: %.80s", path, is)
		}
	}
}
