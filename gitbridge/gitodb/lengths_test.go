package gitodb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// fillPacks makes a pack of so many files, which has deltas, and one with a tenth of it.
func fillPacks(t *testing.T, files int) *repo {
	r := newRepo(t, oid.SHA1)
	rng := rand.New(rand.NewPCG(7, 7))
	for from := range 2 {
		from *= files
		for i := range files - from*9/10 {
			r.Write(fmt.Sprint("f", from+i), strings.Repeat(fmt.Sprintf("line %d of many\n", rng.IntN(40)), 1+rng.IntN(90))+fmt.Sprint(from+i))
		}
		r.Git("add", ".")
		r.Git("commit", "-qm", "x")
		r.Git("repack", "-qd")
	}
	return r
}

// packFile is the larger pack.
func (r *repo) packFile() (path string) {
	var most int64
	for _, idx := range packsOf(r) {
		if p := strings.TrimSuffix(idx, ".idx") + ".pack"; fileSize(p) > most {
			path, most = p, fileSize(p)
		}
	}
	return path
}

func (r *repo) truncate(path string, size int64) {
	r.T.Helper()
	if err := errors.Join(os.Chmod(path, 0o644), os.Truncate(path, size)); err != nil {
		r.T.Fatal(err)
	}
}

// TestTheSizesOfManyAreThoseOfEach has enough objects for the work to be shared: in one
// pack with deltas, in a second, loose, and nowhere.
func TestTheSizesOfManyAreThoseOfEach(t *testing.T) {
	t.Parallel()
	r := fillPacks(t, lengthsShare+500)
	r.Write("loose", "in a file of its own")
	r.Git("add", ".")
	d, ids := r.open(), r.ids()
	r.wantLengths(d, ids)
	if out := r.Git("verify-pack", "-v", r.packFile()); !strings.Contains(out, "chain length = 1: ") {
		t.Errorf("git made no deltas; the test is not whole: %s", out[max(0, len(out)-500):])
	}
	sizes := func() map[oid.ID]int64 {
		all := map[oid.ID]int64{}
		for id := range ids {
			var one [1]int64
			d.Lengths(1, func(int) []byte { return id.Bytes() }, one[:])
			all[id] = one[0]
		}
		return all
	}
	whole, lost := sizes(), 0
	r.truncate(r.packFile(), 8192)
	for id, n := range sizes() {
		switch {
		case n < 0:
			lost++
		case n != whole[id]:
			t.Errorf("of a pack that was cut short %v has %d bytes, want %d", id, n, whole[id])
		}
	}
	if lost == 0 {
		t.Error("nothing was lost; the test is empty")
	}
}

// A file system may not let files be mapped, and not every system can.
func TestAPackThatIsNotMappedIsReadAllTheSame(t *testing.T) {
	r := fillPacks(t, 70)
	d, ids := r.open(), r.ids()
	for _, p := range d.all()[0].list() {
		p.lookUp()
		if _, err := p.open(); err != nil || p.unmap != nil && p.unmap() != nil {
			t.Fatal(err)
		}
		p.data, p.unmap = nil, nil
	}
	r.wantAll(d, ids)
	d.bases = &bases{}
	r.truncate(r.packFile(), 12)
	failed := 0
	for id := range ids {
		if _, _, err := d.Read(id); errors.Is(err, ErrCorrupt) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if failed < 70 {
		t.Errorf("%d objects of a pack that was cut short are corrupt", failed)
	}
}
