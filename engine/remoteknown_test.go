package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
)

// wantPush pushes, and compares what the push and the status after it say.
func (p *place) wantPush(e *Engine, m away.Remote, snapshots, there, forgotten int) {
	p.t.Helper()
	out := p.mustPush(e, m)
	if out.Snapshots != snapshots || out.There != there || out.Forgotten != forgotten || len(out.Left) > 0 {
		p.t.Errorf("a push says %+v", out)
	}
	b, err := e.Remotes().Behind(p.t.Context(), m)
	p.must(err)
	if *b != (away.Behind{There: snapshots + there, Forgotten: forgotten}) {
		p.t.Errorf("the status is %+v", b)
	}
}

// lose removes all files of a folder of a remote.
func (p *place) lose(m away.Remote, folder string) {
	p.t.Helper()
	p.must(os.RemoveAll(filepath.Join(m.URL, folder)))
	p.must(os.Mkdir(filepath.Join(m.URL, folder), 0o700))
}

func TestAPushSaysThatSnapshotsWereRemovedThere(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	for i := range 3 {
		p.write("f", fmt.Sprint(i))
		p.snap(e, fmt.Sprint(i), nil)
	}
	m := p.newRemote(e)
	p.wantPush(e, m, 3, 0, 0)
	p.wantPush(e, m, 0, 3, 0)
	p.lose(m, "snapshots")
	p.wantPush(e, m, 0, 0, 3)
	p.wantPush(e, m, 0, 0, 3)
	p.write("f", "more")
	p.snap(e, "more", nil)
	p.wantPush(e, m, 1, 0, 3)
	r := e.Remotes()
	p.must(r.Remove(t.Context(), m.Name)) // and with it what is known
	m = p.added(e, away.Remote{Name: m.Name, URL: m.URL})
	p.wantPush(e, m, 3, 1, 0)
	if there := p.distant(e, m); len(there) != 4 {
		t.Errorf("there are %v", there)
	}
}

func TestAPushBringsAgainWhatLostItsIndex(t *testing.T) {
	for _, known := range []bool{true, false} {
		p := newPlace(t, false)
		p.write("dir/f", "1")
		e := p.open()
		p.snap(e, "1", nil)
		m := p.newRemote(e)
		p.wantPush(e, m, 1, 0, 0)
		kept, err := filepath.Glob(filepath.Join(m.URL, "index", "*"))
		p.must(err)
		p.write("dir/g", "2")
		p.snap(e, "2", nil)
		p.wantPush(e, m, 1, 1, 0)
		all, err := filepath.Glob(filepath.Join(m.URL, "index", "*"))
		p.must(err)
		for _, path := range all {
			if path != kept[0] {
				p.must(os.Remove(path))
			}
		}
		if !known {
			list, err := filepath.Glob(filepath.Join(e.dir, "remotes", "*", "known"))
			p.must(errors.Join(err, os.Remove(list[0])))
		}
		p.wantPush(e, m, 1, 1, 0)
		p.wantPush(e, m, 0, 2, 0)
		if there := p.distant(e, m); len(there) != 2 {
			t.Errorf("there are %v", there)
		}
		if list, err := os.ReadDir(filepath.Join(m.URL, "snapshots")); err != nil || len(list) != 2 {
			t.Errorf("%d files of snapshots: %v", len(list), err)
		}
	}
}

// A push may be writing what is known, or was killed in the middle of it. Who only looks leaves the file alone; the next
// push takes the end away that is no row.
func TestWhoAsksHowFarARemoteIsLeavesWhatIsBeingWritten(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.wantPush(e, m, 1, 0, 0)
	list, err := filepath.Glob(filepath.Join(e.dir, "remotes", "*", "known"))
	p.must(err)
	whole, err := os.ReadFile(list[0])
	p.must(err)
	torn := append(slices.Clone(whole), 40, 's', 'x')
	p.must(os.WriteFile(list[0], torn, 0o600))
	b, err := e.Remotes().Behind(t.Context(), m)
	p.must(err)
	if now, err := os.ReadFile(list[0]); err != nil || !bytes.Equal(now, torn) || b.There != 1 || b.Waiting != 0 {
		t.Errorf("%+v, and the file has %d bytes, not %d: %v", b, len(now), len(torn), err)
	}
	p.snap(e, "2", nil)
	p.wantPush(e, m, 1, 1, 0)
	if now, err := os.ReadFile(list[0]); err != nil || !bytes.HasPrefix(now, whole) || bytes.HasPrefix(now, torn) {
		t.Errorf("the torn row is still there: %v", err)
	}
	p.wantPush(e, m, 0, 2, 0)
}

