package gitodb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A repo is a repository made by the git program, the oracle of these tests.
type repo struct {
	t   *testing.T
	dir string
	alg oid.Algorithm
}

func newRepo(t *testing.T, alg oid.Algorithm) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: the git program is not here, and it is what this test compares with")
	}
	r := &repo{t, t.TempDir(), alg}
	r.git("init", "-q", "-b", "main", "--object-format="+alg.String())
	r.git("config", "gc.auto", "0")
	return r
}

func (r *repo) objects() string { return filepath.Join(r.dir, ".git", "objects") }

func (r *repo) run(stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+r.dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.run("", args...)
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (r *repo) open() *DB {
	r.t.Helper()
	d, err := Open(r.objects(), r.alg, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return d
}

// fill commits generations of files that pack into chains of deltas.
func (r *repo) fill(seed uint64) {
	r.t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	r.t.Logf("seed %d", seed)
	var lines []string
	for range 400 {
		lines = append(lines, fmt.Sprintf("line %x", rnd.Uint64()))
	}
	write := func(name string, p []byte) {
		path := filepath.Join(r.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, p, 0o644)); err != nil {
			r.t.Fatal(err)
		}
	}
	for gen := range 7 {
		lines[rnd.IntN(len(lines))] = fmt.Sprintf("changed in %d", gen)
		write("a/b/text", []byte(strings.Join(lines, "\n")))
		big := make([]byte, 300_000)
		rand.NewChaCha8([32]byte{byte(gen)}).Read(big)
		write("noise", big)
		write("empty", nil)
		write(fmt.Sprintf("d%d/f", gen), []byte{byte(gen)})
		r.git("add", "-A")
		r.git("commit", "-q", "-m", fmt.Sprint("generation ", gen))
	}
	r.git("tag", "-a", "-m", "a tag", "v1")
}

// ids lists every object of the repository with git's word for its kind.
func (r *repo) ids() map[oid.ID]string {
	r.t.Helper()
	all := map[oid.ID]string{}
	for line := range strings.Lines(r.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")) {
		f := strings.Fields(line)
		id, err := oid.Parse(f[0])
		if err != nil {
			r.t.Fatal(err)
		}
		all[id] = f[1]
	}
	return all
}

// wantAll reads every object and compares kind and bytes with git's.
func (r *repo) wantAll(d *DB, ids map[oid.ID]string) {
	r.t.Helper()
	for id, kind := range ids {
		k, p, err := d.Read(id)
		if err != nil {
			r.t.Errorf("Read: %v", err)
			continue
		}
		if !d.Has(id) || k.String() != kind || r.alg.Sum(k, p) != id {
			r.t.Errorf("%v: a %v, want %s", id, k, kind)
		}
		if n, err := d.Length(id); n != int64(len(p)) || err != nil {
			r.t.Errorf("Length(%v) = %d, %v, want %d", id, n, err, len(p))
		}
	}
	r.wantLengths(d, ids)
	if len(ids) < 40 {
		r.t.Errorf("only %d objects", len(ids))
	}
}

// wantLengths asks for all objects at once, and for one that is nowhere.
func (r *repo) wantLengths(d *DB, ids map[oid.ID]string) {
	r.t.Helper()
	all := append(slices.Collect(maps.Keys(ids)), r.alg.Sum(oid.Blob, []byte("nowhere")))
	sizes := make([]int64, len(all))
	d.Lengths(len(all), func(i int) []byte { return all[i].Bytes() }, sizes)
	for i, id := range all {
		want, err := d.Length(id)
		if err != nil {
			want = -1
		}
		if sizes[i] != want {
			r.t.Errorf("Lengths of %v is %d, want %d", id, sizes[i], want)
		}
	}
}

func both(t *testing.T, f func(t *testing.T, alg oid.Algorithm)) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		t.Run(alg.String(), func(t *testing.T) { f(t, alg) })
	}
}

