package gitodb

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A repo is a repository made by the git program.
type repo struct {
	*gittest.Repo
	alg oid.Algorithm
}

func newRepo(t *testing.T, alg oid.Algorithm) *repo { return &repo{gittest.Of(t, alg), alg} }

func (r *repo) objects() string { return r.Path(".git", "objects") }

func (r *repo) open() *DB { return r.openAt(r.objects()) }

func (r *repo) openAt(dir string) *DB {
	r.T.Helper()
	d, err := Open(dir, r.alg, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() {
		if err := d.Close(); err != nil {
			r.T.Error(err)
		}
	})
	return d
}

// fill commits generations of files that pack into chains of deltas, and lists every
// object with git's word for its kind.
func (r *repo) fill(seed uint64) map[oid.ID]string {
	r.T.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	var lines []string
	for range 400 {
		lines = append(lines, fmt.Sprintf("line %x", rnd.Uint64()))
	}
	for gen := range 7 {
		lines[rnd.IntN(len(lines))] = fmt.Sprintf("changed in %d", gen)
		big := make([]byte, 300_000)
		rand.NewChaCha8([32]byte{byte(gen)}).Read(big)
		r.Write("a/b/text", strings.Join(lines, "\n"))
		r.Write("noise", string(big))
		r.Write("empty", "")
		r.Write(fmt.Sprintf("d%d/f", gen), string([]byte{byte(gen)}))
		r.Git("add", "-A")
		r.Git("commit", "-q", "-m", fmt.Sprint("generation ", gen))
	}
	r.Git("tag", "-a", "-m", "a tag", "v1")
	return r.ids()
}

func (r *repo) ids() map[oid.ID]string {
	r.T.Helper()
	all := map[oid.ID]string{}
	for line := range strings.Lines(r.Git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[r.Parse(id)] = kind
	}
	return all
}

// wantAll reads every object and compares kind and bytes with git's.
func (r *repo) wantAll(d *DB, ids map[oid.ID]string) {
	r.T.Helper()
	for id, kind := range ids {
		k, p, err := d.Read(id)
		if err != nil {
			r.T.Errorf("Read: %v", err)
			continue
		}
		if !d.Has(id) || k.String() != kind || r.alg.Sum(k, p) != id {
			r.T.Errorf("%v: a %v, want %s", id, k, kind)
		}
		if n, err := d.Length(id); n != int64(len(p)) || err != nil {
			r.T.Errorf("Length(%v) = %d, %v, want %d", id, n, err, len(p))
		}
	}
	r.wantLengths(d, ids)
	if len(ids) < 40 {
		r.T.Errorf("only %d objects", len(ids))
	}
}

// wantLengths asks for all objects at once, and for one that is nowhere.
func (r *repo) wantLengths(d *DB, ids map[oid.ID]string) {
	r.T.Helper()
	all := append(slices.Collect(maps.Keys(ids)), r.alg.Sum(oid.Blob, []byte("nowhere")))
	sizes := make([]int64, len(all))
	d.Lengths(len(all), func(i int) []byte { return all[i].Bytes() }, sizes)
	for i, id := range all {
		want, err := d.Length(id)
		if err != nil {
			want = -1
		}
		if sizes[i] != want {
			r.T.Errorf("Lengths of %v is %d, want %d", id, sizes[i], want)
		}
	}
}

// Packs of every form that git writes, which come and go under an open database.
func TestEveryObjectOfGitIsReadLooseAndPacked(t *testing.T) {
	t.Parallel()
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		ids, living := r.fill(1), r.open()
		for _, way := range [][]string{
			nil,
			{"repack", "-q", "-a", "-d", "-f", "--depth=50"},
			{"-c", "repack.usedeltabaseoffset=false", "repack", "-q", "-a", "-d", "-f"},
			{"-c", "pack.indexVersion=1", "repack", "-q", "-a", "-d", "-f", "--window=2"},
			{"offsets of 64 bits"},
		} {
			switch {
			case len(way) == 1:
				idx := packOf(t, r)
				if err := os.Remove(idx); err != nil {
					t.Fatal(err)
				}
				r.Git("index-pack", "--index-version=2,0x40", strings.TrimSuffix(idx, ".idx")+".pack")
			case way != nil:
				r.Git(way...)
				r.Git("prune-packed")
			}
			t.Run(strings.Join(way, " "), func(t *testing.T) {
				var readers sync.WaitGroup
				for _, d := range []*DB{living, r.open()} {
					for range 2 {
						readers.Go(func() { r.wantAll(d, ids) })
					}
				}
				readers.Wait()
			})
			if len(way) > 0 && way[0] == "repack" && !strings.Contains(r.Git("verify-pack", "-v", packOf(t, r)), "chain length = 5") {
				t.Fatal("git made no deep chains; the test needs them")
			}
		}
		r.Write("more", "since")
		r.Git("add", "-A")
		r.wantAll(living, r.ids())
	})
}

