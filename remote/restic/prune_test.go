package restic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/remote/depot"
)

// A world is a repository, and what has to be in it whatever happens.
type world struct {
	t    *testing.T
	dir  string
	rand *rand.Rand

	mu    sync.Mutex
	want  map[ID]map[string][]byte // snapshots that were acknowledged, and their files
	since map[string]time.Time     // when names came or went
	gone  map[string]bool
}

// A slow place shows lists as they were a moment ago, and ends at one of its requests.
type slow struct {
	depot.Place
	w    *world
	lag  time.Duration
	mu   sync.Mutex
	left int // requests until it is killed; below 0: it is not
	dead bool
}

func (s *slow) ask() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 || s.dead {
		s.dead = true
		return errKilled
	}
	return nil
}

func (s *slow) note(name string, gone bool) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.since[name], s.w.gone[name] = time.Now(), gone
}

func (s *slow) Put(ctx context.Context, name string, data []byte) error {
	if err := s.ask(); err != nil {
		return err
	}
	err := s.Place.Put(ctx, name, data)
	s.note(name, false)
	return errors.Join(err, s.ended())
}

func (s *slow) Delete(ctx context.Context, name string) error {
	if err := s.ask(); err != nil {
		return err
	}
	err := s.Place.Delete(ctx, name)
	s.note(name, true)
	return errors.Join(err, s.ended())
}

// ended reports whether somebody was killed meanwhile: the answer is lost.
func (s *slow) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errKilled
	}
	return nil
}

func (s *slow) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if err := s.ask(); err != nil {
		return nil, err
	}
	return s.Place.Get(ctx, name, offset, length)
}

func (s *slow) List(ctx context.Context, folder string) ([]depot.File, error) {
	if err := s.ask(); err != nil {
		return nil, err
	}
	list, err := s.Place.List(ctx, folder)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	young := func(name string) bool { return time.Since(s.w.since[name]) < s.lag }
	list = slices.DeleteFunc(list, func(f depot.File) bool { return young(folder + "/" + f.Name) })
	for name, gone := range s.w.gone {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok && gone && young(name) {
			list = append(list, depot.File{Name: rest, Size: 1})
		}
	}
	return list, err
}

// open opens the repository for one process, which is killed at a request, or never.
func (w *world) open(kill int, lag time.Duration) (*Repo, error) {
	p, err := depot.Open(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return Open(w.t.Context(), &slow{Place: p, w: w, lag: lag, left: kill}, password, nil)
}

// push writes a tree of a few of some files, of which others have many.
func (w *world) push(r *Repo, seed uint64) error {
	at := rand.New(rand.NewPCG(seed, 7))
	l, ctx, err := r.Lock(w.t.Context())
	if err != nil {
		return err
	}
	defer l.Unlock()
	if _, err := r.LoadIndex(ctx); err != nil {
		return err
	}
	out := r.Writer(ctx)
	defer out.Close()
	files := map[string][]byte{}
	var nodes []Node
	for range 1 + at.IntN(4) {
		text := noise(uint64(at.IntN(12)), 200)
		name := fmt.Sprint("f", len(nodes))
		id, err := out.Put(Data, text)
		if err != nil {
			return err
		}
		files[name] = text
		nodes = append(nodes, Node{Name: name, Type: "file", Mode: 0o600, Size: int64(len(text)), Content: []ID{id}})
	}
	below, err := out.PutTree(nodes)
	if err != nil {
		return err
	}
	top, err := out.PutTree([]Node{{Name: "d", Type: "dir", Mode: os.ModeDir | 0o700, Subtree: below}})
	if err == nil {
		err = out.Flush()
	}
	s := &Snapshot{Time: time.Now(), Tree: top, Paths: []string{"/d"}}
	if err == nil {
		err = r.PutSnapshot(ctx, s)
	}
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.want[s.ID] = files
	}
	return err
}

// prune forgets a snapshot, and removes what nothing needs.
func (w *world) prune(r *Repo, drop bool) error {
	l, ctx, err := r.LockAlone(w.t.Context())
	if err != nil {
		return err
	}
	defer l.Unlock()
	if _, err := r.LoadIndex(ctx); err != nil {
		return err
	}
	list, err := r.Snapshots(ctx, func(err error) { w.t.Error(err) })
	if err != nil {
		return err
	}
	seen := list
	if drop && len(list) > 0 {
		w.mu.Lock()
		delete(w.want, list[0].ID) // whether it is gone, or a kill comes first
		w.mu.Unlock()
		if err := r.place.Delete(ctx, "snapshots/"+list[0].ID.String()); err != nil {
			return err
		}
		list = list[1:]
	}
	var roots []ID
	for _, s := range list {
		roots = append(roots, s.Tree)
	}
	need, err := r.Reach(ctx, roots, nil)
	if err != nil {
		return err
	}
	p, err := r.PlanPrune(ctx, seen, need, func(ID) bool { return true })
	if err == nil {
		err = p.Do(ctx, l)
	}
	return err
}

