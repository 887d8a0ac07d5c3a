package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// take records the worktree as it is; git may not keep it yet.
func (p *place) take(e *Engine) *Recorded {
	p.t.Helper()
	r, err := e.Snapshot(context.Background(), nil)
	p.must(err)
	return r
}

// commit makes everything a commit of the user's.
func (p *place) commit(message string) {
	p.t.Helper()
	p.git("add", "-A")
	p.git("commit", "-q", "-m", message)
}

// collect lets git forget all that only its reflogs and its index keep.
func (p *place) collect() {
	p.t.Helper()
	p.git("reflog", "expire", "--expire=now", "--all")
	p.git("gc", "-q", "--prune=now")
}

// leave goes to a branch without a past and removes the one it was on.
func (p *place) leave() {
	p.t.Helper()
	old := p.git("symbolic-ref", "--short", "HEAD")
	p.git("checkout", "-q", "--orphan", "after-"+old)
	p.git("rm", "-r", "-q", "-f", "--ignore-unmatch", "--cached", ".")
	p.git("commit", "-q", "--allow-empty", "-m", "nothing")
	p.git("branch", "-q", "-D", old)
}

// wantContent checks what a snapshot has at a path.
func (p *place) wantContent(e *Engine, id oid.ID, path, want string) {
	p.t.Helper()
	out := filepath.Join(p.t.TempDir(), "out")
	s := p.find(e, id.String())
	if _, err := e.Export(context.Background(), s, out); err != nil {
		p.t.Errorf("export %v: %v", id, err)
		return
	}
	if got, err := os.ReadFile(filepath.Join(out, path)); err != nil || string(got) != want {
		p.t.Errorf("%s of %v is %.60q, %v; want %.60q", path, id, got, err, want)
	}
}

// block makes it impossible to move the ref, and returns what ends that.
func (p *place) block() (unblock func()) {
	dir := filepath.Join(p.dir, ".git", filepath.Dir(gitbridge.StoreRef))
	aside := dir + "-aside"
	if err := os.Rename(dir, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.must(err)
	}
	p.must(os.WriteFile(dir, nil, 0o644))
	return func() {
		p.must(os.Remove(dir))
		if err := os.Rename(aside, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.must(err)
		}
	}
}

func TestWhatGitsIndexAloneHasIsCopiedIntoTheStore(t *testing.T) {
	p := newPlace(t, true)
	p.commitFiles(3)
	p.write("f", "added, and never committed")
	p.git("add", "f")
	e := p.open()
	unblock := p.block()
	r := p.take(e)
	if r.Bridge == nil {
		t.Fatal("git was reached")
	}
	p.git("reset", "-q")
	unblock()
	p.collect()
	p.wantContent(e, r.ID, "f", "added, and never committed")
	p.wantContent(e, r.ID, "tracked/1", "1")
	again := p.take(p.open())
	if again.Bridge != nil || again.ID != r.ID {
		t.Errorf("%+v", again)
	}
	p.wantClean(e)
}

// commitFiles commits so many files.
func (p *place) commitFiles(n int) {
	p.t.Helper()
	for i := range n {
		p.write(fmt.Sprint("tracked/", i), fmt.Sprint(i))
	}
	time.Sleep(50 * time.Millisecond) // or git's index would be as young as they are, and not believed
	p.commit("files")
}

// believeIndex makes git's index one that is believed: written a second after the files.
func (p *place) believeIndex() {
	p.t.Helper()
	p.git("update-index", "-q", "--really-refresh")
	then := time.Now().Add(1100 * time.Millisecond)
	p.must(os.Chtimes(filepath.Join(p.dir, ".git", "index"), then, then))
}

// borrowed is a place whose first snapshot rests on HEAD's objects.
func borrowed(t *testing.T) (*place, *Engine, *Recorded) {
	p := newPlace(t, true)
	p.commitFiles(3 * copyMax)
	p.believeIndex()
	e := p.open()
	r := p.take(e)
	if r.Held != records.HeldByGit {
		t.Fatalf("it is held by %q: this test proves nothing", r.Held)
	}
	return p, e, r
}

// forget lets git lose all that the ref and HEAD kept.
func (p *place) forget() {
	p.t.Helper()
	p.git("update-ref", "-d", gitbridge.StoreRef)
	p.leave()
	p.collect()
}