func packOf(t *testing.T, r *repo) string {
	t.Helper()
	m, _ := filepath.Glob(filepath.Join(r.objects(), "pack", "*.idx"))
	if len(m) != 1 {
		t.Fatalf("packs: %q, want one", m)
	}
	return m[0]
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	d := r.open()
	for _, id := range []oid.ID{{}, oid.SHA1.Sum(oid.Blob, []byte("nowhere")), oid.SHA256.Sum(oid.Blob, nil)} {
		_, _, err := d.Read(id)
		_, err2 := d.Length(id)
		if !errors.Is(err, ErrNotFound) || !errors.Is(err2, ErrNotFound) || d.Has(id) || d.Freshen(id) {
			t.Errorf("%v: %v, %v", id, err, err2)
		}
	}
}

func TestAlternatesAreFollowed(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	ids := r.fill(5)
	r.Git("repack", "-q", "-a", "-d")
	odd := filepath.Join(t.TempDir(), "a \"quoted\"\tname\n")
	gittest.Links(t)
	if err := os.Symlink(r.objects(), odd); err != nil {
		t.Fatal(err)
	}
	quoted := strings.NewReplacer(`"`, `\"`, "\t", `\t`, "\n", `\012`).Replace(odd)
	r.Write("middle/info/alternates", "# a comment\n\n/nowhere/at/all\n\""+quoted+"\"\n")
	r.Write("top/info/alternates", "../middle\n"+r.Path("top")+"\n")
	d := r.openAt(r.Path("top"))
	if r.wantAll(d, ids); len(d.all()) != 3 {
		t.Errorf("%d directories, want 3", len(d.all()))
	}
}

// Each link to "." gives the directory one more name at each level: with n of them it
// would be looked into 1+n+n²+… times, up to the fifth power.
func TestADirectoryOfObjectsThatNamesItselfByLinksIsOneSource(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	lines := r.Path("other") + "\n"
	r.Write("other/x", "")
	for i := range 4 {
		name := fmt.Sprint("l", i)
		if err := os.Symlink(".", filepath.Join(r.objects(), name)); err != nil {
			t.Skip("SKIPPED: no symlinks here: ", err)
		}
		lines += name + "\n"
	}
	r.Write(".git/objects/info/alternates", lines)
	if all := r.open().all(); len(all) != 2 || all[0].dir != r.objects() || all[1].dir != r.Path("other") {
		t.Errorf("%d sources", len(all))
	}
}

func TestFreshenRenewsFileAndPack(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Write("f", "x")
	r.Git("add", "f")
	r.Git("commit", "-q", "-m", "m")
	id, old := r.ID("HEAD"), time.Now().Add(-100*time.Hour)
	renewed := func(path string) {
		t.Helper()
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		if !r.open().Freshen(id) {
			t.Error("not fresh")
		}
		if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) > time.Minute {
			t.Errorf("%s: %v, %v", path, st.ModTime(), err)
		}
	}
	renewed(loosePath(r.objects(), id))
	r.Git("repack", "-q", "-a", "-d")
	renewed(strings.TrimSuffix(packOf(t, r), ".idx") + ".pack")
	lost := r.Parse(r.Give("lost", "hash-object", "-w", "--stdin"))
	if out, err := r.Try("repack", "-q", "--cruft", "-d"); err != nil {
		t.Skipf("SKIPPED: this git makes no cruft packs: %s", out)
	}
	if d := r.open(); !d.Has(lost) || d.Freshen(lost) {
		t.Errorf("in a cruft pack: Has %v, Freshen %v, want there but not fresh", d.Has(lost), d.Freshen(lost))
	}
}

