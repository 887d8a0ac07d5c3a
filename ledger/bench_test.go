package ledger

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkOpen parses a session like those of long agent runs: prompts, calls
// and answers with source text in them, 3 KB a line on average, 200 MB.
func BenchmarkOpen(b *testing.B) {
	const size = 200 << 20
	source := strings.Repeat("\tif err := f(\"x\", 1); err != nil {\n\t\treturn fmt.Errorf(\"open %q: %w\", path, err)\n\t}\n", 60)
	s := newScript("")
	var n int
	path := filepath.Join(b.TempDir(), "s.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	for n < size {
		s.lines = s.lines[:0]
		if n == 0 {
			s = newScript("")
		}
		u := s.user("change the file\nplease")
		for range 10 {
			s.assistant("bash", "edit")
			s.message("toolResult", []object{{"type": "text", "text": source}})
		}
		s.record(Record{Kind: Turn, Bindings: []Binding{{u, id(s.n)}}})
		m, err := f.WriteString(s.text())
		if err != nil {
			b.Fatal(err)
		}
		n += m
	}
	f.Close()
	b.SetBytes(int64(n))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var session *Session
	for b.Loop() {
		if session, err = look(path); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB-kept")
	b.ReportMetric(float64(len(session.entries)), "entries")
}