func TestACleanCheckoutIsBorrowedFromHeadOnlyWhenTheRefKeepsIt(t *testing.T) {
	t.Parallel()
	gittest.Stats(t)
	for _, blocked := range []bool{false, true} {
		p := newPlace(t, true)
		p.commitFiles(3 * copyMax)
		p.believeIndex()
		p.write("own", "not git's")
		e := p.open()
		unblock := func() {}
		if blocked {
			unblock = p.block()
		}
		r := p.take(e)
		want := records.HeldByGit
		if blocked {
			want = records.HeldByStore
		}
		if r.Held != want || blocked == (r.Bridge == nil) {
			t.Errorf("blocked %v: held by %q, bridge %v", blocked, r.Held, r.Bridge)
		}
		has := 0
		p.must(e.view(t.Context(), func(v *records.View) error {
			for i := range 3 * copyMax {
				if v.Has(e.alg.Sum(oid.Blob, fmt.Append(nil, i))) {
					has++
				}
			}
			return nil
		}))
		if all := has == 3*copyMax; all != blocked { // a few may be too young for git's index to be believed
			t.Errorf("blocked %v: the store has %d tracked contents of %d", blocked, has, 3*copyMax)
		}
		unblock()
		if err := os.RemoveAll(filepath.Join(p.dir, "tracked")); err != nil {
			t.Fatal(err)
		}
		p.leave()
		p.collect()
		p.wantContent(e, r.ID, "tracked/7", "7")
		p.wantContent(e, r.ID, "own", "not git's")
	}
}

func TestASnapshotIsMadeAgainIfHeadMovesBeforeTheRefKeepsWhatItHad(t *testing.T) {
	p := newPlace(t, true)
	p.commitFiles(3 * copyMax)
	p.write("new", "1")
	e := p.open()
	calls := 0
	e.seen = func() { // between HEAD's reading and the ref
		if calls++; calls == 1 {
			p.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
		}
	}
	r := p.take(e)
	if r.Head.String() != p.git("rev-parse", "HEAD") {
		t.Errorf("the snapshot says that HEAD was %v", r.Head)
	}
	if got := p.inRef(e); len(got) != 1 || got[0] != r.ID {
		t.Errorf("the ref keeps %v, want %v alone", got, r.ID)
	}
	p.wantClean(e)
}

func TestADeletedRefIsMendedByTheNextSnapshotFromStoreAndDisk(t *testing.T) {
	t.Parallel()
	p, e, one := borrowed(t)
	p.write("new", "of the store")
	two := p.take(e)
	p.forget() // now git has none of it
	if _, err := p.tryGit("cat-file", "-e", e.alg.Sum(oid.Blob, []byte("7")).String()); err == nil {
		t.Fatal("git still has what was committed")
	}
	e = p.open()
	three := p.take(e)
	p.must(three.Bridge)
	for _, id := range []oid.ID{two.ID, three.ID} {
		p.wantContent(e, id, "tracked/7", "7")
	}
	// The first one's root was in git alone, and nothing else is like it.
	if got := p.inRef(e); !slices.Equal(got, []oid.ID{two.ID}) {
		t.Errorf("the ref keeps %v", got)
	}
	if lost, err := e.Find(context.Background(), one.ID.String()); err != nil || lost.Lost == "" {
		t.Errorf("%+v, %v", lost, err)
	}
	if three.ID != two.ID || !three.Reused {
		t.Errorf("nothing changed, and there is a new snapshot %v", three.ID)
	}
}

func TestASnapshotThatIsLostIsNamedAndBlocksNoOther(t *testing.T) {
	t.Parallel()
	p, _, one := borrowed(t)
	p.write("tracked/7", "changed")
	p.forget()
	e := p.open()
	two := p.take(e)
	p.must(two.Bridge)
	p.wantContent(e, two.ID, "tracked/7", "changed")
	p.wantContent(e, two.ID, "tracked/8", "8")
	if got := p.inRef(e); len(got) != 1 || got[0] != two.ID {
		t.Errorf("the ref keeps %v, want %v alone: of the other git lacks a file", got, two.ID)
	}
	lost := p.find(e, one.ID.String())
	if !strings.Contains(lost.Lost, "is gone") {
		t.Errorf("what is lost is named as %q", lost.Lost)
	}
	if out, err := p.tryGit("fsck", "--connectivity-only"); err != nil {
		t.Errorf("%v %s", err, out)
	}
	p.write("tracked/9", "changed too")
	if three := p.take(e); three.Bridge != nil || three.Changed != 1 {
		t.Errorf("%+v", three)
	}
}

