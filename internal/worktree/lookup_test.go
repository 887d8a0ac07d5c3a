//go:build !windows

package worktree

import (
	"fmt"
	"strings"
	"testing"
)

func TestLookingUpAllFilesOfADirectoryGrowsWithTheirNumberOnly(t *testing.T) {
	compared := func(files int) int {
		p := newPlace(t)
		for i := range files {
			p.write(fmt.Sprintf("d/f%04d", i), "1")
			p.write(fmt.Sprintf("e%04d/f", i), "1")
		}
		n := 0
		p.scanned(func(r *Result) {
			for _, path := range []string{"d/f%04d", "e%04d/f"} {
				for i := range files {
					if _, ok := r.Lookup(fmt.Sprintf(path, i)); !ok {
						t.Errorf(path+" was not found", i)
					}
				}
			}
			n = r.compared
		})
		return n
	}
	few, many := compared(100), compared(800)
	if many > 16*few {
		t.Errorf("%d comparisons for 100 files and directories each, %d for 800", few, many)
	}
}

func TestLookingUpWhatLiesDeepGrowsWithTheLevelsOnly(t *testing.T) {
	compared := func(levels int) int {
		p := newPlace(t)
		p.write(strings.Repeat("d/", levels)+"f", "1")
		n := 0
		p.scanned(func(r *Result) {
			for i := range levels {
				if _, ok := r.Lookup(strings.Repeat("d/", i) + "d"); !ok {
					t.Errorf("level %d was not found", i)
				}
			}
			n = r.compared
		})
		return n
	}
	if few, many := compared(50), compared(400); many > 16*few {
		t.Errorf("%d comparisons for 50 levels, %d for 400", few, many)
	}
}

func TestASavedScanHoldsNoRowsInMemory(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1")
	p.write("d/b", "2")
	r := p.scanned(func(r *Result) {
		if _, ok := r.Lookup("d/b"); !ok || len(r.rows) != 2 {
			t.Errorf("%d rows of a first scan, and b is there: %v", len(r.rows), ok)
		}
	})
	if _, ok := r.Lookup("d/b"); ok || len(r.rows) != 0 || len(r.way) != 0 {
		t.Errorf("%d rows are left when they are saved, and b is there: %v", len(r.rows), ok)
	}
}