// check reads everything that has to be there, as somebody does who comes later.
func (w *world) check(what string) {
	w.t.Helper()
	r := reopened(w.t, w.dir)
	ctx := w.t.Context()
	list, err := r.Snapshots(ctx, func(err error) { w.t.Error(err) })
	if err != nil {
		w.t.Fatal(err)
	}
	var roots []ID
	there := map[ID]*Snapshot{}
	for _, s := range list {
		roots = append(roots, s.Tree)
		there[s.ID] = s
	}
	need, err := r.Reach(ctx, roots, nil)
	if err != nil || len(need.broken) > 0 {
		w.t.Fatalf("%s: %v %v", what, need.Broken(), err)
	}
	for id, files := range w.want {
		s := there[id]
		if s == nil {
			w.t.Fatalf("%s: snapshot %v is gone", what, id)
		}
		top, err := r.GetTree(ctx, s.Tree)
		if err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		nodes, err := r.GetTree(ctx, top[0].Subtree)
		if err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		for _, n := range nodes {
			if got, err := r.Content(ctx, &n, 1<<20); err != nil || !bytes.Equal(got, files[n.Name]) {
				w.t.Fatalf("%s: %s of %v: %v", what, n.Name, id, err)
			}
		}
	}
}

// unlock removes what killed processes have left, as somebody does who knows that they are gone.
func (w *world) unlock() {
	if err := os.RemoveAll(filepath.Join(w.dir, "locks")); err != nil {
		w.t.Fatal(err)
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	_, dir := made(t)
	return &world{t: t, dir: dir, rand: rand.New(rand.NewPCG(seed, 3)), want: map[ID]map[string][]byte{}, since: map[string]time.Time{}, gone: map[string]bool{}}
}

// TestPushesPrunesAndCrashesLoseNothing lets pushes and prunes run beside one another, with lists that lag, and kills
// some of them at some request. restic looks after each round in a deep run, else after some.
func TestPushesPrunesAndCrashesLoseNothing(t *testing.T) {
	wasLag := lockLag
	lockLag = 40 * time.Millisecond
	t.Cleanup(func() { lockLag = wasLag })
	_, none := exec.LookPath("restic")
	pushed, pruned, each := 0, 0, seed.Deep()
	for seed := range uint64(4) {
		w := newWorld(t, seed)
		for round := range 14 {
			var wg sync.WaitGroup
			var mu sync.Mutex
			var said []string
			for range 1 + w.rand.IntN(2) {
				kill, lag := -1, time.Duration(w.rand.IntN(30))*time.Millisecond
				if w.rand.IntN(3) == 0 {
					kill = 1 + w.rand.IntN(25)
				}
				what, drop, content, after := w.rand.IntN(4), w.rand.IntN(2) == 0, w.rand.Uint64(), time.Duration(w.rand.IntN(60))*time.Millisecond
				wg.Go(func() {
					time.Sleep(after)
					r, err := w.open(kill, lag)
					if err == nil && what < 2 {
						err = w.prune(r, drop)
					} else if err == nil {
						err = w.push(r, content)
					}
					mu.Lock()
					defer mu.Unlock()
					said = append(said, fmt.Sprintf("%d killed at %d: %v", what, kill, err))
					if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, ErrLocked) && !errors.Is(err, depot.ErrNotThere) {
						t.Errorf("seed %d, round %d: %v", seed, round, err)
					}
					if err == nil && what < 2 {
						pruned++
					} else if err == nil {
						pushed++
					}
				})
			}
			wg.Wait()
			w.unlock()
			w.check(fmt.Sprintf("seed %d, round %d: %s", seed, round, strings.Join(said, "; ")))
			if none == nil && (each || round%5 == 4) {
				oracle(t, w.dir, "check", "--read-data")
			}
		}
		r, err := w.open(-1, 0)
		if err == nil {
			err = w.prune(r, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.check("at the end")
		for _, pack := range slices.Sorted(maps.Keys(packsOf(t, w.dir))) {
			if !indexed(t, w.dir, pack) {
				t.Errorf("pack %s is left, and no index names it", pack)
			}
		}
	}
	if pushed < 15 || pruned < 7 {
		t.Errorf("%d pushes and %d prunes", pushed, pruned)
	}
	if none != nil {
		t.Skip("SKIPPED: restic is not installed, and nothing else can say whether it finds no errors")
	}
}

// packsOf lists the packs that are there.
func packsOf(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	list, err := filepath.Glob(filepath.Join(dir, "data", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = info.Size()
	}
	return out
}

// indexed reports whether the index names a pack.
func indexed(t *testing.T, dir, pack string) bool {
	t.Helper()
	var id ID
	if err := id.UnmarshalText([]byte(pack)); err != nil {
		t.Fatal(err)
	}
	return slices.Contains(reopened(t, dir).index.packs, id)
}

// TestWhateverRequestAPruneEndsAtNothingIsLost has restic look after each.
func TestWhateverRequestAPruneEndsAtNothingIsLost(t *testing.T) {
	wasLag := lockLag
	lockLag = 0
	t.Cleanup(func() { lockLag = wasLag })
	for at := 1; ; at++ {
		w := newWorld(t, 1)
		for seed := range uint64(5) {
			r, err := w.open(-1, 0)
			if err == nil {
				err = w.push(r, seed)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r, err := w.open(at, 0)
		if err == nil {
			err = w.prune(r, true)
		}
		w.unlock()
		w.check(fmt.Sprint("after request ", at))
		if at%6 == 0 {
			oracle(t, w.dir, "check", "--read-data")
		}
		if err == nil {
			if at < 20 {
				t.Errorf("a prune makes %d requests", at)
			}
			break
		}
		if r, err = w.open(-1, 0); err == nil {
			err = w.prune(r, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.check(fmt.Sprint("after request ", at, " and another prune"))
	}
}
