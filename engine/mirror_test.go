package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	bolt "go.etcd.io/bbolt"
)

// changedFiles is more than a snapshot writes into files of their own.
const changedFiles = 130

// many returns a place of which a snapshot was taken, and in which many files
// changed since.
func many(t *testing.T) (*place, *Engine, *Recorded) {
	p := newPlace(t, true)
	e := p.open()
	for i := range changedFiles {
		p.write(fmt.Sprintf("dir%d/%d", i%7, i), fmt.Sprint("first ", i))
	}
	one := p.snap(e, "one", nil)
	for i := range changedFiles {
		p.write(fmt.Sprintf("dir%d/%d", i%7, i), fmt.Sprint("second ", i))
	}
	return p, e, one
}

func (p *place) packs() []string {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "pack", "*"))
	p.must(err)
	return list
}

// loose counts the objects that have a file of their own.
func (p *place) loose() int {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "??", "*"))
	p.must(err)
	return len(list)
}

func TestALargeUndoIsInGitWhenItsRestoreIsDone(t *testing.T) {
	p, e, one := many(t)
	before := len(p.packs())
	r := p.do(e, Op{To: one.ID})
	if p.read("dir0/0") != "first 0" || r.Written < changedFiles {
		t.Fatalf("%q, %+v", p.read("dir0/0"), r)
	}
	if !e.repo.Keeps(context.Background(), r.Undo) || p.git("cat-file", "blob", r.Undo.String()+":dir0/0") != "second 0" {
		t.Error("git does not keep the undo")
	}
	if got := len(p.packs()); got != before+2 { // a pack and its index
		t.Errorf("%d files of packs were made: %q", got-before, p.packs())
	}
	if out := p.git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") {
		t.Error(out)
	}
	if n := p.git("rev-list", "--count", gitbridge.StoreRef); n != "4" { // two snapshots, two links
		t.Errorf("the chain has %s commits", n)
	}
	if _, err := e.Do(context.Background(), Op{Verb: Undo}); err != nil || p.read("dir0/0") != "second 0" {
		t.Errorf("%v, %q", err, p.read("dir0/0"))
	}
	p.wantClean(e)
}

func TestAnUndoThatIsNotRecordedLeavesNothingInGit(t *testing.T) {
	p, e, one := many(t)
	before, ref := len(p.packs()), p.git("rev-parse", gitbridge.StoreRef)
	during, stop := context.WithCancel(context.Background())
	atClock(e, 2, stop)
	if _, err := e.Do(during, Op{To: one.ID}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := p.packs(); len(got) != before || p.git("rev-parse", gitbridge.StoreRef) != ref || p.read("dir0/0") != "second 0" {
		t.Errorf("packs %q, ref %s, %q", got, p.git("rev-parse", gitbridge.StoreRef), p.read("dir0/0"))
	}
}

func TestManyTurnsLeaveFewFilesAmongGitsObjects(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	p.write("a/b/c/d", "deep")
	e := p.open()
	var ids []oid.ID
	most := 0
	for i := range 250 {
		p.write("a/b/c/d", fmt.Sprint(i))
		ids = append(ids, p.take(e).ID)
		most = max(most, p.loose())
	}
	if most > 400 {
		t.Errorf("there were %d objects in files of their own", most)
	}
	if n := len(p.packs()) / 2; n > 16 {
		t.Errorf("%d packs", n)
	}
	for i := 0; i < len(ids); i += 37 {
		if got := p.git("cat-file", "blob", ids[i].String()+":a/b/c/d"); got != fmt.Sprint(i) {
			t.Errorf("snapshot %d has %q", i, got)
		}
	}
	p.prune(e, &PruneOptions{MaxSnapshots: 5, Grace: -1})
	if n := p.loose(); n > 400 {
		t.Errorf("after a prune %d objects are in files of their own", n)
	}
	p.wantClean(e)
	p.git("gc", "-q", "--prune=now")
	p.wantClean(e)
}

// needsBirth skips a test in which a process takes up what another one has noted in the
// git directory: it does so only where the system tells that an archive did not bring it.
func (p *place) needsBirth() {
	p.t.Helper()
	if birth, err := dirfd.Birth(p.dir); err != nil || !strings.HasPrefix(birth, "born ") {
		p.t.Skipf("SKIPPED: the file system of the tests does not tell when a directory was made: %q, %v", birth, err)
	}
}

// A lasting program opens its worktree anew for each turn.
type lasting struct {
	p     *place
	e     *Engine
	watch Watch
}

func (l *lasting) open() {
	l.p.t.Helper()
	next, err := l.watch.Open(context.Background(), l.p.dir, &Options{Getenv: l.p.getenv})
	l.p.must(err)
	l.e = next
	l.p.t.Cleanup(func() { l.watch.Close() })
}

func (l *lasting) turn(text string) *Recorded {
	l.p.t.Helper()
	l.open()
	l.p.write("a/b/c/d", text)
	r := l.p.take(l.e)
	l.p.must(r.Bridge)
	return r
}

func (l *lasting) rest() {
	l.p.t.Helper()
	l.p.must(l.watch.Rest(context.Background()))
	if l.watch.Due() {
		l.p.t.Error("a rest leaves something")
	}
}

func TestWhatACollectionTookFromTheNewestIsPutBackBetweenTwoTurns(t *testing.T) {
	p := newPlace(t, true)
	p.needsBirth()
	l := &lasting{p: p}
	l.turn("one")
	two := l.turn("two")
	if !l.watch.Due() {
		t.Fatal("a turn has left nothing")
	}
	l.rest()
	file := func(what string) string {
		id := p.git("rev-parse", what)
		return filepath.Join(p.dir, ".git", "objects", id[:2], id[2:])
	}
	for i, what := range []string{two.ID.String() + ":a/b/c/d", two.ID.String() + ":a/b", two.ID.String(), gitbridge.StoreRef} {
		gone := file(what)
		p.must(os.Remove(gone))
		l.turn(fmt.Sprint("then ", i))
		if _, err := os.Lstat(gone); err == nil && what != gitbridge.StoreRef && what != two.ID.String() {
			t.Errorf("%s: the turn looked itself", what)
		}
		l.rest()
		if _, err := os.Lstat(gone); err != nil && what != gitbridge.StoreRef { // then the chain was made anew
			t.Errorf("%s: %v", what, err)
		}
		p.wantClean(l.e)
		if got := p.inRef(l.e); !has(got, two.ID) {
			t.Errorf("%s: the ref keeps %v", what, got)
		}
	}
}

func TestWhatAnotherProcessBringsIntoGitIsNotBroughtBesideIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	l := &lasting{p: p}
	one := l.turn("one")
	lock := filepath.Join(p.dir, ".git", "refs", "pi-rewind", "store.lock")
	p.must(os.WriteFile(lock, nil, 0o644)) // the other one has not come to it yet
	p.write("a/b/c/d", "two")
	two := p.take(p.open())
	p.must(os.Remove(lock))
	if two.Bridge == nil || !l.watch.Due() {
		t.Fatalf("%v, due: %v", two.Bridge, l.watch.Due())
	}
	l.rest()
	if got := p.inRef(l.e); !has(got, one.ID) || has(got, two.ID) {
		t.Errorf("the ref keeps %v", got)
	}
	p.wantPending(1)
	three := l.turn("three")
	if got := p.inRef(l.e); !has(got, two.ID) || !has(got, three.ID) {
		t.Errorf("whoever records next leaves it out: the ref keeps %v", got)
	}
	p.wantPending(0)
}

