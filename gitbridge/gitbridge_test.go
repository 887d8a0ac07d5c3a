package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
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

// rebuild writes again all objects of snapshots that git lacks, and the chain
// with them.
func (r *repo) rebuild(jobs ...Job) {
	r.t.Helper()
	b := r.open()
	var ids, snapshots []oid.ID
	commits := map[oid.ID][]byte{}
	for id := range r.objects {
		if !b.Has(id) {
			ids = append(ids, id)
		}
	}
	for _, j := range jobs {
		if snapshots = append(snapshots, j.Snapshot); !b.Has(j.Snapshot) {
			ids = append(ids, j.Snapshot)
		}
		commits[j.Snapshot] = j.Commit
	}
	source := func(id oid.ID) (Object, error) {
		if p, ok := commits[id]; ok {
			return gitodb.Payload(oid.Commit, p), nil
		}
		kind, p, err := r.load(id)
		return gitodb.Payload(kind, p), err
	}
	release, err := b.Put(r.t.Context(), ids, source)
	if err != nil {
		r.t.Fatal(err)
	}
	defer release()
	if err := b.Rebuild(r.t.Context(), snapshots, nil); err != nil {
		r.t.Fatal(err)
	}
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
