//go:build unix

package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestALostSnapshotIsNobodysLastOneAndNoUndo(t *testing.T) {
	p := newPlace(t, true)
	zero := p.snap(p.open(), "zero", nil)
	p.commitFiles(3 * copyMax)
	p.believeIndex()
	e := p.open()
	one := p.take(e)
	p.forget()
	p.sync(e)
	if s, err := e.Find(t.Context(), one.ID.String()); err != nil || s.Lost == "" {
		t.Fatalf("%+v, %v: it is not lost", s, err)
	}
	e = p.open()
	r := p.do(e, Op{To: zero.ID})
	if r.Undo == one.ID || p.exists("tracked/7") {
		t.Errorf("%+v", r)
	}
	p.undo(e)
	if p.read("tracked/7") != "7" {
		t.Errorf("undo gave %q", p.read("tracked/7"))
	}
}

func TestARefThatIsDeletedWhileASnapshotIsOnItsWayIsMended(t *testing.T) {
	p, e, one := borrowed(t)
	p.write("new", "1")
	e.seen = func() { p.git("update-ref", "-d", gitbridge.StoreRef) }
	two := p.take(e)
	e.seen = nil
	if got := p.inRef(e); !has(got, one.ID) || !has(got, two.ID) {
		t.Errorf("the ref keeps %v (%v)", got, two.Bridge)
	}
	p.leave()
	p.collect()
	p.wantContent(e, one.ID, "tracked/7", "7")
	p.wantContent(e, two.ID, "tracked/7", "7")
}

func TestAChainIsNotBegunAnewWhereTheOldOneCannotBeMendedNow(t *testing.T) {
	p, e, one := borrowed(t)
	p.git("update-ref", "-d", gitbridge.StoreRef)
	unblock := p.block()
	p.write("new", "1")
	if r := p.take(e); r.Bridge == nil {
		t.Fatal("git was reached")
	}
	unblock()
	p.write("new", "2")
	if r := p.take(p.open()); r.Bridge != nil {
		t.Error(r.Bridge)
	}
	if got := p.inRef(e); len(got) != 3 || !has(got, one.ID) {
		t.Errorf("the ref keeps %v", got)
	}
	p.wantClean(e)
}

func TestWhatCannotBeLookedAtIsNotLost(t *testing.T) {
	p, _, one := borrowed(t)
	p.git("repack", "-adq")
	p.git("prune-packed")
	index, err := filepath.Glob(filepath.Join(p.dir, ".git", "objects", "pack", "*.idx"))
	if err != nil || len(index) != 1 {
		t.Fatal(index, err)
	}
	good, err := os.ReadFile(index[0])
	p.must(err)
	p.must(os.Chmod(index[0], 0o644))
	p.must(os.WriteFile(index[0], []byte("not an index"), 0o644))
	e := p.open()
	p.write("new", "1")
	two := p.take(e)
	if _, err := e.Sync(t.Context()); err == nil {
		t.Error("sync says that all is well")
	}
	p.must(os.WriteFile(index[0], good, 0o644))
	e = p.open()
	if s, err := e.Find(t.Context(), one.ID.String()); err != nil || s.Lost != "" {
		t.Errorf("%q, %v", s.Lost, err)
	}
	p.sync(e)
	if got := p.inRef(e); !has(got, one.ID) || !has(got, two.ID) {
		t.Errorf("the ref keeps %v", got)
	}
	p.wantClean(e)
}

func TestADamagedObjectOfTheStoreLosesItsOwnSnapshotAlone(t *testing.T) {
	p, e, one := borrowed(t)
	p.write("odd", "of the store alone")
	two := p.take(e)
	p.must(os.Remove(filepath.Join(p.dir, "odd")))
	id := e.alg.Sum(oid.Blob, []byte("of the store alone")).String()
	p.must(p.storeOf(e).Close())
	p.damage(e, []byte("of the store alone"))
	p.must(os.Remove(filepath.Join(p.dir, ".git", "objects", id[:2], id[2:])))
	p.git("update-ref", "-d", gitbridge.StoreRef)
	e = p.open()
	p.write("next", "n")
	three := p.take(e)
	if got := p.inRef(e); !has(got, one.ID) || !has(got, three.ID) || has(got, two.ID) {
		t.Errorf("the ref keeps %v; bridge: %v", got, three.Bridge)
	}
	if s, err := e.Find(t.Context(), two.ID.String()); err != nil || !strings.Contains(s.Lost, "odd") {
		t.Errorf("%q, %v", s.Lost, err)
	}
}

