package worktree

import (
	"fmt"
	"runtime"
	"testing"
)

// Who reads a directory anew for each of its files takes as much memory each time.
func TestLookingUpAllFilesOfADirectoryGrowsWithTheirNumberOnly(t *testing.T) {
	taken := func(files int) (bytes uint64) {
		p := newPlace(t)
		var paths []string
		for i := range files {
			paths = append(paths, fmt.Sprintf("d/f%04d", i), fmt.Sprintf("e%04d", i), fmt.Sprintf("e%04d/f", i))
			p.Write(paths[3*i], "1")
			p.Write(paths[3*i+2], "1")
		}
		p.scanned(func(r *Result) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, path := range paths {
				if _, ok := r.Lookup(path); !ok {
					t.Errorf("%s was not found", path)
				}
			}
			runtime.ReadMemStats(&after)
			bytes = after.TotalAlloc - before.TotalAlloc
		})
		return bytes
	}
	if few, many := taken(100), taken(800); many > 16*few {
		t.Errorf("%d bytes of memory for 100 files and directories each, %d for 800", few, many)
	}
}

func TestASavedScanHoldsNoRowsInMemory(t *testing.T) {
	p := newPlace(t)
	p.Write("a", "1")
	p.Write("d/b", "2")
	r := p.scanned(func(r *Result) {
		if _, ok := r.Lookup("d/b"); !ok || len(r.rows) != 2 {
			t.Errorf("%d rows of a first scan, and b is there: %v", len(r.rows), ok)
		}
	})
	if _, ok := r.Lookup("d/b"); ok || len(r.rows) != 0 {
		t.Errorf("%d rows are left when they are saved, and b is there: %v", len(r.rows), ok)
	}
}