// TestALostPackIsMendedByResticAndAPush has restic take out of the index what is not there any more; what the pack had is
// pushed again, and everything is as it was.
func TestALostPackIsMendedByResticAndAPush(t *testing.T) {
	p := newPlace(t, false)
	p.eachKind(false)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.wantPush(e, m, 1, 0, 0)
	p.write("dir/g", "2")
	p.snap(e, "2", nil)
	p.wantPush(e, m, 1, 1, 0)
	now := p.shown(p.dir)
	packs, err := filepath.Glob(filepath.Join(m.URL, "data", "*", "*"))
	p.must(err)
	for i, path := range packs {
		p.must(os.Remove(path))
		p.restic(m, "rebuild-index")
		p.mustPush(e, m)
		p.restic(m, "check", "--read-data")
		there := newPlace(t, false)
		dir := filepath.Join(there.dir, "new")
		r, err := resumed(there, dir, m.URL, "")
		p.must(err)
		if len(r.Fetched.Snapshots) != 2 || len(r.Fetched.Left) > 0 {
			t.Errorf("pack %d of %d: %d snapshots came, left %v", i, len(packs), len(r.Fetched.Snapshots), r.Fetched.Left)
		}
		p.wantShown(dir, now)
	}
}

func TestAnotherRepositoryAtTheSamePlaceIsRefusedUntilItIsAdded(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "1")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.wantPush(e, m, 1, 0, 0)
	p.must(os.RemoveAll(m.URL))
	r := e.Remotes()
	again := away.Remote{Name: "again", URL: m.URL}
	p.must(r.Make(t.Context(), again, remotePassword, true))
	if _, err := r.Open(t.Context(), m, remotePassword); !errors.Is(err, away.ErrTampered) {
		t.Errorf("another repository is taken for it: %v", err)
	}
	p.must(r.Remove(t.Context(), m.Name))
	p.wantPush(e, p.added(e, again), 1, 0, 0)
}

func TestPinsGoToARemoteAndComeBack(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	var ids []ID
	for i := range 3 {
		p.write("f", fmt.Sprint(i))
		ids = append(ids, p.snap(e, fmt.Sprint(i), nil).ID)
	}
	m := p.newRemote(e)
	p.wantPush(e, m, 3, 0, 0)
	p.must(errors.Join(e.Pin(t.Context(), "good", ids[0]), e.Pin(t.Context(), "also good", ids[0])))
	p.wantPush(e, m, 1, 2, 0)
	p.wantPush(e, m, 0, 3, 0)
	there := newPlace(t, false)
	dir := filepath.Join(there.dir, "new")
	_, err := resumed(there, dir, m.URL, "")
	p.must(err)
	n := there.openAt(dir)
	if pins, err := n.Pins(t.Context()); err != nil || len(pins) != 2 || pins["good"] != ids[0] || pins["also good"] != ids[0] {
		t.Errorf("%v %v", pins, err)
	}
	origin, err := n.Remotes().Find("")
	p.must(err)
	there.wantPush(n, origin, 0, 3, 0)

	// A name that another snapshot has here stays where it is.
	p.must(n.Pin(t.Context(), "next", ids[1]))
	p.write("f", "more")
	four := p.snap(e, "more", nil).ID
	p.must(errors.Join(e.Pin(t.Context(), "next", four), e.Pin(t.Context(), "new", four)))
	p.mustPush(e, m)
	s, err := n.Remotes().Open(t.Context(), origin, remotePassword)
	p.must(err)
	_, err = n.Remotes().Fetch(t.Context(), s)
	p.must(err)
	if pins, err := n.Pins(t.Context()); err != nil || pins["next"] != ids[1] || pins["new"] != four {
		t.Errorf("%v %v", pins, err)
	}

	// What has a pin stays in a prune, also when the store that gave it is gone.
	p.must(os.RemoveAll(filepath.Dir(e.dir)))
	other := newPlace(t, false)
	_, err = resumed(other, filepath.Join(other.dir, "new"), m.URL, four.String())
	p.must(err)
	o := other.openAt(filepath.Join(other.dir, "new"))
	other.prune(o, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	m, err = o.Remotes().Find("")
	p.must(err)
	other.pruneAway(o, m, away.Limits{Options: &PruneOptions{MaxSnapshots: 1}, AnyHost: true})
	left := other.distant(o, m)
	if !left[ids[0].String()] || !left[four.String()] || left[ids[1].String()] {
		t.Errorf("there are %v", left)
	}
}
