package cas

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// sourceFiles lists the regular files of the tree that REWIND_BENCH_TREE
// names, or of Go's own source.
func sourceFiles(b testing.TB) []string {
	root := os.Getenv("REWIND_BENCH_TREE")
	if root == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			b.Skipf("no tree to read: REWIND_BENCH_TREE is not set, and go env GOROOT: %v", err)
		}
		root = filepath.Join(strings.TrimSpace(string(out)), "src")
	}
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return nil
	})
	if err != nil || len(names) == 0 {
		b.Skipf("no source tree at %s: %v", root, err)
	}
	return names
}

// BenchmarkFill is a first snapshot, and one more of the same: as many goroutines as
// processors read files and put them, and one commit makes all durable.
func BenchmarkFill(b *testing.B) {
	names := sourceFiles(b)
	open := func(b *testing.B) *Store {
		s, err := Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), &Options{Create: true, Algorithm: oid.SHA1})
		must(b, err)
		return s
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s := open(b)
			b.SetBytes(fill(b, s, names))
			st, err := s.Stats(b.Context())
			must(b, err)
			b.ReportMetric(float64(st.FileBytes)/float64(st.StoredBytes), "file/stored")
		}
	})
	b.Run("again", func(b *testing.B) {
		s := open(b)
		fill(b, s, names)
		for b.Loop() {
			b.SetBytes(fill(b, s, names))
		}
	})
}

func fill(b *testing.B, s *Store, names []string) int64 {
	g := s.Stage()
	var next, total atomic.Int64
	var peak atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(names)) {
					return
				}
				if i%4000 == 0 {
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak.Store(max(peak.Load(), m.HeapAlloc))
				}
				p, err := os.ReadFile(names[i])
				if err != nil {
					b.Error(err)
					return
				}
				total.Add(int64(len(p)))
				if _, err := g.Put(b.Context(), oid.Blob, p, oid.ID{}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	must(b, g.Commit(b.Context(), nil))
	b.ReportMetric(float64(peak.Load())/(1<<20), "heap-MiB")
	return total.Load()
}