func TestAListingSettlesByTheGrainOfTheFileSystem(t *testing.T) {
	now := time.Now()
	whole, fine := now.Truncate(time.Second), now.Truncate(time.Second).Add(time.Millisecond)
	for _, c := range []struct {
		mtime time.Time
		want  bool
	}{
		{time.Time{}, true},
		{fine.Add(time.Minute), false}, // another clock
		{fine.Add(-2 * time.Second), true},
		{whole.Add(-time.Second), false},
		{whole.Add(-4 * time.Second), true},
	} {
		if settled(c.mtime) != c.want {
			t.Errorf("%v ago: %v", now.Sub(c.mtime), !c.want)
		}
	}
}

// A turn of a thousand files asks for thousands of objects that are new, and there may be
// thirty packs.
func TestAPackThatLacksAnObjectIsAskedOnceAndNeedsNoMemory(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	new := oid.SHA1.Sum(oid.Blob, []byte("new"))
	cost := func() float64 {
		d := r.open()
		if d.Has(new) {
			t.Fatal("it is there")
		}
		return testing.AllocsPerRun(100, func() { d.Has(new) })
	}
	long := time.Now().Add(-time.Hour) // else a listing of the packs does not last
	settle := func() {
		if err := os.Chtimes(filepath.Join(r.objects(), "pack"), long, long); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	none := cost()
	for i := range 30 {
		r.Write("f", fmt.Sprint(i))
		r.Git("add", "f")
		r.Git("repack", "-q", "-d")
		r.Git("commit", "-q", "-m", "m")
		r.Git("repack", "-q", "-d")
	}
	settle()
	if n := len(r.open().all()[0].list()); n < 30 {
		t.Fatalf("%d packs", n)
	}
	if many := cost(); many > none+2 {
		t.Errorf("%.0f pieces of memory with thirty packs, %.0f with none", many, none)
	}
}

func TestAPackThatCameIsFoundThoughItsObjectWasAskedForBefore(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Write("f", "one")
	r.Git("add", "f")
	r.Git("commit", "-q", "-m", "m")
	r.Git("repack", "-q", "-a", "-d")
	d, new := r.open(), oid.SHA1.Sum(oid.Blob, []byte("two"))
	if d.Has(new) || d.Freshen(new) {
		t.Fatal("it is there")
	}
	list := d.all()[0].known()
	d.all()[0].refresh(true)
	if d.all()[0].known() != list {
		t.Error("a listing of the same packs is another one, which all are asked for again")
	}
	r.Write("f", "two")
	r.Git("add", "f")
	r.Git("commit", "-q", "-m", "m")
	r.Git("repack", "-q", "-a", "-d")
	if !d.Has(new) || !d.Freshen(new) {
		t.Error("what came in a new pack is not seen")
	}
	if _, p, err := d.Read(new); err != nil || string(p) != "two" {
		t.Errorf("%q, %v", p, err)
	}
}

// A disk may fail for a moment, or files that are open may be too many.
func TestAListingOfPacksThatFailedIsMadeAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory in which files are open cannot be moved away there")
	}
	r := newRepo(t, oid.SHA1)
	r.Write("f", "text")
	r.Git("add", "f")
	r.Git("commit", "-q", "-m", "m")
	r.Git("repack", "-q", "-a", "-d")
	dir, away, id := filepath.Join(r.objects(), "pack"), filepath.Join(r.objects(), "away"), oid.SHA1.Sum(oid.Blob, []byte("text"))
	long := time.Now().Add(-time.Hour)
	fail := func() { // all but the time of the directory is as it was afterwards
		if err := errors.Join(os.Rename(dir, away), os.WriteFile(dir, nil, 0o600), os.Chtimes(dir, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	heal := func() {
		if err := errors.Join(os.Remove(dir), os.Rename(away, dir), os.Chtimes(dir, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	fresh, old := r.open(), r.open()
	if !old.Has(id) {
		t.Fatal("it is not there")
	}
	fail()
	for name, d := range map[string]*DB{"fresh": fresh, "old": old} {
		if err := d.Complete(); err == nil {
			t.Errorf("%s: said to be complete while its packs cannot be listed", name)
		}
	}
	if fresh.Has(id) {
		t.Error("it is found where nothing can be listed")
	}
	if err := fresh.Harden(t.Context()); err == nil {
		t.Error("packs that cannot be listed are said to be durable")
	}
	heal()
	for name, d := range map[string]*DB{"fresh": fresh, "old": old} {
		if _, p, err := d.Read(id); err != nil || string(p) != "text" || !d.Has(id) || d.Complete() != nil {
			t.Errorf("%s: %q, %v; complete: %v", name, p, err, d.Complete())
		}
	}
}
