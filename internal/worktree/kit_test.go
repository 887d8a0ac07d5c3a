package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// memory is a Saver that keeps everything in memory.
type memory struct {
	alg oid.Algorithm
	mu  sync.Mutex
	got map[oid.ID][]byte
	err error // of the next call
}

func (m *memory) Blob(ctx context.Context, r io.Reader, size int64, base oid.ID) (oid.ID, error) {
	p := make([]byte, size)
	if _, err := io.ReadFull(r, p); err != nil {
		return oid.ID{}, err
	}
	return m.put(oid.Blob, p)
}

func (m *memory) Tree(ctx context.Context, p []byte, base oid.ID) (oid.ID, error) {
	return m.put(oid.Tree, bytes.Clone(p))
}

func (m *memory) put(kind oid.Kind, p []byte) (oid.ID, error) {
	id := m.alg.Sum(kind, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got[id] = p
	return id, m.err
}

// A place is a directory that is scanned, with the store and table of its scans.
type place struct {
	*gittest.Repo
	git   bool
	alg   oid.Algorithm
	store *memory
	table string
	now   int64 // of the clock in tests that set it; else 0

	policy Policy        // of every scan; may be nil
	seen   func(*Result) // looks at every scan's result before it is saved
}

func newPlace(t testing.TB) *place {
	t.Helper()
	return placeOf(t, &gittest.Repo{T: t, Dir: t.TempDir()})
}

func placeOf(t testing.TB, r *gittest.Repo) *place {
	p := &place{Repo: r, seen: func(*Result) {}, alg: oid.SHA1, table: filepath.Join(t.TempDir(), "stat.db")}
	p.store = &memory{alg: p.alg, got: map[oid.ID][]byte{}}
	return p
}

// newRepo makes a place that is a git repository.
func newRepo(t testing.TB) *place {
	t.Helper()
	p := placeOf(t, gittest.New(t))
	p.git, p.Env = true, []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"} // also inside of nested ones
	return p
}

// oracle is the tree that git makes of the worktree with a copy of the index.
func (p *place) oracle() (string, error) {
	p.T.Helper()
	index, asked := p.Path(".git/index"), *p.Repo
	copied := p.Path(".git/oracle-index")
	os.Remove(copied)
	if data, err := os.ReadFile(index); err == nil {
		p.must(os.WriteFile(copied, data, 0o600))
		// With a new time git would believe stat data that are as young as the index.
		if st, err := os.Stat(index); err == nil {
			p.must(os.Chtimes(copied, st.ModTime(), st.ModTime()))
		}
	}
	asked.Env = append(asked.Env, "GIT_INDEX_FILE="+copied)
	if _, err := asked.Ask("", "-c", "advice.addEmbeddedRepo=false", "add", "-A", "."); err != nil {
		return "", err
	}
	out, err := asked.Ask("", "write-tree")
	return strings.TrimSpace(out), err
}

func (p *place) must(err error) {
	p.T.Helper()
	if err != nil {
		p.T.Fatal(err)
	}
}

// config is the Config of the place, with what the bridge would find out.
func (p *place) config() *Config {
	p.T.Helper()
	cfg := &Config{Root: p.Dir, Algorithm: p.alg, Umask: 0o022, StatTable: stattable.Load(p.table), Save: p.store, Has: p.store.has}
	cfg.Policy = p.policy
	p.T.Cleanup(cfg.StatTable.Close)
	cfg.Nested = func(_ context.Context, dir string) (*Repo, error) { return p.nested(dir) }
	if p.now != 0 {
		cfg.Now = func() int64 { return p.now }
	}
	if p.git {
		cfg.Repo = p.repo(".")
		cfg.Has, cfg.Sizes, cfg.Load = p.gitHas(), p.sizes(), p.load
	}
	return cfg
}

func (m *memory) has(id oid.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.got[id]
	return ok
}

// gitHas knows the objects of git and of the store.
func (p *place) gitHas() func(oid.ID) bool {
	all := map[string]bool{}
	for line := range strings.Lines(p.Git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
		all[strings.TrimSpace(line)] = true
	}
	return func(id oid.ID) bool { return all[id.String()] || p.store.has(id) }
}

// sizes knows the sizes of git's objects.
func (p *place) sizes() func(int, func(int) []byte, []int64) {
	objects, err := gitodb.Open(p.Path(".git/objects"), p.alg, nil)
	p.must(err)
	p.T.Cleanup(func() { objects.Close() })
	return func(n int, id func(int) []byte, sizes []int64) {
		for i := range n {
			name, _ := oid.FromBytes(id(i))
			size, err := objects.Length(name)
			if sizes[i] = size; err != nil {
				sizes[i] = -1
			}
		}
	}
}

func (p *place) load(kind oid.Kind, id oid.ID) ([]byte, error) {
	out, err := p.Ask("", "cat-file", kind.String(), id.String())
	return []byte(out), err
}

// repo describes the repository at a directory as the bridge would.
func (p *place) repo(dir string) Repo {
	gitDir, err := p.Try("-C", dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		p.T.Fatal(gitDir)
	}
	var r Repo
	r.Head, _ = oid.Parse(first(p.Try("-C", dir, "rev-parse", "-q", "--verify", "HEAD")))
	exclude, _ := os.ReadFile(filepath.Join(gitDir, "info", "exclude"))
	r.Ignore = ignore.NewChain(ignore.Parse(exclude, nil))
	file := filepath.Join(gitDir, "index")
	d, err := dirfd.Open(gitDir)
	p.must(err)
	defer d.Close()
	r.IndexStat, _ = d.Lstat("index")
	r.Index = func() (*gitindex.Index, error) {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		p.must(err)
		return gitindex.Decode(data, &gitindex.Options{Algorithm: p.alg, Mtime: r.IndexStat.Mtime})
	}
	return r
}

func first(s string, err error) string {
	if err != nil {
		return ""
	}
	return s
}

func (p *place) nested(dir string) (*Repo, error) {
	if below, err := p.Try("-C", dir, "rev-parse", "--show-prefix"); err != nil || below != "" {
		return nil, nil
	}
	r := p.repo(dir)
	return &r, nil
}

// scan scans with the table that is there, and saves it.
func (p *place) scan(change ...func(*Config)) *Result {
	p.T.Helper()
	return p.scanned(func(*Result) {}, change...)
}

// scanned lets look see the result before the table is saved.
func (p *place) scanned(look func(*Result), change ...func(*Config)) *Result {
	p.T.Helper()
	cfg := p.config()
	for _, f := range change {
		f(cfg)
	}
	r, err := Scan(context.Background(), cfg)
	p.must(err)
	look(r)
	p.seen(r)
	p.counted(r)
	p.must(r.SaveStatTable("store", r.State.Tree))
	return r
}

// gitTree is the git tree of a result, by git's name for one without entries.
func (p *place) gitTree(r *Result) string {
	if r.State.Tree.IsZero() {
		return p.alg.Sum(oid.Tree, nil).String()
	}
	return r.State.Tree.String()
}

func (p *place) loadTree(id oid.ID, _ ...oid.ID) ([]byte, error) {
	p.store.mu.Lock()
	data, ok := p.store.got[id]
	p.store.mu.Unlock()
	if ok {
		return data, nil
	}
	if p.git {
		return p.load(oid.Tree, id)
	}
	return nil, fmt.Errorf("no tree %v", id)
}

// recorded is what a result holds: mode and content by path.
func (p *place) recorded(r *Result) map[string]string {
	p.T.Helper()
	out := map[string]string{}
	for c, err := range tree.Walk(r.State, p.alg, p.loadTree) {
		p.must(err)
		if c.To.Mode.Type() == tree.Absent {
			continue
		}
		mode := c.To.Mode
		if mode.Type() == tree.Nested {
			mode = tree.Dir | mode.Perm()
		}
		out[c.Path] = fmt.Sprintf("%o %v", mode, c.To.ID)
	}
	return out
}

// onDisk is what lies in the place, in the same form, without any ".git".
func (p *place) onDisk() map[string]string {
	p.T.Helper()
	out := map[string]string{}
	p.must(filepath.WalkDir(p.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == p.Dir {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, _ := filepath.Rel(p.Dir, path)
		rel = filepath.ToSlash(rel)
		dir, err := dirfd.Open(filepath.Dir(path))
		p.must(err)
		defer dir.Close()
		st, err := dir.Lstat(e.Name())
		p.must(err)
		id, mode := oid.ID{}, st.Mode
		switch mode.Type() {
		case tree.File:
			data, err := os.ReadFile(path)
			p.must(err)
			id = p.alg.Sum(oid.Blob, data)
		case tree.Symlink:
			target, err := os.Readlink(path)
			p.must(err)
			id, mode = p.alg.Sum(oid.Blob, []byte(target)), tree.Symlink
		case tree.Dir:
		default:
			return nil
		}
		out[rel] = fmt.Sprintf("%o %v", mode, id)
		return nil
	}))
	return out
}

// checkDisk checks that everything on disk is recorded exactly, but the
// expected exceptions, and nothing else.
func (p *place) checkDisk(r *Result, except ...string) {
	p.T.Helper()
	got, want := p.recorded(r), p.onDisk()
	for _, path := range except {
		if _, ok := got[path]; ok {
			p.T.Errorf("%s is recorded", path)
		}
		maps.DeleteFunc(want, func(k, _ string) bool { return k == path || strings.HasPrefix(k, path+"/") })
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			p.T.Errorf("%s: recorded %q, on disk %q", path, got[path], want[path])
		}
		delete(got, path)
	}
	for path, what := range got {
		p.T.Errorf("%s: recorded %q, not on disk", path, what)
	}
}