func TestManyTurnsAreTidiedBetweenTurns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	l := &lasting{p: p}
	var ids []oid.ID
	before := 0
	for i := range 300 {
		before = len(p.packs())
		ids = append(ids, l.turn(fmt.Sprint(i)).ID)
		if n := len(p.packs()); n != before {
			t.Fatalf("turn %d packed itself: %d files of packs, %d before", i, n, before)
		}
		l.rest()
	}
	if n := p.loose(); n > 400 {
		t.Errorf("%d objects are in files of their own", n)
	}
	if n := len(p.packs()) / 2; n == 0 || n > 16 {
		t.Errorf("%d packs", n)
	}
	if last := len(strings.Fields(p.git("rev-list", "--parents", "-n1", gitbridge.StoreRef))); last < 2 {
		t.Errorf("the chain ends with %d words", last)
	}
	if n, _ := strconv.Atoi(p.git("rev-list", "--count", "--first-parent", gitbridge.StoreRef)); n > 200 {
		t.Errorf("the chain of %d snapshots has %d links: it was not folded", len(ids), n)
	}
	for i := 0; i < len(ids); i += 37 {
		if got := p.git("cat-file", "blob", ids[i].String()+":a/b/c/d"); got != fmt.Sprint(i) {
			t.Errorf("snapshot %d has %q", i, got)
		}
	}
	p.wantClean(l.e)
}

func TestARepositoryThatWentNeedsNoUpkeep(t *testing.T) {
	p := newPlace(t, true)
	l := &lasting{p: p}
	l.turn("one")
	p.must(os.Rename(filepath.Join(p.dir, ".git"), filepath.Join(t.TempDir(), "gone")))
	l.open()
	if !l.watch.Due() {
		t.Fatal("nothing was left")
	}
	l.rest()
}

// transactions is how many transactions have written to the store so far.
func (p *place) transactions() (n int) {
	p.t.Helper()
	db, err := bolt.Open(filepath.Join(p.dir, ".git", "rewind", storeFile), 0o600, &bolt.Options{ReadOnly: true})
	p.must(err)
	p.must(db.View(func(tx *bolt.Tx) error { n = tx.ID(); return nil }))
	p.must(db.Close())
	return n
}

func TestASnapshotWritesTheStoreOnce(t *testing.T) {
	p := newPlace(t, true)
	p.snap(p.open(), "zero", nil)
	for i := range 4 {
		before := p.transactions()
		p.snap(p.open(), fmt.Sprint(i), nil)
		if n := p.transactions() - before; n != 1 {
			t.Errorf("snapshot %d took %d transactions", i, n)
		}
		p.wantPending(0)
	}
	before := p.transactions()
	if r, err := p.open().Snapshot(context.Background(), nil); err != nil || !r.Reused {
		t.Errorf("%+v, %v", r, err)
	}
	if n := p.transactions() - before; n != 0 {
		t.Errorf("a snapshot of nothing new took %d transactions", n)
	}
}

// wantPending checks what status says of git.
func (p *place) wantPending(n int) {
	p.t.Helper()
	st := p.status(p.open())
	if st.Pending != n {
		p.t.Errorf("%d snapshots are pending, want %d", st.Pending, n)
	}
}
