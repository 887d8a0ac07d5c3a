package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A halting filling fails when a few contents have been written.
type halting struct {
	away.Filling
	came atomic.Int64
}

func (h *halting) Arrive(ctx context.Context, id oid.ID, payload []byte) error {
	if h.came.Add(1) > 3 {
		return errKilled
	}
	return h.Filling.Arrive(ctx, id, payload)
}

// resumeSome is a resume that ends when some of the files are there.
func (p *place) resumeSome(url string) {
	p.t.Helper()
	n, err := p.tryOpen(p.dir)
	p.must(err)
	defer n.Close()
	r := n.Remotes()
	fill := r.Fill
	r.Fill = func(ctx context.Context, s *Snapshot, trees tree.Loader) (away.Filling, error) {
		f, err := fill(ctx, s, trees)
		return &halting{Filling: f}, err
	}
	if _, err := r.Resume(p.t.Context(), away.Remote{Name: "origin", URL: url}, remotePassword, ""); err == nil || len(p.shown(p.dir)) == 0 {
		p.t.Fatalf("%v, %d paths", err, len(p.shown(p.dir)))
	}
}

// Where a hook records and pushes each turn, the half of a directory is soon the newest snapshot that a remote has.
func TestAResumeThatWasInterruptedIsNotDoneBecauseItsHalfWasPushed(t *testing.T) {
	for _, newer := range []bool{false, true} {
		p := newPlace(t, false)
		p.eachKind(false)
		e := p.open()
		last := p.snap(e, "1", nil)
		m := p.newRemote(e)
		p.mustPush(e, m)
		there := newPlace(t, false)
		there.resumeSome(m.URL)
		n := there.openAt(there.dir)
		half := there.snap(n, "half", nil)
		at, err := n.Remotes().Find("origin")
		p.must(err)
		there.mustPush(n, at)
		if newer {
			p.write("dir/more", "2")
			last = p.snap(e, "2", nil)
			p.mustPush(e, m)
		}
		p.must(n.Remotes().Remove(t.Context(), "origin"))
		if url, err := n.Remotes().Begun(); err != nil || url == "" {
			t.Errorf("without its remote it has ended: %v", err)
		}
		p.must(there.resume(m.URL, nil))
		p.wantShown(there.dir, p.shown(p.dir))
		if here, err := n.Here(t.Context()); err != nil || here == nil || here.ID != last.ID || !has(there.records(n), half.ID) {
			t.Errorf("the files stand at %v, %v", here, err)
		}
		if url, err := n.Remotes().Begun(); err != nil || url != "" {
			t.Errorf("it has not ended: %q %v", url, err)
		}
	}
}

// Of a file that was being written when a resume was killed, or the power failed, a part is there under its name.
func TestAResumeThatWasInterruptedLeavesNoBeginningOfAnIgnoredFile(t *testing.T) {
	p, m := pushedPlace(t)
	for _, part := range []string{"", "SEC", "of the user's since\n"} {
		there := newPlace(t, false)
		there.resumeSome(m.URL)
		there.write(".env", part)
		p.must(there.resume(m.URL, nil))
		p.wantShown(there.dir, p.shown(p.dir))
		there.undo(there.openAt(there.dir))
		if got := there.read(".env"); got != part {
			t.Errorf("the undo of what took its place leaves %q, not %q", got, part)
		}
	}
}

func TestAResumeGoesOnFromWhereItsRepositoryLiesNowUnderOneName(t *testing.T) {
	p, m := pushedPlace(t)
	there := newPlace(t, false)
	there.resumeSome(m.URL)
	moved := filepath.Join(t.TempDir(), "moved")
	p.must(os.Rename(m.URL, moved))
	p.must(there.resume(moved, nil))
	p.wantShown(there.dir, p.shown(p.dir))
	if only, err := there.openAt(there.dir).Remotes().Find(""); err != nil || only.Name != "origin" || only.URL != moved {
		t.Errorf("its remote is %+v, %v", only, err)
	}
}

func TestAResumeBesideARemoteOfItsNameHasANameOfItsOwn(t *testing.T) {
	p, m := pushedPlace(t)
	there := newPlace(t, false)
	n := there.open()
	other := away.Remote{Name: "origin", URL: filepath.Join(t.TempDir(), "other")}
	p.must(n.Remotes().Make(t.Context(), other, remotePassword, true))
	other = there.added(n, other)
	there.resumeSome(m.URL)
	if url, err := n.Remotes().Begun(); err != nil || url != m.URL {
		t.Errorf("begun: %q, %v", url, err)
	}
	p.must(there.resume(m.URL, nil))
	p.wantShown(there.dir, p.shown(p.dir))
	if url, err := n.Remotes().Begun(); err != nil || url != "" {
		t.Errorf("begun, after its end: %q, %v", url, err)
	}
	for name, url := range map[string]string{"origin": other.URL, "origin-2": m.URL} {
		if is, err := n.Remotes().Find(name); err != nil || is.URL != url {
			t.Errorf("%s is %+v, %v", name, is, err)
		}
	}
}

