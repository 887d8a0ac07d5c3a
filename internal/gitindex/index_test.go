package gitindex

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A repo is a repository made for one test by the git program.
type repo struct {
	t   *testing.T
	dir string
	alg oid.Algorithm
}

func newRepo(t *testing.T, alg oid.Algorithm) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git program, which is the oracle of this test")
	}
	r := &repo{t: t, dir: t.TempDir(), alg: alg}
	r.git("init", "-q", "--object-format="+alg.String())
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %q: %v", args, err)
	}
	return out
}

func (r *repo) try(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+r.dir, "GIT_OPTIONAL_LOCKS=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), nil
}

func (r *repo) write(path, content string) {
	r.t.Helper()
	full := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// fill writes files that make every kind of path order.
func (r *repo) fill() {
	for _, p := range []string{
		"a", "a-b/c", "a.b", "b/a/c/d", "b/a-/x", "b/a.c", "b/a0", "z", "\xff\xfe", "tab\there", "new\nline",
		"quote\"d", "über/größe", " lead", "trail ", "deep/" + strings.Repeat("d/", 60) + "f",
		"long" + strings.Repeat("x", 200), strings.Repeat("y", 250) + "/" + strings.Repeat("z", 250),
		strings.Repeat(strings.Repeat("p", 200)+"/", 25)[:3800] + "/end",
	} {
		r.write(p, "content of "+p)
	}
	for i := range 300 {
		r.write(fmt.Sprintf("many/%02d/f%d", i%17, i), strconv.Itoa(i%40))
	}
	r.write("empty", "")
	r.write("exec", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(r.dir, "exec"), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(r.dir, "link")); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) decode() *Index {
	r.t.Helper()
	path := filepath.Join(r.dir, ".git", "index")
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		r.t.Fatal(err)
	}
	x, err := Decode(data, &Options{Algorithm: r.alg, Mtime: info.ModTime().UnixNano(), Shared: func(id oid.ID) ([]byte, error) {
		return os.ReadFile(filepath.Join(r.dir, ".git", "sharedindex."+id.String()))
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	clear(data) // nothing of the result may lie in there
	return x
}

// list gives an index in the words of `git ls-files`, directories of a sparse
// index included, in the order of the index.
func list(x *Index) (out []string) {
	var dir func(path string)
	dir = func(path string) {
		d := x.Dir(path)
		if d == nil {
			panic("no directory " + path)
		}
		if !d.Sparse.IsZero() {
			out = append(out, fmt.Sprintf("%s\x00S 040000 %v 0", path, d.Sparse))
			return
		}
		prefix := path
		if path != "" {
			prefix += "/"
		}
		for i := range d.Entries {
			out = append(out, prefix+d.Entries[i].Name+"\x00"+line(&d.Entries[i]))
		}
		for _, name := range d.Dirs {
			dir(prefix + name)
		}
	}
	if x.Len() > 0 {
		dir("")
	}
	return out
}

func line(e *Entry) string {
	tag := "H"
	switch {
	case e.Stage > 0:
		tag = "M"
	case e.Flags&SkipWorktree != 0:
		tag = "S"
	}
	if e.Flags&AssumeValid != 0 {
		tag = strings.ToLower(tag)
	}
	s := e.Stat
	flags := 0
	if e.Flags&AssumeValid != 0 {
		flags |= 0x8000
	}
	if e.Flags&SkipWorktree != 0 {
		flags |= 0x40000000
	}
	if e.Flags&IntentToAdd != 0 {
		flags |= 0x20000000
	}
	flags |= int(e.Stage) << 12
	return fmt.Sprintf("%s %06o %v %d ctime %d:%d mtime %d:%d dev %d ino %d uid %d gid %d size %d flags %x",
		tag, e.Mode, e.ID, e.Stage, s.Ctime/1e9, s.Ctime%1e9, s.Mtime/1e9, s.Mtime%1e9, s.Dev, s.Ino, s.UID, s.GID, s.Size, flags)
}

// gitList asks git for the same. With -z each entry is a NUL-terminated head
// and six lines of --debug.
func (r *repo) gitList(sparse bool) map[string]string {
	args := []string{"ls-files", "-s", "-v", "-z", "--debug"}
	if sparse {
		args = append(args, "--sparse")
	}
	out := map[string]string{}
	rest := r.git(args...)
	for rest != "" {
		head, after, ok := strings.Cut(rest, "\x00")
		if !ok {
			r.t.Fatalf("git ls-files: %q", rest)
		}
		meta, path, _ := strings.Cut(head, "\t")
		var debug []string
		for range 5 {
			var l string
			l, after, _ = strings.Cut(after, "\n")
			debug = append(debug, l)
		}
		rest = after
		f := strings.NewReplacer(": ", " ", "\t", " ").Replace(strings.Join(debug, " "))
		f = strings.Join(strings.Fields(f), " ")
		stage := meta[len(meta)-1:]
		out[path+"\x00"+stage] = meta + " " + f
	}
	return out
}

// check compares the decoded index with git's listing and cache of trees.
func (r *repo) check() *Index {
	r.t.Helper()
	x := r.decode()
	want := r.gitList(x.Sparse)
	got := list(x)
	if len(got) != len(want) || x.Len() != len(want) {
		r.t.Errorf("%d entries listed, Len %d; git has %d", len(got), x.Len(), len(want))
	}
	for _, l := range got {
		path, meta, _ := strings.Cut(l, "\x00")
		if strings.HasPrefix(meta, "S 040000 ") {
			if w := want[path+"/\x000"]; !strings.HasPrefix(w, meta) {
				r.t.Errorf("sparse directory %q: %q, git has %q", path, meta, w)
			}
			continue
		}
		stage := strings.Fields(meta)[3]
		if w := want[path+"\x00"+stage]; normal(w) != normal(meta) {
			r.t.Errorf("%q:\n got %q\nwant %q", path, normal(meta), normal(w))
		}
	}
	return x
}

// normal drops the bits of flags that git keeps only in memory.
func normal(s string) string {
	head, hex, ok := strings.Cut(s, " flags ")
	if !ok {
		return s
	}
	v, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%s flags %x", head, v&0x6000b000)
}

func TestEveryVariantIsReadAsGitReadsIt(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		for version := 2; version <= 4; version++ {
			t.Run(fmt.Sprintf("%v v%d", alg, version), func(t *testing.T) {
				r := newRepo(t, alg)
				r.git("config", "index.version", strconv.Itoa(version))
				r.fill()
				r.git("add", ".")
				if x := r.check(); x.Version != min(version, 4) && version != 3 {
					t.Errorf("version %d", x.Version)
				}
				r.git("commit", "-qm", "x")
				r.check()
				r.git("update-index", "--assume-unchanged", "b/a.c", "a")
				r.git("update-index", "--skip-worktree", "b/a/c/d", "z")
				r.write("later/new", "x")
				r.git("add", "-N", "later/new")
				x := r.check()
				if version == 3 && x.Version != 3 {
					t.Errorf("version %d", x.Version)
				}
				if e := x.Dir("later").Find("new"); len(e) != 1 || e[0].Flags != IntentToAdd {
					t.Errorf("intent to add: %+v", e)
				}
				r.git("update-index", "--index-version", "4", "--split-index")
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
				r.git("config", "core.splitIndex", "true")
				r.git("config", "index.version", version)
				r.git("config", "splitIndex.maxPercentChange", "100")
				r.fill()
				r.git("add", ".")
				r.git("update-index", "--split-index")
				r.check()
				for i := range 60 {
					r.write(fmt.Sprintf("many/%02d/f%d", i%17, i), "changed")
				}
				r.write("b/a/new", "x")
				r.write("0", "first")
				r.git("add", ".")
				r.git("rm", "-q", "--cached", "a", "z", "many/03/f3", "many/00/f0")
				r.git("update-index", "--assume-unchanged", "b/a.c")
				r.git("update-index", "--skip-worktree", "b/a/c/d")
				r.check()
				if found, _ := filepath.Glob(filepath.Join(r.dir, ".git", "sharedindex.*")); len(found) == 0 {
					t.Error("git made no shared index; the test is empty")
				}
				data, err := os.ReadFile(filepath.Join(r.dir, ".git", "index"))
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
		r.write("many/sub/deep/x", "x")
		r.git("add", ".")
		r.git("commit", "-qm", "x")
		r.git("sparse-checkout", "set", "--cone", "--sparse-index", "many/03", "many/sub")
		x := r.check()
		d := x.Dir("b")
		if !x.Sparse || d == nil || d.Sparse.IsZero() || len(d.Entries)+len(d.Dirs) > 0 {
			t.Fatalf("%v: sparse %v, b is %+v", alg, x.Sparse, d)
		}
		if want := strings.TrimSpace(r.git("rev-parse", "HEAD:b")); d.Sparse.String() != want {
			t.Errorf("b is %v, want %s", d.Sparse, want)
		}
		if x.Dir("many/03") == nil || len(x.Dir("many/03").Entries) == 0 {
			t.Error("many/03 is wanted and should have entries")
		}
	}
}

func TestChecksumMayBeLeftOut(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.git("config", "index.skipHash", "true")
	r.fill()
	r.git("add", ".")
	r.check()
	path := filepath.Join(r.dir, ".git", "index")
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
	r.write("f/x", "base")
	r.write("both", "base")
	r.git("add", ".")
	r.git("commit", "-qm", "base")
	r.git("checkout", "-qb", "other")
	r.write("f/x", "theirs")
	r.git("rm", "-q", "both")
	r.write("both/inner", "d/f conflict")
	r.git("add", ".")
	r.git("commit", "-qam", "theirs")
	r.git("checkout", "-q", "-")
	r.write("f/x", "ours")
	r.write("both", "ours")
	r.git("commit", "-qam", "ours")
	if _, err := r.try("merge", "other"); err == nil {
		t.Fatal("the merge has no conflict")
	}
	x := r.check()
	e := x.Dir("f").Find("x")
	if len(e) != 3 || e[0].Stage != 1 || e[1].Stage != 2 || e[2].Stage != 3 {
		t.Errorf("stages %+v", e)
	}
	if got := x.Dir("f").Find("w"); len(got) != 0 {
		t.Errorf("found %+v for a name that is not there", got)
	}
}

func TestSubmodulesAreGitlinks(t *testing.T) {
	inner := newRepo(t, oid.SHA1)
	inner.write("x", "x")
	inner.git("add", ".")
	inner.git("commit", "-qm", "x")
	r := newRepo(t, oid.SHA1)
	r.git("submodule", "--quiet", "add", inner.dir, "lib/sub")
	x := r.check()
	if e := x.Dir("lib").Find("sub"); len(e) != 1 || e[0].Mode != tree.GitLink {
		t.Errorf("submodule is %+v", e)
	}
}

func TestKnownTreesAreGits(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		r := newRepo(t, alg)
		r.fill()
		r.git("add", ".")
		r.git("commit", "-qm", "x")
		known := func() (ids map[string]string) {
			ids = map[string]string{}
			x := r.check()
			for i := range x.dirs {
				if id := x.dirs[i].Tree; !id.IsZero() {
					ids[x.dirs[i].path] = id.String()
				}
			}
			return ids
		}
		ids := known()
		if len(ids) < 20 {
			t.Errorf("only %d trees are known after a commit", len(ids))
		}
		for path, id := range ids {
			if want := strings.TrimSpace(r.git("rev-parse", "HEAD:"+path)); id != want {
				t.Errorf("tree of %q is %s, want %s", path, id, want)
			}
		}
		r.write("many/03/f3", "changed")
		r.git("update-index", "many/03/f3")
		after := known()
		for _, p := range []string{"", "many", "many/03"} {
			if after[p] != "" {
				t.Errorf("%q has a known tree after a change below", p)
			}
		}
		if after["many/04"] != ids["many/04"] {
			t.Error("many/04 lost its tree")
		}
	}
}

func TestDigestFollowsContentAndNotStatData(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.fill()
	r.git("add", ".")
	first := r.decode()
	later := time.Unix(1_700_000_000, 5)
	for _, p := range []string{"b/a.c", "a"} {
		if err := os.Chtimes(filepath.Join(r.dir, p), later, later); err != nil {
			t.Fatal(err)
		}
	}
	r.git("update-index", "--refresh")
	second := r.decode()
	if first.Dir("b").Entries[0].Stat == second.Dir("b").Entries[0].Stat {
		t.Fatal("stat data did not change; the test is empty")
	}
	same(t, first, second)
	r.write("b/a/c/d", "changed")
	r.git("add", ".")
	r.git("update-index", "--assume-unchanged", "many/05/f5")
	r.write("a-b/sub/new", "x")
	r.git("add", "a-b")
	same(t, second, r.decode(), "a-b", "a-b/sub", "b/a/c", "many/05")
}

func same(t *testing.T, a, b *Index, except ...string) {
	t.Helper()
	differ := map[string]bool{}
	for _, p := range except {
		differ[p] = true
	}
	for i := range b.dirs {
		path, d := b.dirs[i].path, a.Dir(b.dirs[i].path)
		if eq := d != nil && d.Digest == b.dirs[i].Digest; eq == differ[path] {
			t.Errorf("digest of %q: equal is %v", path, eq)
		}
		if b.dirs[i].Digest == 0 {
			t.Errorf("digest of %q is 0", path)
		}
	}
}

func TestDigestIsTheSameForever(t *testing.T) {
	d := Directory{Entries: []Entry{{Name: "name", Mode: tree.GitFile, ID: oid.SHA1.Sum(oid.Blob, nil)}}, Dirs: []string{"directory"}}
	if got := d.digest(); got != 0xfdf7ef971cb3b7f {
		t.Errorf("digest %#x; it is kept in stat tables, which a change makes useless", got)
	}
}
