package cas

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// mapping is how many bytes are mapped at an address, in one mapping.
func mapping(t *testing.T, at uintptr) int64 {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("SKIPPED: the kernel does not tell what is mapped: ", err)
	}
	for _, line := range strings.Split(string(maps), "\n") {
		var from, to uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err == nil && from == at {
			return int64(to - from)
		}
	}
	t.Fatal("the file is not mapped")
	return 0
}

// over writes a file in place, as cp does: it stays the same file.
func over(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil {
		err = f.Close()
	}
	must(t, err)
}

// A backup is put back in place, by a program that knows no lock, while somebody
// reads. What is behind the end of the mapping is other memory of this process.
func TestNothingBehindTheMappingIsGivenBack(t *testing.T) {
	s, r := newStore(t), seeded(t)
	kept := put(t, s, text(r, 2000))
	for range 40 {
		put(t, s, noise(r, 100<<10))
	}
	if _, err := s.Sweep(t.Context(), SweepOptions{Live: keep(kept...), Grace: -1}); err != nil {
		t.Fatal(err)
	}
	for range 6 { // the tables' pages move to the front, which is free
		kept = append(kept, put(t, s, text(r, 2000))...)
	}
	file, err := os.ReadFile(s.path)
	must(t, err)
	lock, err := os.ReadFile(s.path + lockSuffix)
	must(t, err)
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, s.Close())
	s.parts.mapped = 1
	err = s.View(t.Context(), func(v *View) error {
		over(t, s.path, file)
		over(t, s.path+lockSuffix, lock)
		return nil
	})
	if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrBroken) && !errors.Is(err, ErrBehind) {
		t.Errorf("the first reader: %v", err)
	}
	err = s.View(t.Context(), func(v *View) error {
		has := mapping(t, v.file.db.Info().Data)
		if v.file.used > has {
			t.Errorf("%d bytes are given back, and %d are mapped", v.file.used, has)
		}
		return nil
	})
	if err != nil {
		t.Errorf("the second reader: %v", err)
	}
	if _, err := readOne(t, s, kept[0]); err != nil {
		t.Error(err)
	}
}
