package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// empty is a memory that has nothing.
type empty struct{}

func (empty) Tree(oid.ID) ([]byte, bool)             { return nil, false }
func (empty) Met(oid.ID) ([]byte, bool)              { return nil, false }
func (empty) TreeBytes() int                         { return 0 }
func (empty) Object(oid.ID) (oid.Kind, []byte, bool) { return 0, nil, false }

// newMirror makes a repository with so many committed files, and a store.
func newMirror(t *testing.T, files int) (*Mirror, *cas.Store) {
	t.Helper()
	r := gittest.New(t)
	for i := range files {
		r.Write(fmt.Sprint("f", i), fmt.Sprint("text ", i))
	}
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "one")
	layout, err := gitconf.Discover(r.Dir, &gitconf.Options{Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(layout.CommonDir, "rewind")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	repo, err := gitbridge.Open(layout, &gitbridge.Options{Own: filepath.Join(own, "ref")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { repo.Close() })
	s, err := cas.Open(t.Context(), filepath.Join(own, "store.db"), &cas.Options{Algorithm: layout.Algorithm, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	owner := &records.Owner{Key: ".", Git: true}
	return &Mirror{
		Objects: &objects.Objects{Algorithm: layout.Algorithm, Git: repo, Store: func(context.Context) (*cas.Store, error) { return s, nil }},
		View: func(ctx context.Context, f func(*records.View) error) error {
			return s.View(ctx, func(v *cas.View) error { return f(records.In(v, owner)) })
		},
		Update: func(ctx context.Context, f func(*records.Update) error) error {
			return s.Update(ctx, func(u *cas.Update) error { return f(records.Change(u, owner)) })
		},
	}, s
}

// staged is the state of HEAD, of which nothing is in the stage.
func (m *Mirror) staged(ctx context.Context, t *testing.T, s *cas.Store) (Unheld, Known) {
	t.Helper()
	var at Known
	look := m.Look(ctx)
	if err := look(&at, m.View(ctx, at.Read)); err != nil {
		t.Fatal(err)
	}
	at.Wait()
	return Unheld{
		State: tree.State{Tree: at.Head.Tree, Umask: 022}, Stage: s.Stage(), Memory: empty{},
		Trees: m.Objects.Trees(ctx, objects.Reading{}),
		Same:  func(*records.Snapshot) bool { return false },
	}, at
}

func TestAScanWaitsForGitWhereGitHoldsTheLastSnapshot(t *testing.T) {
	ctx := context.Background()
	m, _ := newMirror(t, 3)
	for range 50 {
		at := Known{Last: &records.Snapshot{Held: records.HeldByGit}}
		if err := m.Look(ctx)(&at, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-at.done:
		default:
			t.Fatal("the scan begins before it is known whether git keeps the last snapshot")
		}
	}
	at := Known{Last: &records.Snapshot{Held: records.HeldByStore}, debt: records.Debt{InGit: m.Objects.Algorithm.Sum(oid.Commit, nil)}}
	if err := m.Look(ctx)(&at, nil); err != nil || !at.Wait().RefLost || at.Head.Tree.IsZero() {
		t.Errorf("%v: what git lost is not known after the scan: %+v", err, at.Glance)
	}
	failed := errors.New("failed")
	if err := m.Look(ctx)(&at, failed); !errors.Is(err, failed) || at.Wait().RefLost {
		t.Errorf("%v: %+v", err, at.Glance)
	}
}

// What the store had when it was looked for, and a sweep takes before the record is
// written, is looked for again.
func TestWhatASweepTookBeforeTheRecordIsNotReliedOn(t *testing.T) {
	ctx := context.Background()
	m, s := newMirror(t, 3)
	first, at := m.staged(ctx, t, s)
	at.Head = gitbridge.Head{}
	if _, err := m.Hold(ctx, first, at); err != nil {
		t.Fatal(err)
	}
	if err := first.Stage.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	second, at := m.staged(ctx, t, s)
	defer second.Stage.Discard()
	at.Head = gitbridge.Head{}
	held, err := m.Hold(ctx, second, at)
	if err != nil || len(held.relied) != 4 {
		t.Fatalf("%v: of three files and their directory %d are relied on", err, len(held.relied))
	}
	for _, swept := range []bool{false, true} {
		err := m.View(ctx, held.Relies)
		if errors.Is(err, cas.ErrSwept) != swept || !swept && err != nil {
			t.Errorf("swept %v: %v", swept, err)
		}
		if _, err := s.Sweep(ctx, cas.SweepOptions{Live: func(func(oid.ID)) error { return nil }, Grace: -1}); err != nil {
			t.Fatal(err)
		}
	}
}

// asking is a memory of one tree that tells when it is asked for that, as it is before
// git is asked for what the tree has.
type asking struct {
	empty
	tree  []byte
	bytes int

	begun, met func()
	times      atomic.Int32
}

func (a *asking) TreeBytes() int {
	a.begun()
	return a.bytes
}

func (a *asking) Met(oid.ID) ([]byte, bool) {
	a.times.Add(1)
	a.met()
	return a.tree, true
}

// What git lacks is a list of all of a first snapshot, and so is the stage until its
// record is written.
func TestGitIsAskedForALargeSnapshotOnlyWhenItIsRecorded(t *testing.T) {
	for name, bytes := range map[string]int{"small": besideBytes, "large": besideBytes + 1} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			m, s := newMirror(t, 3)
			staged, at := m.staged(ctx, t, s)
			defer staged.Stage.Discard()
			content, err := staged.Stage.Put(ctx, oid.Blob, []byte("new"), oid.ID{})
			if err != nil {
				t.Fatal(err)
			}
			root := content.Append([]byte("100644 new\x00"))
			if staged.State.Tree, err = staged.Stage.Put(ctx, oid.Tree, root, oid.ID{}); err != nil {
				t.Fatal(err)
			}
			staged.Trees = func(oid.ID, ...oid.ID) ([]byte, error) { return root, nil }
			at.Head = gitbridge.Head{} // so all of it comes from the store
			begun, met := make(chan struct{}), make(chan struct{})
			memory := &asking{
				tree: root, bytes: bytes,
				begun: sync.OnceFunc(func() { close(begun) }), met: sync.OnceFunc(func() { close(met) }),
			}
			staged.Memory = memory
			held, err := m.Hold(ctx, staged, at)
			if err != nil {
				t.Fatal(err)
			}
			commit := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: staged.State.Tree, Time: time.Unix(1e9, 0), Identity: "A <a@localhost>"}, m.Objects.Algorithm)
			id, err := staged.Stage.Put(ctx, oid.Commit, commit, oid.ID{})
			if err != nil {
				t.Fatal(err)
			}
			way, err := held.Begin(ctx, id, commit)
			if err != nil || way.GitFirst() {
				t.Fatalf("%v: git comes first", err)
			}
			if <-begun; bytes <= besideBytes {
				<-met // beside the store
			}
			if err := staged.Stage.Commit(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if early := memory.times.Load() > 0; early != (bytes <= besideBytes) {
				t.Errorf("git was asked before the record: %v", early)
			}
			if err := way.Recorded(ctx, id); err != nil {
				t.Fatal(err)
			}
			if err := way.run.wait(); err != nil || memory.times.Load() == 0 || !m.git().Keeps(ctx, id) {
				t.Errorf("%v: git does not keep the snapshot", err)
			}
		})
	}
}

