package gitindex

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func (r *repo) decode() *Index {
	r.T.Helper()
	path := r.Path(".git", "index")
	data, err := os.ReadFile(path)
	if err != nil {
		r.T.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		r.T.Fatal(err)
	}
	x, err := Decode(data, &Options{Algorithm: r.alg, Mtime: info.ModTime().UnixNano(), Shared: func(id oid.ID) ([]byte, error) {
		return os.ReadFile(r.Path(".git", "sharedindex."+id.String()))
	}})
	if err != nil {
		r.T.Fatal(err)
	}
	return x
}

// check compares the decoded index with git's listing.
func (r *repo) check() *Index {
	r.T.Helper()
	x := r.decode()
	want := r.gitList(x.Sparse)
	got := list(x)
	if len(got) != len(want) || x.Len() != len(want) {
		r.T.Errorf("%d entries listed, Len %d; git has %d", len(got), x.Len(), len(want))
	}
	for i := range x.dirs {
		for _, e := range x.Dir(x.dirs[i].path).Entries {
			if of := x.records[e.Number].path; path.Join(x.dirs[i].path, e.Name) != of {
				r.T.Errorf("%s has the number of %s", e.Name, of)
			}
		}
	}
	for _, l := range got {
		name, meta, _ := strings.Cut(l, "\x00")
		if strings.HasPrefix(meta, "S 040000 ") {
			if w := want[name+"/\x000"]; !strings.HasPrefix(w, meta) {
				r.T.Errorf("sparse directory %q: %q, git has %q", name, meta, w)
			}
			continue
		}
		stage := strings.Fields(meta)[3]
		if w := want[name+"\x00"+stage]; normal(w) != normal(meta) {
			r.T.Errorf("%q:\n got %q\nwant %q", name, normal(meta), normal(w))
		}
	}
	return x
}

func TestEveryVariantIsReadAsGitReadsIt(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		for version := 2; version <= 4; version++ {
			t.Run(fmt.Sprintf("%v v%d", alg, version), func(t *testing.T) {
				r := newRepo(t, alg)
				r.Git("config", "index.version", strconv.Itoa(version))
				r.fill()
				r.Git("add", ".")
				r.Git("update-index", "--add", "--cacheinfo", "160000,"+alg.Sum(oid.Commit, nil).String()+",lib/sub") // a submodule
				if x := r.check(); int(x.files[0].version) != version && version != 3 {
					t.Errorf("version %d", x.files[0].version)
				}
				r.Git("commit", "-qm", "x")
				r.check()
				r.Git("update-index", "--assume-unchanged", "b/a.c", "a")
				r.Git("update-index", "--skip-worktree", "b/a/c/d", "z")
				r.Write("later/new", "x")
				r.Git("add", "-N", "later/new")
				x := r.check()
				if version == 3 && x.files[0].version != 3 {
					t.Errorf("version %d", x.files[0].version)
				}
				if e := x.Dir("later").find("new"); len(e) != 1 || e[0].Flags != IntentToAdd {
					t.Errorf("intent to add: %+v", e)
				}
				r.Git("update-index", "--index-version", "4", "--split-index")
				r.check()
			})
		}
	}
}

func TestSplitIndexesAreJoined(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		for _, version := range []string{"2", "4"} {
			t.Run(alg.String()+" v"+version, func(t *testing.T) {
				r := newRepo(t, alg)
				r.Git("config", "core.splitIndex", "true")
				r.Git("config", "index.version", version)
				r.Git("config", "splitIndex.maxPercentChange", "100")
				r.fill()
				r.Git("add", ".")
				r.Git("update-index", "--split-index")
				r.check()
				for i := range 60 {
					r.Write(fmt.Sprintf("many/%02d/f%d", i%17, i), "changed")
				}
				r.Write("b/a/new", "x")
				r.Write("0", "first")
				r.Git("add", ".")
				// Of a run of entries that go there are whole words in the bitmap.
				r.Git("rm", "-q", "-r", "--cached", "a", "z", "many/03/f3", "many/00/f0", "many/05", "many/06", "many/07", "many/08", "many/09", "many/10", "many/11", "many/12")
				r.Git("update-index", "--assume-unchanged", "b/a.c")
				r.Git("update-index", "--skip-worktree", "b/a/c/d")
				r.check()
				if found, _ := filepath.Glob(r.Path(".git", "sharedindex.*")); len(found) == 0 {
					t.Error("git made no shared index; the test is empty")
				}
				data, err := os.ReadFile(r.Path(".git", "index"))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(data, []byte("link")) {
					t.Error("the index is not split; the test is empty")
				}
			})
		}
	}
}

func TestSparseIndexesHaveWholeDirectories(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		r := newRepo(t, alg)
		r.fill()
		r.Write("many/sub/deep/x", "x")
		r.Git("add", ".")
		r.Git("commit", "-qm", "x")
		r.Git("sparse-checkout", "set", "--cone", "--sparse-index", "many/03", "many/sub")
		x := r.check()
		d := x.Dir("b")
		if !x.Sparse || d == nil || d.Sparse.IsZero() || len(d.Entries)+len(d.Dirs) > 0 {
			t.Fatalf("%v: sparse %v, b is %+v", alg, x.Sparse, d)
		}
		if want := strings.TrimSpace(r.Git("rev-parse", "HEAD:b")); d.Sparse.String() != want {
			t.Errorf("b is %v, want %s", d.Sparse, want)
		}
		if x.Dir("many/03") == nil || len(x.Dir("many/03").Entries) == 0 {
			t.Error("many/03 is wanted and should have entries")
		}
	}
}

