package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/remote/depot"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A meddled place has something done before one of its requests for a pack.
type meddled struct {
	depot.Place
	at    int
	calls atomic.Int64 // several packs are asked for at once
	do    func()
}

func (m *meddled) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if strings.HasPrefix(name, "data/") {
		if m.calls.Add(1) == int64(m.at) {
			m.do()
		}
	}
	return m.Place.Get(ctx, name, offset, length)
}

func TestAFetchBesideAPurgeHasAllThatItRecords(t *testing.T) {
	last := 0 // request of a fetch: before it contents were found here
	for _, back := range []int{-1, 0, 1, 4} {
		p := newPlace(t, false)
		p.write("x", "once here\n")
		p.write("dir/y", "here too\n")
		e := p.open()
		p.snap(e, "1", nil)
		m := p.newRemote(e)
		p.mustPush(e, m)
		there := newPlace(t, false)
		dir := filepath.Join(there.dir, "new")
		_, err := resumed(there, dir, m.URL, "")
		p.must(err)
		p.write("other/z", "new\n")
		two := p.snap(e, "2", nil)
		p.write("more", "new, too\n")
		p.snap(e, "3", nil)
		p.mustPush(e, m)
		n := there.openAt(dir)
		f := &meddled{at: last - back, do: func() {
			_, err := there.openAt(dir).Purge(t.Context(), []string{"x", "dir"}, false)
			p.must(err)
		}}
		r := n.Remotes()
		r.Place = func(url string) (depot.Place, error) {
			f.Place, err = depot.Open(url)
			return f, err
		}
		s, err := r.Open(t.Context(), away.Remote{Name: "origin", URL: m.URL}, remotePassword)
		p.must(err)
		_, err = r.Fetch(t.Context(), s)
		p.must(err)
		if v, err := n.Verify(t.Context()); err != nil || len(v.Damaged) > 0 {
			t.Fatalf("before request %d of %d: %+v %v", f.at, last, v, err)
		}
		if last == 0 {
			last = int(f.calls.Load())
		}
		if _, err := n.Do(t.Context(), Op{To: two.ID}); err != nil {
			t.Errorf("before request %d of %d: %v", f.at, last, err)
		}
	}
}

func TestASnapshotWhosePackIsMissingIsLeftAndTheOthersCome(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "1")
	e := p.open()
	one := p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	was := p.distantPacks(m)
	p.write("g", "2")
	p.snap(e, "2", nil)
	p.mustPush(e, m)
	for pack := range p.distantPacks(m) {
		if !was[pack] {
			p.must(os.Remove(pack))
		}
	}
	p.must(os.Remove(filepath.Join(p.dir, "g")))
	p.write("h", "3")
	three := p.snap(e, "3", nil)
	p.mustPush(e, m)
	there := newPlace(t, false)
	r, err := resumed(there, filepath.Join(there.dir, "new"), m.URL, "")
	p.must(err)
	if r.Snapshot.ID != three.ID || len(r.Fetched.Snapshots) != 2 || len(r.Fetched.Left) != 1 || !strings.Contains(r.Fetched.Left[0].Reason, " is missing") {
		t.Errorf("%v %+v", r.Snapshot.ID, r.Fetched)
	}
	other := newPlace(t, false)
	if r, err := resumed(other, filepath.Join(other.dir, "new"), m.URL, one.ID.String()); err != nil || len(r.Fetched.Left) > 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// distantPacks lists the files of packs of a remote in a directory.
func (p *place) distantPacks(m away.Remote) map[string]bool {
	p.t.Helper()
	out := map[string]bool{}
	list, err := filepath.Glob(filepath.Join(m.URL, "data", "*", "*"))
	p.must(err)
	for _, path := range list {
		out[path] = true
	}
	return out
}

// A sparse checkout of a partial clone lacks contents that are nowhere here.
func TestAPartialCloneIsPushedAndComesBackAlsoWhenItIsMadeWhole(t *testing.T) {
	from := newPlace(t, true)
	from.write("a/f", "1")
	from.write("sparse/below/f", "not on disk\n")
	from.git("add", "-A")
	from.git("commit", "-q", "-m", "1")
	from.git("config", "uploadpack.allowFilter", "true")
	p := newPlace(t, true)
	p.must(os.RemoveAll(p.dir))
	from.git("clone", "-q", "--sparse", "--filter=blob:none", "file:///"+strings.TrimPrefix(filepath.ToSlash(from.dir), "/"), p.dir)
	p.git("sparse-checkout", "set", "a")
	e := p.open()
	first := p.snap(e, "0", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	there := newPlace(t, false)
	dir := filepath.Join(there.dir, "new")
	_, err := resumed(there, dir, m.URL, first.ID.String())
	p.must(err)
	p.write("a/g", "2")
	p.snap(e, "1", nil)
	p.mustPush(e, m)
	p.git("sparse-checkout", "disable")
	last := p.snap(e, "2", nil)
	p.mustPush(e, m)
	want := p.shown(p.dir)
	n := there.openAt(dir)
	s, err := n.Remotes().Open(t.Context(), away.Remote{Name: "origin", URL: m.URL}, remotePassword)
	p.must(err)
	if out, err := n.Remotes().Fetch(t.Context(), s); err != nil || len(out.Left) > 0 || len(out.Snapshots) != 2 {
		t.Fatalf("%+v %v", out, err)
	}
	there.do(n, Op{To: last.ID})
	p.wantShown(dir, want)
	other := newPlace(t, false)
	dir = filepath.Join(other.dir, "new")
	r, err := resumed(other, dir, m.URL, last.ID.String())
	if err != nil || len(r.Written.Conflicts)+len(r.Fetched.Left) > 0 {
		t.Fatalf("%+v %v", r, err)
	}
	p.wantShown(dir, want)
}

// TestACopyThatIsNotWholeHidesNoOther has a snapshot that another program has written anew, with more tags and without
// what lies beside its files.
func TestACopyThatIsNotWholeHidesNoOther(t *testing.T) {
	p := newPlace(t, false)
	p.eachKind(false)
	e := p.open()
	one := p.snap(e, "1", nil)
	p.write("a", "2")
	two := p.snap(e, "2", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	whole := p.halve(m, func(*restic.Snapshot) bool { return true })
	s, err := e.Remotes().Open(t.Context(), m, remotePassword)
	p.must(err)
	if _, err := s.Verify(t.Context(), nil); err != nil {
		t.Errorf("it is whole but for the copies: %v", err)
	}
	want := p.shown(p.dir)
	there := newPlace(t, false)
	dir := filepath.Join(there.dir, "new")
	r, err := resumed(there, dir, m.URL, "")
	p.must(err)
	if r.Snapshot.ID != two.ID || len(r.Fetched.Left) > 0 || !has(there.records(there.openAt(dir)), one.ID) {
		t.Errorf("%+v", r.Fetched)
	}
	p.wantShown(dir, want)
	for _, file := range whole {
		p.must(os.Remove(file))
	}
	if _, err := s.Verify(t.Context(), nil); !errors.Is(err, away.ErrTampered) {
		t.Errorf("of copies that nobody can fetch it says %v", err)
	}
}
