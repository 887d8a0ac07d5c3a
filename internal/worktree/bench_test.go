//go:build !windows

package worktree

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// The benchmarks scan the repository that REWIND_BENCH_TREE names, and write
// nothing there. Bare is the floor: an open and a stat of each directory and a
// stat of each file, by as many goroutines as the scan has.

// hashing is a Saver that keeps nothing.
type hashing struct{ alg oid.Algorithm }

func (h hashing) Blob(_ context.Context, r io.Reader, size int64, _ oid.ID) (oid.ID, error) {
	x := h.alg.NewHasher(oid.Blob, size)
	_, err := io.CopyN(x, r, size)
	return x.Sum(), err
}

func (h hashing) Tree(_ context.Context, p []byte, _ oid.ID) (oid.ID, error) {
	return h.alg.Sum(oid.Tree, p), nil
}

func benchConfig(b *testing.B) *Config {
	root := os.Getenv("REWIND_BENCH_TREE")
	if root == "" {
		b.Skip("REWIND_BENCH_TREE names no repository to scan")
	}
	file := filepath.Join(root, ".git", "index")
	d, err := dirfd.Open(filepath.Dir(file))
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	st, err := d.Lstat("index")
	if err != nil {
		b.Fatal(err)
	}
	repo := Repo{IndexStat: st, Ignore: ignore.NewChain(), Attr: attr.NewChain(nil), Index: func() (*gitindex.Index, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return gitindex.Decode(data, &gitindex.Options{Mtime: st.Mtime})
	}}
	objects, err := gitodb.Open(filepath.Join(root, ".git", "objects"), oid.SHA1, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { objects.Close() })
	return &Config{Root: root, Algorithm: oid.SHA1, Umask: 0o022, Repo: repo, Save: hashing{oid.SHA1}, Has: objects.Has, Sizes: objects.Lengths}
}

type bareDir struct {
	path  string
	names []byte // NUL-terminated
}

// collect lists the tree once, the way a table would know it.
func collect(b *testing.B, root *dirfd.Dir) []bareDir {
	all := []bareDir{{}}
	for i := 0; i < len(all); i++ {
		d := root
		if i > 0 {
			var err error
			if d, err = root.OpenDir(all[i].path); err != nil {
				b.Fatal(err)
			}
		}
		names, err := d.List()
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range names {
			switch {
			case n.Name == gitName:
			case n.Type == 0o040000:
				all = append(all, bareDir{path: join(all[i].path, n.Name)})
			default:
				all[i].names = append(append(all[i].names, n.Name...), 0)
			}
		}
		if d != root {
			d.Close()
		}
	}
	return all
}

func BenchmarkBare(b *testing.B) {
	cfg := benchConfig(b)
	root, err := dirfd.Open(cfg.Root)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	all := collect(b, root)
	for b.Loop() {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
					bare(b, root, &all[i])
				}
			})
		}
		wg.Wait()
	}
}

func bare(b *testing.B, root *dirfd.Dir, at *bareDir) {
	d := root
	if at.path != "" {
		var err error
		if d, err = root.OpenDir(at.path); err != nil {
			b.Error(err)
			return
		}
		defer d.Close()
	}
	st, err := d.Stat()
	for rest := at.names; len(rest) > 0 && err == nil; {
		err = d.LstatRaw(&rest[0], &st)
		for rest[0] != 0 {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	if err != nil {
		b.Error(err)
	}
}

// BenchmarkUnchanged is a whole second scan, with reading the table.
func BenchmarkUnchanged(b *testing.B) {
	cfg := benchConfig(b)
	path := filepath.Join(b.TempDir(), "stat.db")
	cfg.StatTable = stattable.Load(path)
	r := benchScan(b, cfg)
	start := time.Now()
	if err := r.SaveStatTable("s", r.State.Tree); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "save-ms")
	for b.Loop() {
		cfg.StatTable = stattable.Load(path)
		if again := benchScan(b, cfg); again.State != r.State || again.Counters.Opened+again.Counters.Listed > 0 {
			b.Fatalf("%+v, %+v", again.State, again.Counters)
		}
		cfg.StatTable.Close()
	}
}

func benchScan(b *testing.B, cfg *Config) *Result {
	b.Helper()
	r, err := Scan(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkLoad is reading the table alone.
func BenchmarkLoad(b *testing.B) {
	cfg := benchConfig(b)
	path := filepath.Join(b.TempDir(), "stat.db")
	cfg.StatTable = stattable.Load(path)
	if err := benchScan(b, cfg).SaveStatTable("s", oid.ID{}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		stattable.Load(path).Close()
	}
}

// BenchmarkFirst is the first scan of a clean checkout: ids from the index, all
// trees hashed.
func BenchmarkFirst(b *testing.B) {
	cfg := benchConfig(b)
	empty := stattable.Load(filepath.Join(b.TempDir(), "none.db"))
	for b.Loop() {
		cfg.StatTable = empty
		r := benchScan(b, cfg)
		b.ReportMetric(float64(r.Counters.Opened), "opened")
	}
}