func TestAResumeOfWhichNothingCameHindersNoneOfAnotherHistory(t *testing.T) {
	var p *place
	var urls []string
	for range 2 {
		p = newPlace(t, false)
		p.eachKind(false)
		e := p.open()
		p.snap(e, "1", nil)
		m := p.newRemote(e)
		p.mustPush(e, m)
		urls = append(urls, m.URL)
		if len(urls) == 1 {
			for pack := range p.distantPacks(m) {
				p.must(os.Remove(pack))
			}
		}
	}
	there := newPlace(t, false)
	if err := there.resume(urls[0], nil); err == nil {
		t.Fatal("without packs it comes")
	}
	p.must(there.resume(urls[1], nil))
	p.wantShown(there.dir, p.shown(p.dir))
	if only, err := there.openAt(there.dir).Remotes().Find(""); err != nil || only.URL != urls[1] {
		t.Errorf("its remote is %+v, %v", only, err)
	}
	if err := there.resume(urls[0], nil); err == nil {
		t.Error("a directory with files is made another one")
	}
}

func TestAResumeSaysWhichSnapshotsItCouldNotRead(t *testing.T) {
	p := newPlace(t, false)
	p.write("f", "1")
	e := p.open()
	one := p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	was, err := filepath.Glob(filepath.Join(m.URL, "snapshots", "*"))
	p.must(err)
	p.write("f", "2")
	p.snap(e, "2", nil)
	p.mustPush(e, m)
	now, err := filepath.Glob(filepath.Join(m.URL, "snapshots", "*"))
	p.must(err)
	for _, path := range now {
		if slices.Contains(was, path) {
			continue
		}
		data, err := os.ReadFile(path)
		p.must(err)
		data[len(data)/2] ^= 1
		p.must(os.WriteFile(path, data, 0o600))
	}
	there := newPlace(t, false)
	r, err := resumed(there, filepath.Join(there.dir, "new"), m.URL, "")
	if err != nil || r.Snapshot.ID != one.ID || len(r.Fetched.Left) != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// The first finds the directory empty, and writes nothing before the second had time to do all of its own.
func TestOfTwoResumesAtOnceOneWaitsAndIsRefused(t *testing.T) {
	p, m := pushedPlace(t)
	there := newPlace(t, false)
	n, err := there.tryOpen(there.dir)
	p.must(err)
	defer n.Close()
	r, second := n.Remotes(), make(chan error, 1)
	fill := r.Fill
	r.Fill = func(ctx context.Context, s *Snapshot, trees tree.Loader) (away.Filling, error) {
		go func() { second <- there.resume(m.URL, nil) }()
		select {
		case err := <-second:
			second <- err
		case <-time.After(time.Second):
		}
		return fill(ctx, s, trees)
	}
	out, err := r.Resume(t.Context(), away.Remote{Name: "origin", URL: m.URL}, remotePassword, "")
	if err != nil || len(out.Written.Conflicts) > 0 {
		t.Errorf("%+v %v", out, err)
	}
	if err := <-second; !errors.Is(err, ErrRefused) {
		t.Errorf("the second: %v", err)
	}
	there.wantShown(there.dir, p.shown(p.dir))
}

// Taken away in the middle, the resume would say that the same command goes on, which nothing knows any more.
func TestNothingIsUninstalledUnderAResume(t *testing.T) {
	p, m := pushedPlace(t)
	there := newPlace(t, false)
	n, err := there.tryOpen(there.dir)
	p.must(err)
	defer n.Close()
	uninstall := func() error {
		l, err := n.Uninstall(t.Context(), false)
		if err == nil {
			err = l.Take(t.Context())
		}
		return err
	}
	r := n.Remotes()
	fill := r.Fill
	r.Fill = func(ctx context.Context, s *Snapshot, trees tree.Loader) (away.Filling, error) {
		if err := uninstall(); !errors.Is(err, ErrRefused) {
			t.Errorf("uninstall: %v", err)
		}
		return fill(ctx, s, trees)
	}
	_, err = r.Resume(t.Context(), away.Remote{Name: "origin", URL: m.URL}, remotePassword, "")
	p.must(err)
	there.wantShown(there.dir, p.shown(p.dir))
	p.must(uninstall())
	there.wantShown(there.dir, p.shown(p.dir))
}