func TestChecksumMayBeLeftOut(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Git("config", "index.skipHash", "true")
	r.fill()
	r.Git("add", ".")
	r.check()
	path := r.Path(".git", "index")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[len(data)-20:]) // what git 2.40 and newer write
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	r.check()
	data[len(data)-1] = 1
	if _, err := Decode(data, nil); err == nil {
		t.Error("a wrong checksum was accepted")
	}
}

func TestUnmergedPathsHaveStages(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Write("f/x", "base")
	r.Write("both", "base")
	r.Git("add", ".")
	r.Git("commit", "-qm", "base")
	r.Git("checkout", "-qb", "other")
	r.Write("f/x", "theirs")
	r.Git("rm", "-q", "both")
	r.Write("both/inner", "d/f conflict")
	r.Git("add", ".")
	r.Git("commit", "-qam", "theirs")
	r.Git("checkout", "-q", "-")
	r.Write("f/x", "ours")
	r.Write("both", "ours")
	r.Git("commit", "-qam", "ours")
	if _, err := r.Try("merge", "other"); err == nil {
		t.Fatal("the merge has no conflict")
	}
	x := r.check()
	e := x.Dir("f").find("x")
	if len(e) != 3 || e[0].Stage != 1 || e[1].Stage != 2 || e[2].Stage != 3 {
		t.Errorf("stages %+v", e)
	}
	if got := x.Dir("f").find("w"); len(got) != 0 {
		t.Errorf("found %+v for a name that is not there", got)
	}
}

func TestDigestFollowsContentAndNotStatData(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill()
	r.Git("add", ".")
	first := r.decode()
	later := time.Unix(1_700_000_000, 5)
	for _, p := range []string{"b/a.c", "a"} {
		if err := os.Chtimes(r.Path(p), later, later); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("update-index", "--refresh")
	second := r.decode()
	if first.Dir("b").Entries[0].Stat == second.Dir("b").Entries[0].Stat {
		t.Fatal("stat data did not change; the test is empty")
	}
	same(t, first, second)
	r.Write("b/a/c/d", "changed")
	r.Git("add", ".")
	r.Git("update-index", "--skip-worktree", "many/05/f5")
	r.Write("a-b/sub/new", "x")
	r.Git("add", "a-b")
	same(t, second, r.decode(), "a-b", "a-b/sub", "b/a/c", "many/05")
}

func same(t *testing.T, a, b *Index, except ...string) {
	t.Helper()
	differ := map[string]bool{}
	for _, p := range except {
		differ[p] = true
	}
	for i := range b.dirs {
		path := b.dirs[i].path
		d, now := a.Dir(path), b.Dir(path)
		if eq := d != nil && d.Digest == now.Digest; eq == differ[path] {
			t.Errorf("digest of %q: equal is %v", path, eq)
		}
		if now.Digest == 0 {
			t.Errorf("digest of %q is 0", path)
		}
	}
}

func TestADirectoryIsReadOverAnother(t *testing.T) {
	x, err := Decode(build([]item{{path: "a", more: extendedSkipWorktree}, {path: "b/c"}, {path: "b/d/e"}, {path: "b/f"}, {path: "g"}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var d Directory
	for _, path := range []string{"", "b", "b/d", "b", ""} {
		if !x.Read(path, &d) {
			t.Fatalf("%q is not found", path)
		}
		if want := x.Dir(path); !reflect.DeepEqual(&d, want) {
			t.Errorf("%q read over another is %+v, want %+v", path, &d, want)
		}
	}
	if x.Read("b/c", &d) || x.Dir("x") != nil {
		t.Error("a file and a path that is not there are directories")
	}
	if !x.Skips {
		t.Error("an entry is not wanted on disk, and the index does not say so")
	}
}

func TestDigestIsTheSameForever(t *testing.T) {
	d := Directory{Entries: []Entry{{Name: "name", Mode: tree.GitFile, ID: oid.SHA1.Sum(oid.Blob, nil)}}, Dirs: []string{"directory"}}
	if got := d.digest(); got != 0xfdf7ef971cb3b7f {
		t.Errorf("digest %#x; it is kept in stat tables, which a change makes useless", got)
	}
}

func TestAnEntryThatGitWroteTwiceIsOne(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.Git("config", "index.version", "2")
	r.Write("a", "1")
	r.Write("b/c", "2")
	r.Git("add", ".")
	path := r.Path(".git", "index")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head, size = 12, 64 // of an entry with a name of one byte
	twice := slices.Insert(slices.Clone(data[:len(data)-sha1.Size]), head, data[head:head+size]...)
	twice[11]++
	write := func(p []byte) {
		sum := sha1.Sum(p)
		if err := os.WriteFile(path, append(slices.Clone(p), sum[:]...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(twice)
	if out := r.Git("ls-files", "-s"); strings.Count(out, "\ta\n") != 2 {
		t.Fatalf("git does not list it twice:\n%s", out)
	}
	if x := r.decode(); len(x.Dir("").find("a")) != 1 || len(x.Dir("b").find("c")) != 1 {
		t.Errorf("%+v", x.Dir(""))
	}
	// Two that contradict one another are not an index.
	twice[head+size+50] ^= 1
	write(twice)
	if _, err := Decode(slices.Concat(twice, make([]byte, sha1.Size)), nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("two contents: %v", err)
	}
}
