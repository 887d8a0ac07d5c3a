package gitbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gitconf"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A repo is a repository made by the git program, the oracle of these tests,
// with a store of objects beside it.
type repo struct {
	t   *testing.T
	dir string
	alg oid.Algorithm

	kinds   map[oid.ID]oid.Kind // the store
	objects map[oid.ID][]byte
}

var gitEnv = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}

func newRepo(t *testing.T, alg oid.Algorithm) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: the git program is not here, and it is what this test compares with")
	}
	for _, v := range gitEnv {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	r := &repo{t: t, dir: t.TempDir(), alg: alg, kinds: map[oid.ID]oid.Kind{}, objects: map[oid.ID][]byte{}}
	t.Setenv("HOME", r.dir)
	r.git("init", "-q", "-b", "main", "--object-format="+alg.String())
	r.git("config", "gc.auto", "0")
	r.git("config", "user.name", "A. User")
	r.git("config", "user.email", "user@example.org")
	return r
}

func (r *repo) run(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.run(args...)
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func (r *repo) id(s string) oid.ID {
	r.t.Helper()
	id, err := oid.Parse(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) open() *Repo {
	r.t.Helper()
	return r.openAt(r.dir)
}

func (r *repo) openAt(dir string) *Repo {
	r.t.Helper()
	l, err := gitconf.Discover(dir, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	repo, err := Open(l, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return repo
}

// put puts an object into the store.
func (r *repo) put(kind oid.Kind, payload []byte) oid.ID {
	id := r.alg.Sum(kind, payload)
	r.kinds[id], r.objects[id] = kind, payload
	return id
}

// tree puts a tree of files, given by path, into the store.
func (r *repo) tree(files map[string]string) oid.ID {
	var entries []tree.Entry
	below := map[string]map[string]string{}
	for path, text := range files {
		if dir, rest, ok := strings.Cut(path, "/"); ok {
			if below[dir] == nil {
				below[dir] = map[string]string{}
			}
			below[dir][rest] = text
			continue
		}
		entries = append(entries, tree.Entry{Name: path, Mode: tree.GitFile, ID: r.put(oid.Blob, []byte(text))})
	}
	for dir, files := range below {
		entries = append(entries, tree.Entry{Name: dir, Mode: tree.GitDir, ID: r.tree(files)})
	}
	tree.Sort(entries)
	return r.put(oid.Tree, tree.Encode(entries, r.alg))
}

func (r *repo) load(id oid.ID) (oid.Kind, []byte, error) {
	if p, ok := r.objects[id]; ok {
		return r.kinds[id], p, nil
	}
	return 0, nil, fmt.Errorf("%v is not in the store", id)
}

var epoch = time.Unix(1_700_000_000, 123_456_789).In(time.FixedZone("", -3*3600-1800))

// snapshot makes the job of a snapshot of files.
func (r *repo) snapshot(b *Repo, n int, files map[string]string) Job {
	c := Commit{Tree: r.tree(files), Time: epoch.Add(time.Duration(n) * time.Second), Identity: b.Identity()}
	p := EncodeSnapshot(c, r.alg)
	return Job{Snapshot: r.alg.Sum(oid.Commit, p), Commit: p, Load: r.load}
}

func (r *repo) bridge(b *Repo, job Job) Report {
	r.t.Helper()
	report, err := b.Bridge(context.Background(), job)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// wantClean asks git whether everything is whole.
func (r *repo) wantClean() {
	r.t.Helper()
	out, err := r.run("fsck", "--strict", "--full", "--no-dangling")
	if err != nil || strings.Contains(out, "missing") || strings.Contains(out, "error") || strings.Contains(out, "warning") {
		r.t.Errorf("fsck: %v %s", err, out)
	}
}

// wantChain checks that the store has these snapshots, oldest first.
func (r *repo) wantChain(b *Repo, jobs ...Job) {
	r.t.Helper()
	var got []oid.ID
	for s, err := range b.Snapshots(context.Background()) {
		if err != nil || s.Err != nil {
			r.t.Errorf("%v, %v", err, s.Err)
		}
		got = append(got, s.ID)
	}
	if len(got) != len(jobs) {
		r.t.Fatalf("%d snapshots, want %d", len(got), len(jobs))
	}
	for i, j := range jobs {
		if got[len(got)-1-i] != j.Snapshot {
			r.t.Errorf("snapshot %d is %v, want %v", i, got[len(got)-1-i], j.Snapshot)
		}
	}
}

func both(t *testing.T, f func(t *testing.T, alg oid.Algorithm)) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		t.Run(alg.String(), func(t *testing.T) { f(t, alg) })
	}
}

func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/e/f%d", i%7, i)] = fmt.Sprint("text ", i)
	}
	return files
}

func TestTheStoreEqualsWhatPiRewindHookBuilds(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		b := r.open()
		first, second := r.snapshot(b, 1, map[string]string{"a": "1", "d/b": "2"}), r.snapshot(b, 2, map[string]string{"a": "1", "d/b": "3"})
		one := r.bridge(b, first)
		two := r.bridge(b, second)
		r.wantChain(b, first, second)
		r.wantClean()

		// The same by the commands of pi-rewind-hook.
		snapshot := func(n int, j Job) string {
			c, err := DecodeSnapshot(j.Commit, alg)
			if err != nil {
				t.Fatal(err)
			}
			return r.commitTree(c.Time, "pi rewind snapshot", c.Tree.String())
		}
		strip := func(id string) string { // what differs: our header, and so the ids
			var out []string
			for line := range strings.Lines(r.git("cat-file", "commit", id) + "\n") {
				if !strings.HasPrefix(line, "rewind ") {
					out = append(out, line)
				}
			}
			return strings.Join(out, "")
		}
		for n, j := range []Job{first, second} {
			if got, want := strip(j.Snapshot.String()), strip(snapshot(n, j)); got != want {
				t.Errorf("snapshot\n%s\nwant\n%s", got, want)
			}
		}
		empty := r.git("hash-object", "-t", "tree", "/dev/null")
		k1 := r.commitTree(epoch.Add(time.Second), "pi rewind store", empty, "-p", first.Snapshot.String())
		k2 := r.commitTree(epoch.Add(2*time.Second), "pi rewind store", empty, "-p", k1, "-p", second.Snapshot.String())
		if one.Keepalive.String() != k1 || two.Keepalive.String() != k2 || r.git("rev-parse", StoreRef) != k2 {
			t.Errorf("keepalives %v, %v, want %s, %s", one.Keepalive, two.Keepalive, k1, k2)
		}
	})
}

