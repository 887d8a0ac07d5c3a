package gitodb

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestTheSizesOfManyAreThoseOfEach has enough objects for the work to be put in
// order and shared: in one pack with deltas, in a second, loose, and nowhere.
func TestTheSizesOfManyAreThoseOfEach(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		rng := rand.New(rand.NewPCG(7, 7))
		write := func(n, from int) {
			for i := range n {
				text := strings.Repeat(fmt.Sprintf("line %d of many\n", rng.IntN(40)), 1+rng.IntN(90)) + fmt.Sprint(from+i)
				if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprint("f", from+i)), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r.git("add", ".")
		}
		write(shareMin+500, 0)
		r.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
		r.git("repack", "-qad")
		write(300, 10_000)
		r.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "y")
		r.git("repack", "-qd")
		write(20, 20_000)
		d := r.open()
		ids := r.ids()
		for range 2 { // the second time a pack is known to be the one to begin with
			r.wantLengths(d, ids)
		}
		deltas := 0
		for _, s := range d.all() {
			for _, p := range s.list() {
				for _, id := range slices.Collect(maps.Keys(ids)) {
					if off, ok := p.find(id); ok {
						if e, err := p.entry(off); err == nil && e.kind == offsetDelta {
							deltas++
						}
					}
				}
			}
		}
		if len(ids) < shareMin || deltas < 100 {
			t.Errorf("%d objects, %d deltas; the test is not whole", len(ids), deltas)
		}
	})
}

func TestAShortenedPackGivesNoWrongSizes(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	for i := range shareMin + 10 {
		if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprint("f", i)), []byte(fmt.Sprint(i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.git("add", ".")
	r.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
	r.git("repack", "-qad")
	d := r.open()
	ids := slices.Collect(maps.Keys(r.ids()))
	want := make([]int64, len(ids))
	raw := func(i int) []byte { return ids[i].Bytes() }
	d.Lengths(len(ids), raw, want)
	packs, err := filepath.Glob(filepath.Join(r.objects(), "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	if err := os.Chmod(packs[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(packs[0], 8192); err != nil {
		t.Fatal(err)
	}
	got := make([]int64, len(ids))
	d.Lengths(len(ids), raw, got)
	lost := 0
	for i, n := range got {
		if n < 0 {
			lost++
		} else if n != want[i] {
			t.Errorf("%v has %d bytes, want %d", ids[i], n, want[i])
		}
	}
	if lost == 0 {
		t.Error("nothing was lost; the test is empty")
	}
}

// unmapped opens the repository, and its packs without their maps: a file
// system may not let files be mapped, and not every system can.
func (r *repo) unmapped() *DB {
	r.t.Helper()
	d := r.open()
	for _, s := range d.all() {
		for _, p := range s.list() {
			if p.lookUp() == nil {
				r.t.Fatal("no index")
			}
			if _, err := p.open(); err != nil {
				r.t.Fatal(err)
			}
			if p.unmap != nil {
				if err := p.unmap(); err != nil {
					r.t.Fatal(err)
				}
			}
			p.data, p.unmap = nil, nil
		}
	}
	return d
}

// onePack makes a repository with so many files, all in one pack.
func onePack(t *testing.T, files int) *repo {
	r := newRepo(t, oid.SHA1)
	for i := range files {
		text := strings.Repeat("much the same\n", 100) + fmt.Sprint(i)
		if err := os.WriteFile(filepath.Join(r.dir, fmt.Sprint("f", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.git("add", ".")
	r.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
	r.git("repack", "-qad")
	return r
}

func TestTheSizesOfAPackThatIsNotMappedAreTold(t *testing.T) {
	r := onePack(t, 70)
	r.wantLengths(r.unmapped(), r.ids())
}

func TestAnUnmappedPackThatIsShortenedIsCorrupt(t *testing.T) {
	r := onePack(t, 70)
	d, ids := r.unmapped(), r.ids()
	packs, err := filepath.Glob(filepath.Join(r.objects(), "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	if err := os.Chmod(packs[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(packs[0], 12); err != nil {
		t.Fatal(err)
	}
	for id := range ids {
		if _, _, err := d.Read(id); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("Read = %v", err)
		}
	}
}
