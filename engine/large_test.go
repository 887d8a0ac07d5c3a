package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// noise returns bytes that do not compress, and the seed's own.
func noise(seed uint64, size int) string {
	r, b := rand.New(rand.NewPCG(seed, 1)), make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// stored returns what the store holds.
func (p *place) stored(e *Engine) cas.Stats {
	p.t.Helper()
	st, err := p.storeOf(e).Stats(context.Background())
	p.must(err)
	return st
}

// gitBytes is what git's objects take on disk.
func (p *place) gitBytes() (total int64) {
	p.t.Helper()
	p.must(filepath.Walk(filepath.Join(p.dir, ".git", "objects"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return err
	}))
	return total
}

func TestALargeUntrackedFileCostsItsPiecesInTheStoreAndNothingInGit(t *testing.T) {
	t.Parallel()
	const size = 24 << 20 // git takes files up to 16
	p := newPlace(t, true)
	large := noise(1, size)
	p.write("data/large.bin", large)
	e, ctx := p.open(), context.Background()
	first := p.snap(e, "one", nil)
	if n := p.gitBytes(); n > 1<<16 {
		t.Errorf("git has %d bytes", n)
	}
	before := p.stored(e)
	if before.StoredBytes > size*101/100 {
		t.Errorf("the store has %d bytes for a file of %d", before.StoredBytes, size)
	}
	f, err := os.OpenFile(filepath.Join(p.dir, "data/large.bin"), os.O_RDWR, 0)
	p.must(err)
	_, err = f.WriteAt([]byte{^large[size/2]}, size/2)
	p.must(err)
	p.must(f.Close())
	edited := p.read("data/large.bin")
	p.snap(e, "two", nil)
	after := p.stored(e)
	// The chunk that was edited, at most one whose bounds move with it, the list
	// of chunks, and a record.
	if grown := after.StoredBytes - before.StoredBytes; grown > 2<<20 || after.Objects-before.Objects > 12 {
		t.Errorf("one byte cost %d bytes in %d objects", grown, after.Objects-before.Objects)
	}
	if n := p.gitBytes(); n > 1<<16 {
		t.Errorf("git has %d bytes", n)
	}
	if _, err := e.Do(ctx, Op{To: first.ID}); err != nil || p.read("data/large.bin") != large {
		t.Errorf("the first version did not come back: %v", err)
	}
	if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil || p.read("data/large.bin") != edited {
		t.Errorf("the second version did not come back: %v", err)
	}
	p.wantClean(e)
}

// TestAFileIsRecordedOnceWhicheverSideOfTheLimitItIsOn takes a file through all
// that puts it on the one side or the other: its size, git add, git rm, the setting.
func TestAFileIsRecordedOnceWhicheverSideOfTheLimitItIsOn(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.gitMaxFileSize", "100k")
	small, large := noise(2, 100<<10), noise(3, 100<<10+1)
	e, ctx := p.open(), context.Background()
	type version struct {
		id   oid.ID
		text string
	}
	var versions []version
	inTree := func(id oid.ID) bool {
		return strings.Contains(p.git("ls-tree", "-r", "--name-only", id.String()), "big")
	}
	take := func(what string, want bool) (grown int64) {
		t.Helper()
		before := int64(0)
		if p.storeOf(e) != nil {
			before = p.stored(e).StoredBytes
		}
		r := p.take(e)
		p.must(r.Bridge)
		if got := inTree(r.ID); got != want {
			t.Errorf("%s: in git's tree: %v", what, got)
		}
		versions = append(versions, version{r.ID, p.read("big")})
		return p.stored(e).StoredBytes - before
	}
	p.write("big", small)
	take("at the limit", true)
	p.write("big", large)
	take("above it", false)
	if p.gitHas(e, large) {
		t.Error("git has what is above the limit")
	}
	p.git("add", "big")
	if n := take("added", true); n > 4<<10 {
		t.Errorf("added: %d bytes were stored again", n)
	}
	p.git("commit", "-q", "-m", "big")
	if n := take("committed", true); n > 4<<10 {
		t.Errorf("committed: %d bytes were stored again", n)
	}
	p.git("rm", "-q", "--cached", "big")
	if n := take("taken out of the index", false); n > 4<<10 {
		t.Errorf("taken out of the index: %d bytes were stored again", n)
	}
	p.write("big", small)
	take("small again", true)
	p.write("big", large)
	p.git("config", "rewind.gitMaxFileSize", "0")
	e = p.open()
	if n := take("without a limit", true); n > 4<<10 {
		t.Errorf("without a limit: %d bytes were stored again", n)
	}
	for _, v := range versions {
		if _, err := e.Do(ctx, Op{To: v.id}); err != nil || p.read("big") != v.text {
			t.Errorf("%v did not come back: %v", v.id, err)
		}
	}
	p.wantClean(e)
}

// TestTheStoreHasALargeFileThatOnlyGitHad takes out of the index what was never
// read: from then on the overlay names it, which git is not given.
func TestTheStoreHasALargeFileThatOnlyGitHad(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.gitMaxFileSize", "100k")
	text := noise(4, 200<<10)
	p.write("big", text)
	p.commitFiles(3)
	p.believeIndex()
	e := p.open()
	if r := p.take(e); r.Held != records.HeldByGit {
		t.Errorf("held by %q: the file was read", r.Held)
	}
	p.git("rm", "-q", "--cached", "big")
	r := p.take(e)
	if r.Bridge != nil {
		t.Fatal(r.Bridge)
	}
	p.must(e.view(t.Context(), func(v *records.View) error {
		if !v.Has(e.alg.Sum(oid.Blob, []byte(text))) {
			t.Error("the overlay rests on git")
		}
		return nil
	}))
	if n := p.stored(e).StoredBytes; n > 210<<10 {
		t.Errorf("%d bytes are stored of a file of %d", n, len(text))
	}
	p.wantContent(e, r.ID, "big", text)
}

func TestHistoryThatPassesATenthOfTheDiskIsSaidOnceAndWhenItHasDoubled(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		e, free := p.open(), int64(1<<40)
		e.free = func(string) (int64, error) { return free, nil }
		step := 0
		take := func() *Recorded {
			step++
			return p.snap(e, noise(uint64(step), 50<<10), nil)
		}
		if r := take(); r.Cost != nil {
			t.Errorf("git %v: said of a large disk: %+v", git, *r.Cost)
		}
		c := e.costNow()
		if c.Store == 0 || git != (c.Git > 0) {
			t.Errorf("git %v: %+v", git, c)
		}
		free = 9 * (c.Store + c.Git)
		r := take()
		if r.Cost == nil || r.Cost.Free != free || r.Cost.Store < c.Store {
			t.Fatalf("git %v: nothing was said: %+v", git, r.Cost)
		}
		said := r.Cost.Store + r.Cost.Git
		if again, err := e.Snapshot(context.Background(), nil); err != nil || again.Cost != nil {
			t.Errorf("git %v: it was said of no new snapshot: %v", git, err)
		}
		for {
			e = p.open() // it is remembered by the store
			e.free = func(string) (int64, error) { return free, nil }
			r := take()
			now := e.costNow()
			if total := now.Store + now.Git; r.Cost == nil && total >= 2*said {
				t.Errorf("git %v: nothing was said at %d bytes after %d", git, total, said)
			} else if r.Cost != nil && total < 2*said {
				t.Errorf("git %v: it was said again at %d bytes after %d", git, total, said)
			} else if total >= 2*said {
				break
			}
		}
		st, err := e.Status(context.Background())
		if err != nil || !st.Much || st.FreeBytes == nil || *st.FreeBytes != free || git != (st.GitBytes > 0) {
			t.Errorf("git %v: status says %+v, %v", git, st, err)
		}
		e.free = func(string) (int64, error) { return 0, nil } // full is not unknown
		if st, err = e.Status(context.Background()); err != nil || !st.Much || st.FreeBytes == nil || *st.FreeBytes != 0 {
			t.Errorf("git %v: of a full disk status says %+v, %v", git, st, err)
		}
		e.free = func(string) (int64, error) { return 0, fmt.Errorf("unknown") }
		if st, err = e.Status(context.Background()); err != nil || st.Much || st.FreeBytes != nil {
			t.Errorf("git %v: status says %+v, %v", git, st, err)
		}
		if _, err := e.Purge(context.Background(), []string{"nothing"}, false); err != nil {
			t.Error(err)
		}
	}
}