// checkGit checks the git tree against git's own.
func (p *place) checkGit(r *Result) {
	p.T.Helper()
	want, err := p.oracle()
	p.must(err)
	if got := p.gitTree(r); got != want {
		var names []string
		for c, err := range tree.Walk(tree.State{Tree: r.State.Tree}, p.alg, p.loadTree) {
			p.must(err)
			names = append(names, fmt.Sprintf("%06o %v\t%s", c.To.Git.Mode, c.To.Git.ID, c.Path))
		}
		p.T.Errorf("tree %s, git says %s\ngot\n%s\ngit\n%s", got, want, strings.Join(names, "\n"), p.Git("ls-tree", "-r", "-t", want))
	}
}

// opens checks how many files the next scan opens, and that it has what is on disk.
func (p *place) opens(want int64, why string, change ...func(*Config)) {
	p.T.Helper()
	r := p.scan(change...)
	p.checkDisk(r)
	if r.Counters.Opened != want {
		p.T.Errorf("%s: %d files were opened, want %d", why, r.Counters.Opened, want)
	}
}

// skips checks what a result names.
func (p *place) skips(r *Result, want ...Skip) {
	p.T.Helper()
	if !slices.Equal(r.Skipped, want) {
		p.T.Errorf("skipped %v, want %v", r.Skipped, want)
	}
}