func TestAnOverlayIsInTheStoreWhateverGitHas(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.secrets", "builtin")
	for i := range 2 * copyMax {
		name := "keys/" + strings.Repeat("k", i+1) + ".pem"
		p.write(name, "secret "+name)
		p.must(os.Chmod(filepath.Join(p.dir, name), 0o600))
	}
	p.commit("keys")
	p.take(p.open())
	p.git("rm", "-r", "-q", "--cached", "keys")
	p.git("commit", "-q", "-m", "no keys")
	e := p.open()
	two := p.take(e)
	p.write("file", "next")
	p.take(p.open())
	p.prune(e, &PruneOptions{MaxSnapshots: 2, Grace: -1})
	p.leave()
	p.collect()
	p.wantContent(e, two.ID, "keys/kkk.pem", "secret keys/kkk.pem")
	p.wantClean(e)
}

func TestASweepWhileGitComesFirstTakesNothing(t *testing.T) {
	p := newPlace(t, true)
	p.commitFiles(3 * copyMax)
	p.git("config", "rewind.secrets", "builtin")
	p.write("key.pem", "the only copy")
	e, other := p.open(), p.open()
	p.must(os.MkdirAll(filepath.Join(p.dir, ".git", "rewind"), 0o700))
	held, err := durable.TryLock(filepath.Join(p.dir, ".git", "rewind", "ref.lock"), durable.Exclusive)
	p.must(err)
	done := make(chan *Recorded)
	go func() {
		r, err := e.Snapshot(context.Background(), nil)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(p.dir, ".git", "rewind", storeFile)); err != nil {
			continue
		}
		report, err := p.storeOf(other).Sweep(t.Context(), other.sweeping(t.Context(), cas.SweepOptions{Grace: -1}, nil))
		p.must(err)
		if report.Objects > 0 {
			break
		}
	}
	p.must(held.Unlock())
	r := <-done
	if r == nil {
		t.FailNow()
	}
	p.wantContent(e, r.ID, "key.pem", "the only copy")
	p.wantClean(e)
}

func TestWhatWasPurgedAndCollectedIsNotWrittenAgain(t *testing.T) {
	p := newPlace(t, true)
	p.commitFiles(1)
	p.write("key.pem", "TOP SECRET")
	e := p.open()
	p.take(e)
	p.write("file", "next")
	p.take(e)
	p.git("config", "rewind.secrets", "builtin")
	e = p.open()
	if _, err := e.Purge(t.Context(), []string{"key.pem"}, false); err != nil {
		t.Fatal(err)
	}
	p.git("gc", "-q", "--prune=now")
	secret := e.alg.Sum(oid.Blob, []byte("TOP SECRET")).String()
	if _, err := p.tryGit("cat-file", "-e", secret); err == nil {
		t.Fatal("git still has it: this test proves nothing")
	}
	for _, text := range []string{"1", "2"} {
		p.write("file", text)
		p.take(p.open())
		if _, err := p.tryGit("cat-file", "-e", secret); err == nil {
			t.Error("git has it again")
		}
	}
	p.wantClean(p.open())
}

func TestWhatHeadAloneKeptIsWrittenWhereHeadMovedBeforeTheRef(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	p.write("a", "a")
	p.commit("a")
	p.take(p.open())
	p.commitFiles(10)
	p.believeIndex()
	held, err := durable.TryLock(filepath.Join(p.dir, ".git", "rewind", "ref.lock"), durable.Exclusive)
	p.must(err)
	e := p.open()
	before := len(p.records(e))
	done := make(chan error)
	go func() {
		r, err := e.Snapshot(context.Background(), nil)
		if err == nil {
			err = r.Bridge
		}
		done <- err
	}()
	other := p.open()
	for begin := time.Now(); len(p.records(other)) == before && time.Since(begin) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
	}
	p.leave()
	p.collect()
	p.must(errors.Join(held.Unlock(), <-done))
	p.write("x", "x")
	p.take(p.open())
	p.wantClean(p.open())
	p.git("gc", "-q")
}

func TestWhatIsDamagedInTheStoreIsReadFromGit(t *testing.T) {
	p := newPlace(t, true)
	text := noise(1, 3000)
	p.write("f", text)
	e := p.open()
	r := p.take(e)
	p.must(p.storeOf(e).Close())
	p.damage(e, []byte(text))
	p.wantContent(p.open(), r.ID, "f", text)
}
