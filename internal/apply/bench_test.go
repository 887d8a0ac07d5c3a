package apply_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// benchWorlds are two worlds of 1,000 files of 4 KiB in 20 directories.
func benchWorlds() (a, b world) {
	a, b = world{}, world{}
	for d := range 20 {
		a[fmt.Sprintf("d%02d", d)], b[fmt.Sprintf("d%02d", d)] = dir(0o755), dir(0o755)
		for f := range 50 {
			path := fmt.Sprintf("d%02d/file%02d", d, f)
			a[path], b[path] = file(fmt.Sprintf("%4096d", f)), file(fmt.Sprintf("%4096d", 1000+f))
		}
	}
	return a, b
}

// BenchmarkReplace1000Files writes on the file system of TMPDIR.
func BenchmarkReplace1000Files(b *testing.B) {
	root := b.TempDir()
	from, to := benchWorlds()
	from.make(b, root)
	shelf := shelve(from, to)
	for b.Loop() {
		b.StopTimer()
		steps := plan(b, root, to, nil)
		b.StartTimer()
		out, err := apply.Apply(b.Context(), root, steps, shelf.source, &apply.Options{Alg: oid.SHA1})
		if err != nil || out.Written != 1000 {
			b.Fatalf("%+v, %v", out, err)
		}
		from, to = to, from
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/file")
}

func BenchmarkCreate1000Files(b *testing.B) {
	_, to := benchWorlds()
	shelf := shelve(to)
	for b.Loop() {
		b.StopTimer()
		root := b.TempDir()
		steps := plan(b, root, to, nil)
		b.StartTimer()
		if _, err := apply.Apply(b.Context(), root, steps, shelf.source, &apply.Options{Alg: oid.SHA1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/file")
}

func BenchmarkDelete1000Files(b *testing.B) {
	from, _ := benchWorlds()
	for b.Loop() {
		b.StopTimer()
		root := b.TempDir()
		from.make(b, root)
		steps := plan(b, root, world{}, nil)
		b.StartTimer()
		if _, err := apply.Apply(b.Context(), root, steps, nil, &apply.Options{Alg: oid.SHA1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/file")
}

// BenchmarkRaw1000Files is the bound: create, write, rename over, by paths,
// nothing compared and nothing synced.
func BenchmarkRaw1000Files(b *testing.B) {
	root := b.TempDir()
	w, _ := benchWorlds()
	w.make(b, root)
	for b.Loop() {
		for path, i := range w {
			if i.mode.IsDir() {
				continue
			}
			at := filepath.Join(root, path)
			if err := os.WriteFile(at+"~", []byte(i.data), 0o644); err != nil {
				b.Fatal(err)
			}
			if err := os.Rename(at+"~", at); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/file")
}
