package engine

import (
	"context"
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