func TestALinkedWorktreeInsideTheRootIsKeptWhenItsBranchIsGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	p.commitFiles(1)
	p.git("worktree", "add", "-q", "-b", "side", "inside")
	for i := range 2 * copyMax {
		p.write(fmt.Sprint("inside/many/", i), fmt.Sprint("inside ", i))
	}
	sub := &place{t: p.t, dir: filepath.Join(p.dir, "inside"), home: p.home}
	sub.commit("of the side")
	e := p.open()
	r := p.take(e)
	p.git("worktree", "remove", "--force", "inside")
	p.git("branch", "-q", "-D", "side")
	p.collect()
	p.wantContent(e, r.ID, "inside/many/7", "inside 7")
	p.write("file", "next")
	if next, err := p.open().Snapshot(context.Background(), nil); err != nil || next.Bridge != nil {
		t.Errorf("%+v, %v", next, err)
	}
	p.wantClean(e)
}

func TestAPurgeDuringALargeSnapshotTakesNothingFromIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	p.snap(p.open(), "zero", nil)
	blob := strings.Repeat("0123456789abcdef", 6000)
	for i := range 150 {
		p.write(fmt.Sprint("d/", i), fmt.Sprint(i, blob, i))
	}
	e, other := p.open(), p.open()
	ctx, calls := context.Background(), 0
	e.seen = func() {
		if calls++; calls != 1 {
			return
		}
		_, err := other.Purge(ctx, []string{"file"}, false)
		p.must(err)
		_, err = p.storeOf(other).Sweep(ctx, other.sweeping(ctx, cas.SweepOptions{Grace: -1}, nil))
		p.must(err)
	}
	r := p.take(e)
	p.wantContent(e, r.ID, "d/7", fmt.Sprint(7, blob, 7))
	p.wantClean(e)
}

func TestABrokenIndexOfANestedRepositoryHindersNoSnapshot(t *testing.T) {
	for _, inGit := range []bool{true, false} {
		t.Run(fmt.Sprint("in git ", inGit), func(t *testing.T) {
			p := newPlace(t, inGit)
			p.write(".gitignore", "*.o\n")
			p.write("plain", "one")
			p.write("tracked.o", "object")
			if inGit {
				p.git("add", "-f", "plain", "tracked.o")
			}
			if out, err := p.tryGit("init", "-q", "inner/deep"); err != nil {
				t.Fatal(out)
			}
			p.write("inner/deep/file", "inside")
			p.write("inner/deep/.git/index", "no index")
			e := p.open()
			r := p.take(e)
			if len(r.Skipped) == 0 || !slices.ContainsFunc(r.Skipped, func(n Note) bool {
				return n.Path == "inner/deep/.git" && strings.Contains(n.Reason, "malformed index")
			}) {
				t.Errorf("skipped %+v", r.Skipped)
			}
			again := p.take(e)
			if again.ID != r.ID || !again.Reused {
				t.Errorf("%v after %v: %+v", again.ID, r.ID, again.Skipped)
			}
			if inGit { // its own index is not to blame
				if got := p.git("show", r.Tree.String()+":tracked.o"); got != "object" {
					t.Errorf("recorded %q", got)
				}
			}
			p.write("plain", "two")
			p.write("inner/deep/file", "changed")
			p.do(e, Op{To: r.ID})
			if p.read("plain") != "one" || p.read("inner/deep/file") != "inside" {
				t.Errorf("%q, %q", p.read("plain"), p.read("inner/deep/file"))
			}
		})
	}
}

// To hold a state may mend git, and copy what only git has: who discards what is recorded does not do it again.
func TestWhatIsCommittedIsNotHeldAgain(t *testing.T) {
	p := newPlace(t, true)
	e, ctx := p.open(), context.Background()
	p.write("f", "1")
	for _, early := range []bool{false, true} {
		p.write("f", fmt.Sprint(early))
		c, err := e.stage(ctx, new(watched.Turn))
		p.must(err)
		if early {
			c.hold(ctx, e.mirror)
		}
		if (c.held != nil) != early {
			t.Errorf("early %v: it is held already", early)
		}
		done, err := e.commit(ctx, c, Point{}, nil)
		p.must(err)
		if !early && c.held != nil {
			t.Error("to discard it would hold it again")
		}
		c.Discard()
		p.must(done.way.Finish(ctx))
	}
}
