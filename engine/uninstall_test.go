package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// What else works with the store, or has recorded since somebody was asked, keeps
// all of it.
func TestNothingIsTakenAwayFromWhoWorksWithIt(t *testing.T) {
	for _, lock := range []string{lockFile, storeFile + ".lock"} {
		p := newPlace(t, true)
		p.write("f", "text")
		_, err := p.open().Snapshot(t.Context(), nil)
		p.must(err)
		before := p.git("rev-parse", gitbridge.StoreRef)
		e, err := Open(t.Context(), p.dir, &Options{Getenv: p.getenv, NoStore: true})
		p.must(err)
		defer e.Close()
		l, err := e.Uninstall(t.Context(), false)
		p.must(err)
		held, err := durable.TryLock(filepath.Join(e.dir, lock), durable.Exclusive)
		p.must(err)
		if err := l.Take(t.Context()); !errors.Is(err, ErrRefused) && !errors.Is(err, locate.ErrInUse) {
			t.Errorf("%s is held: %v", lock, err)
		}
		p.must(held.Unlock())
		p.write("f", "other")
		_, err = p.open().Snapshot(t.Context(), nil)
		p.must(err)
		if err := l.Take(t.Context()); err == nil {
			t.Error("what was recorded since was taken away")
		}
		if now := p.git("rev-parse", gitbridge.StoreRef); now == before || !p.exists(".git/rewind/store.db") {
			t.Errorf("the ref is at %s, as before", now)
		}
	}
}

// The store is renamed before it is removed: what is in the way there is told before the
// ref and the settings are gone.
func TestUninstallTakesNothingWhereItCouldNotEnd(t *testing.T) {
	p := newPlace(t, true)
	p.write("f", "text")
	_, err := p.open().Snapshot(t.Context(), nil)
	p.must(err)
	before := p.git("rev-parse", gitbridge.StoreRef)
	gittest.Links(t)
	p.must(os.Symlink(t.TempDir(), filepath.Join(p.dir, ".git/rewind.removed")))
	e := p.open()
	if _, err := e.Uninstall(t.Context(), true); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a link is in the way: %v", err)
	}
	if now := p.git("rev-parse", gitbridge.StoreRef); now != before || !p.exists(".git/rewind/store.db") {
		t.Errorf("the ref is at %s, want %s, and the store there", now, before)
	}
}

func TestSnapshotsOfAnotherProgramStayInTheRef(t *testing.T) {
	p := newPlace(t, true)
	p.write("f", "text")
	theirs := p.git("commit-tree", p.gitReading("", "mktree"), "-m", "pi rewind snapshot")
	p.git("update-ref", gitbridge.StoreRef, p.git("commit-tree", p.gitReading("", "mktree"), "-p", theirs, "-m", "pi rewind store"))
	first := p.open()
	_, err := first.Snapshot(t.Context(), nil)
	p.must(errors.Join(err, first.Close()))
	for range 2 { // also where nothing of ours is in it any more
		e := p.open()
		l, err := e.Uninstall(t.Context(), false)
		p.must(err)
		if l.Others != 1 {
			t.Errorf("%d of others, want 1", l.Others)
		}
		p.must(l.Take(t.Context()))
		p.must(e.Close())
		e = p.open()
		if _, ours, others, err := e.repo.Whose(t.Context()); err != nil || ours != 0 || others != 1 {
			t.Errorf("the ref keeps %d of ours and %d of others: %v", ours, others, err)
		}
		p.must(e.Close())
	}
	if _, err := os.Lstat(filepath.Join(p.dir, ".git/rewind/store.db")); !errors.Is(err, os.ErrNotExist) || p.read("f") != "text" {
		t.Errorf("the store: %v; the file: %q", err, p.read("f"))
	}
}