// While a mending looks, the disk with an index of git's may fail: then what is not found may be there.
func TestAnIndexThatFailsWhileAMendingLooksMarksNothingAsLost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: cutting a mapped file is tried on Linux only")
	}
	ctx := context.Background()
	m, s := newMirror(t, 3)
	staged, at := m.staged(ctx, t, s)
	commit := gitbridge.EncodeSnapshot(gitbridge.Commit{Tree: staged.State.Tree, Time: time.Unix(1e9, 0), Identity: "A <a@localhost>"}, m.Objects.Algorithm)
	id, err := staged.Stage.Put(ctx, oid.Commit, commit, oid.ID{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Hold(ctx, staged, at); err != nil {
		t.Fatal(err)
	}
	if err := staged.Stage.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	err = m.Update(ctx, func(u *records.Update) error {
		return u.Record(&records.Snapshot{ID: id, Tree: staged.State.Tree, Umask: 0o22, Time: time.Unix(1e9, 0), Where: ".", Held: records.HeldByGit}, true)
	})
	if err != nil {
		t.Fatal(err)
	}
	packs := m.packed(t)
	cut := sync.OnceFunc(func() { // the tree was read before
		if err := errors.Join(os.Chmod(packs, 0o600), os.Truncate(packs, 0)); err != nil {
			t.Fatal(err)
		}
	})
	_, err = m.mendWith(ctx, func(id oid.ID) bool {
		cut()
		return m.git().Has(id)
	})
	if err == nil {
		t.Error("it says nothing")
	}
	all, err := records.Read(ctx, m.View, (*records.View).Snapshots)
	if err != nil || len(all) != 1 || all[0].Lost != "" {
		t.Errorf("%v: %+v", err, all)
	}
}

// packed has git pack everything, and returns the index.
func (m *Mirror) packed(t *testing.T) string {
	t.Helper()
	dir := m.git().Layout().Objects
	cmd := exec.Command("git", "-C", filepath.Dir(filepath.Dir(dir)), "repack", "-adq")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := filepath.Glob(filepath.Join(dir, "pack", "*.idx"))
	if err != nil || len(list) != 1 {
		t.Fatal(err, list)
	}
	return list[0]
}
