package gitbridge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A repo is a repository made by the git program, with a store of objects beside it.
type repo struct {
	*gittest.Repo
	alg     oid.Algorithm
	kinds   map[oid.ID]oid.Kind // the store
	objects map[oid.ID][]byte
}

func newRepo(t *testing.T, alg oid.Algorithm) *repo {
	t.Helper()
	return &repo{gittest.Of(t, alg), alg, map[oid.ID]oid.Kind{}, map[oid.ID][]byte{}}
}

func (r *repo) open() *Repo { return r.openAt(r.Dir, "") }

// openNoted opens the repository with a place for notes.
func (r *repo) openNoted() *Repo { return r.openAt(r.Dir, r.Path(".git", "own")) }

func (r *repo) openAt(dir, own string) *Repo {
	r.T.Helper()
	l, err := gitconf.Discover(dir, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	repo, err := Open(l, &Options{Own: own})
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() {
		if err := repo.Close(); err != nil {
			r.T.Error(err)
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
	r.T.Helper()
	report, err := b.Bridge(context.Background(), job)
	if err != nil {
		r.T.Fatal(err)
	}
	return report
}

// rebuild writes again all objects of snapshots that git lacks, and the chain
// with them.
func (r *repo) rebuild(jobs ...Job) {
	r.T.Helper()
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
	release, err := b.Put(r.T.Context(), ids, source)
	if err != nil {
		r.T.Fatal(err)
	}
	defer release()
	if err := b.Rebuild(r.T.Context(), snapshots, nil); err != nil {
		r.T.Fatal(err)
	}
}

// wantChain checks that the store has these snapshots, oldest first.
func (r *repo) wantChain(b *Repo, jobs ...Job) {
	r.T.Helper()
	var got []oid.ID
	for s, err := range b.Snapshots(context.Background()) {
		if err != nil || s.Err != nil {
			r.T.Errorf("%v, %v", err, s.Err)
		}
		got = append(got, s.ID)
	}
	if len(got) != len(jobs) {
		r.T.Fatalf("%d snapshots, want %d", len(got), len(jobs))
	}
	for i, j := range jobs {
		if got[len(got)-1-i] != j.Snapshot {
			r.T.Errorf("snapshot %d is %v, want %v", i, got[len(got)-1-i], j.Snapshot)
		}
	}
}

func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/e/f%d", i%7, i)] = fmt.Sprint("text ", i)
	}
	return files
}