// commitTree runs git commit-tree at a time.
func (r *repo) commitTree(at time.Time, message, tree string, args ...string) string {
	r.t.Helper()
	stamp := fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700"))
	r.t.Setenv("GIT_AUTHOR_DATE", stamp)
	r.t.Setenv("GIT_COMMITTER_DATE", stamp)
	return r.git(append([]string{"commit-tree", tree, "-m", message}, args...)...)
}

func TestAForeignStoreIsReadAndContinued(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.write("f", "theirs")
	r.git("add", "-A")
	treeID := r.git("write-tree")
	empty := r.git("hash-object", "-t", "tree", "/dev/null")
	theirs := r.commitTree(epoch, "pi rewind snapshot", treeID)
	k := r.commitTree(epoch, "pi rewind store", empty, "-p", theirs) // its tree is not in git
	r.git("update-ref", StoreRef, k, strings.Repeat("0", 40))
	b := r.open()
	job := r.snapshot(b, 5, map[string]string{"f": "ours"})
	r.bridge(b, job)
	r.wantClean() // the empty tree is there now
	var got []StoreSnapshot
	for s, err := range b.Snapshots(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	if len(got) != 2 || !got[0].Native || got[1].Native || got[1].ID != r.id(theirs) || got[1].Tree != r.id(treeID) ||
		!got[1].Time.Equal(epoch.Truncate(time.Second)) || !got[0].Time.Equal(epoch.Add(5*time.Second)) {
		t.Errorf("%+v", got)
	}
}

func TestSnapshotsOfForeignKindsAreNamed(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	job := r.snapshot(b, 1, map[string]string{"f": "1"})
	r.bridge(b, job)
	second := r.snapshot(b, 2, map[string]string{"f": "2"})
	r.bridge(b, second)
	path := job.Snapshot.String()
	if err := os.Remove(filepath.Join(r.dir, ".git", "objects", path[:2], path[2:])); err != nil {
		t.Fatal(err)
	}
	n, lost := 0, 0
	for s, err := range r.open().Snapshots(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if s.Err != nil && s.ID == job.Snapshot {
			lost++
		}
	}
	if n != 2 || lost != 1 {
		t.Errorf("%d snapshots, %d lost, want 2 and 1", n, lost)
	}
	r.git("update-ref", StoreRef, r.commitTree(epoch, "something else", r.git("hash-object", "-t", "tree", "-w", "/dev/null")))
	for s, err := range r.open().Snapshots(context.Background()) {
		t.Errorf("a foreign commit is taken for a store: %v, %v", s, err)
	}
}

func TestOnlyTheDifferenceIsLookedUpAndWritten(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	files := many(200)
	first := r.snapshot(b, 1, files)
	report := r.bridge(b, first)
	if !report.Packed || report.Looked != 200+7+7+1 || report.Written != report.Looked+2 {
		t.Errorf("first: %+v", report)
	}
	r.wantClean()
	files = maps.Clone(files)
	files["d3/e/f3"] = "changed"
	second := r.snapshot(b, 2, files)
	if report = r.bridge(b, second); report.Packed || report.Looked != 4 || report.Written != 5 {
		t.Errorf("second: %+v", report)
	}
	r.wantClean()
	if report = r.bridge(b, second); report != (Report{}) {
		t.Errorf("again: %+v", report)
	}
	if report = r.bridge(r.open(), first); report != (Report{}) {
		t.Errorf("an earlier one again: %+v", report)
	}
	r.wantChain(b, first, second)
}

func TestWhatHeadHasIsNotLookedUp(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	files := many(100)
	for name, text := range files {
		r.write(name, text)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "m")
	r.git("repack", "-q", "-a", "-d")
	files["new"] = "n"
	b := r.open()
	job := r.snapshot(b, 1, files)
	if report := r.bridge(b, job); report.Looked != 2 {
		t.Errorf("%+v", report)
	}
	h, err := b.Head()
	if err != nil || h.Branch != "main" || h.Commit.String() != r.git("rev-parse", "HEAD") || h.Tree.String() != r.git("rev-parse", "HEAD^{tree}") {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestGarbageCollectionBetweenSnapshotsLosesNothing(t *testing.T) {
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		b := r.open()
		files := many(20)
		var jobs []Job
		for n := range 4 {
			files = maps.Clone(files)
			files[fmt.Sprintf("d%d/e/f%d", n, n)] = fmt.Sprint("gen ", n)
			files[fmt.Sprintf("new%d", n)] = "n"
			jobs = append(jobs, r.snapshot(b, n, files))
			r.bridge(b, jobs[n])
			r.git("gc", "-q", "--prune=now")
			r.wantClean()
		}
		r.wantChain(b, jobs...)
		for id, want := range r.objects {
			if _, p, err := b.Read(id); err != nil || !bytes.Equal(p, want) {
				t.Errorf("%v: %v", id, err)
			}
		}
	})
}

func TestADeletedRefAndItsGarbageAreMadeAgain(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	first := r.snapshot(b, 1, many(10))
	r.bridge(b, first)
	r.git("update-ref", "-d", StoreRef)
	r.git("gc", "-q", "--prune=now")
	c, _ := DecodeSnapshot(first.Commit, r.alg)
	second := r.snapshot(b, 2, many(11))
	second.Complete = []oid.ID{c.Tree} // as somebody would say who does not know
	r.bridge(b, second)
	r.bridge(b, first)
	r.wantClean()
	r.wantChain(b, second, first)
}

func TestAMissingObjectIsNamedAndTheRefStays(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	for _, lose := range []func(job Job) oid.ID{
		func(Job) oid.ID { return r.alg.Sum(oid.Blob, []byte("text 3")) },
		func(job Job) oid.ID { c, _ := DecodeSnapshot(job.Commit, r.alg); return c.Tree },
	} {
		job := r.snapshot(b, 1, many(5))
		id := lose(job)
		delete(r.objects, id)
		_, err := b.Bridge(context.Background(), job)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), id.String()) {
			t.Errorf("%v, want ErrMissing and %v", err, id)
		}
		if out, err := r.run("rev-parse", "-q", "--verify", StoreRef); err == nil {
			t.Errorf("the ref is %s", out)
		}
	}
	job := r.snapshot(b, 1, many(5))
	job.Snapshot = r.alg.Sum(oid.Commit, nil)
	if _, err := b.Bridge(context.Background(), job); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v, want ErrMalformed", err)
	}
}

func TestGitlinksAreNotFollowed(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	b := r.open()
	link := tree.Entry{Name: "sub", Mode: tree.GitLink, ID: r.alg.Sum(oid.Commit, []byte("elsewhere"))}
	c := Commit{Tree: r.put(oid.Tree, tree.Encode([]tree.Entry{link}, r.alg)), Time: epoch, Identity: b.Identity()}
	p := EncodeSnapshot(c, r.alg)
	r.bridge(b, Job{Snapshot: r.alg.Sum(oid.Commit, p), Commit: p, Load: r.load})
	r.wantClean()
}