func TestEveryObjectOfGitIsReadLooseAndPacked(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		r.fill(1)
		ids := r.ids()
		t.Run("loose", func(t *testing.T) { r.wantAll(r.open(), ids) })
		r.git("repack", "-q", "-a", "-d", "-f", "--depth=50")
		if out := r.git("verify-pack", "-v", packOf(t, r)); !strings.Contains(out, "chain length = 5") {
			t.Fatal("git made no deep chains; the test needs them")
		}
		t.Run("packed", func(t *testing.T) { r.wantAll(r.open(), ids) })
		r.git("-c", "repack.usedeltabaseoffset=false", "repack", "-q", "-a", "-d", "-f")
		t.Run("packed with ref deltas", func(t *testing.T) { r.wantAll(r.open(), ids) })
	})
}

func TestIndexesOfVersionOneAreRead(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(2)
	ids := r.ids()
	r.git("-c", "pack.indexVersion=1", "repack", "-q", "-a", "-d", "-f")
	if p, _ := os.ReadFile(packOf(t, r)); bytes.HasPrefix(p, idxMagic) {
		t.Fatal("git wrote version 2")
	}
	r.wantAll(r.open(), ids)
}

func TestOffsetsOf64BitsAreRead(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(3)
	ids := r.ids()
	r.git("repack", "-q", "-a", "-d")
	idx := packOf(t, r)
	os.Remove(idx)
	r.git("index-pack", "--index-version=2,0x40", strings.TrimSuffix(idx, ".idx")+".pack")
	r.wantAll(r.open(), ids)
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

func TestPacksThatComeAndGoAreNoticed(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		r.fill(4)
		ids := r.ids()
		d := r.open()
		r.wantAll(d, ids)
		for range 3 {
			r.git("repack", "-q", "-a", "-d", "-f", "--window=2") // loose, then pack after pack
			r.git("prune-packed")
			r.wantAll(d, ids)
			if err := os.WriteFile(filepath.Join(r.dir, "more"), []byte(fmt.Sprint(time.Now())), 0o644); err != nil {
				t.Fatal(err)
			}
			r.git("add", "-A")
			r.git("commit", "-q", "-m", "more")
			ids = r.ids()
			r.wantAll(d, ids)
		}
	})
}

func TestAlternatesAreFollowed(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(5)
	ids := r.ids()
	r.git("repack", "-q", "-a", "-d")
	odd := filepath.Join(t.TempDir(), "a \"quoted\"\tname\n")
	middle, top := filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "t")
	link := func(dir, alternates string) {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "info"), 0o755),
			os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(alternates), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(r.objects(), odd); err != nil {
		t.Skip("SKIPPED: no symlinks here: ", err)
	}
	link(middle, "# a comment\n\n/nowhere/at/all\n\""+strings.NewReplacer(`"`, `\"`, "\t", `\t`, "\n", `\012`).Replace(odd)+"\"\n")
	rel, err := filepath.Rel(top, middle)
	if err != nil {
		t.Fatal(err)
	}
	link(top, rel+"\n"+top+"\n")
	d, err := Open(top, oid.SHA1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r.wantAll(d, ids)
	if len(d.all()) != 3 {
		t.Errorf("%d directories, want 3", len(d.all()))
	}
}

func TestFreshenRenewsFileAndPack(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(6)
	old := time.Now().Add(-100 * time.Hour)
	id, err := oid.Parse(r.git("rev-parse", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
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
	r.git("repack", "-q", "-a", "-d")
	renewed(strings.TrimSuffix(packOf(t, r), ".idx") + ".pack")
}

func TestFreshenAsksForAnotherCopyOfWhatLiesInACruftPack(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(7)
	blob, err := r.run("lost", "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(blob, err)
	}
	if out, err := r.run("", "repack", "-q", "--cruft", "-d"); err != nil {
		t.Skipf("SKIPPED: this git makes no cruft packs: %s", out)
	}
	id, _ := oid.Parse(blob)
	if d := r.open(); !d.Has(id) || d.Freshen(id) {
		t.Errorf("Has %v, Freshen %v, want there but not fresh", d.Has(id), d.Freshen(id))
	}
}

func TestConcurrentReadersAgree(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill(8)
	ids := r.ids()
	r.git("repack", "-q", "-a", "-d", "-f")
	d := r.open()
	done := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			r.wantAll(d, ids)
		}()
	}
	for range 4 {
		<-done
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
