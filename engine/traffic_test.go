package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestPrunesAndPurgesBesideSnapshotsLoseNothingElse lets several engines, as
// processes would, take snapshots of linked worktrees while others prune
// without grace, purge, fold and collect.
func TestPrunesAndPurgesBesideSnapshotsLoseNothingElse(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	ctx := context.Background()
	const turns = 10
	p.write("file", "zero")
	p.commit("zero")
	var dirs []string
	for i := range 3 {
		dirs = append(dirs, filepath.Join(filepath.Dir(p.dir), fmt.Sprint("w", i)))
		p.git("worktree", "add", "-q", dirs[i])
	}
	p.snap(p.open(), "start", nil)
	var writers, sweepers sync.WaitGroup
	stop := make(chan struct{})
	for _, dir := range dirs {
		e := p.openAt(dir)
		writers.Go(func() {
			for i := range turns {
				for n := range 20 {
					must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", n)), fmt.Appendf(nil, "%s %d %d", dir, i, n), 0o644))
				}
				must(t, os.WriteFile(filepath.Join(dir, "secret.key"), fmt.Appendf(nil, "key %d", i), 0o644))
				r, err := e.Snapshot(ctx, nil)
				for tries := 0; i == turns-1 && tries < 100 && errors.Is(err, cas.ErrSwept); tries++ {
					r, err = e.Snapshot(ctx, nil) // the last one is looked at below
				}
				if errors.Is(err, cas.ErrSwept) {
					continue // nothing was recorded, and it says so
				}
				if must(t, err); err == nil && r.Bridge != nil {
					t.Error(r.Bridge)
				}
			}
		})
	}
	loop := func(f func(e *Engine) error) {
		e := p.open()
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				begun := time.Now()
				if err := f(e); err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Since(begun)) // without a pause, a busy machine lets no snapshot through
			}
		})
	}
	loop(func(e *Engine) error { _, err := e.Prune(ctx, &PruneOptions{MaxSnapshots: 4, Grace: -1}); return err })
	loop(func(e *Engine) error { _, err := e.Purge(ctx, []string{"*.key"}, false); return err })
	loop(func(e *Engine) error { return e.repo.Fold(ctx) })
	writers.Wait()
	close(stop)
	sweepers.Wait()
	e := p.open()
	p.sync(e)
	p.wantClean(e)
	p.git("gc", "-q", "--prune=now")
	p.wantClean(e)
	for _, dir := range dirs {
		p.wantLastWhole(dir, "secret.key")
	}
}

// wantLastWhole checks that the last snapshot has what the worktree has, but
// for a path that may have been purged.
func (p *place) wantLastWhole(dir string, purged Path) {
	p.t.Helper()
	e := p.openAt(dir)
	last := p.find(e, "@")
	d := p.diff(e, last, nil)
	for _, c := range d.Changes {
		if c.Path != purged {
			p.t.Errorf("%s: the last snapshot lacks %s", dir, c.Path)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestAPruneThatDiedBeforeTheRefIsFinishedByTheNextCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	e := p.open()
	for i := range 5 {
		p.snap(e, fmt.Sprint(i), nil)
	}
	lock := ".git/refs/pi-rewind/store.lock"
	p.write(lock, "")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := e.Prune(ctx, &PruneOptions{MaxSnapshots: 2, Grace: -1}); err == nil {
		t.Error("it says that all was done")
	}
	if len(p.records(e)) != 2 || len(p.inRef(e)) != 5 {
		t.Fatalf("%d records, %d in the ref", len(p.records(e)), len(p.inRef(e)))
	}
	p.must(os.Remove(filepath.Join(p.dir, lock)))
	e = p.open()
	p.snap(e, "next", nil)
	if got := p.inRef(e); len(got) != 3 || !slices.Equal(got, p.records(e)) {
		t.Errorf("the ref keeps %v, the store %v", got, p.records(e))
	}
	p.wantClean(e)
}

func TestAnEmptyLiveSetPreservesTheRef(t *testing.T) {
	p := newPlace(t, true)
	id := p.hook("by another program")
	e := p.open()
	if out := p.prune(e, &PruneOptions{MaxAge: time.Nanosecond}); len(out.Foreign) != 0 {
		t.Errorf("%+v", out)
	}
	_, err := e.openStore(t.Context(), true)
	p.must(err)
	p.must(e.update(context.Background(), func(u *records.Update) error { return u.LetGo(id) }))
	p.must(e.mirror.Bridge(context.Background()))
	if !slices.Equal(p.inRef(e), []oid.ID{id}) {
		t.Errorf("the ref keeps %v", p.inRef(e))
	}
}

// An engine that found no store looks again at every command, for another process
// may have made one. If that one has it locked, the command waits: but no longer
// than it is told to.
func TestWhoWaitsForAStoreThatWasMadeSinceCanBeToldToStop(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(context.Context, *Engine) error{
		"list":    func(ctx context.Context, e *Engine) error { _, err := e.List(ctx, nil); return err },
		"status":  func(ctx context.Context, e *Engine) error { _, err := e.Status(ctx); return err },
		"resolve": func(ctx context.Context, e *Engine) error { _, err := e.Find(ctx, "@"); return err },
		"preview": func(ctx context.Context, e *Engine) error {
			_, err := e.Snapshot(ctx, &SnapshotOptions{DryRun: true})
			return err
		},
		"undo":   func(ctx context.Context, e *Engine) error { _, err := e.Do(ctx, Op{Verb: Undo}); return err },
		"prune":  func(ctx context.Context, e *Engine) error { _, err := e.Prune(ctx, nil); return err },
		"purge":  func(ctx context.Context, e *Engine) error { _, err := e.Purge(ctx, []string{"f"}, true); return err },
		"sync":   func(ctx context.Context, e *Engine) error { _, err := e.Sync(ctx); return err },
		"verify": func(ctx context.Context, e *Engine) error { _, err := e.Verify(ctx); return err },
		"unpin":  func(ctx context.Context, e *Engine) error { return e.Pin(ctx, "name", oid.ID{}) },
		"an object": func(ctx context.Context, e *Engine) error {
			_, _, err := e.objects.Read(ctx, oid.SHA1.Sum(oid.Blob, []byte("1")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, true)
			p.write("f", "1")
			e := p.open() // there is no store yet
			p.snap(p.open(), "by another", nil)
			lock, err := durable.Lock(t.Context(), filepath.Join(e.dir, storeFile+".lock"), durable.Exclusive)
			p.must(err)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- command(ctx, e) }()
			select {
			case err := <-done:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("it goes on waiting")
			}
			p.must(lock.Unlock())
		})
	}
}
