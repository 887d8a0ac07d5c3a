package cas

import (
	"os"
	"strings"
	"testing"
)

// open tells how often a file is open or mapped in this process.
func open(t *testing.T, path string) (n int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	must(t, err)
	for line := range strings.Lines(string(maps)) {
		if _, name, _ := strings.Cut(line, "/"); strings.HasPrefix("/"+name, path) {
			n++
		}
	}
	handles, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, h := range handles {
		if name, err := os.Readlink("/proc/self/fd/" + h.Name()); err == nil && strings.HasPrefix(name, path) {
			n++
		}
	}
	return n
}

// Elsewhere nobody could replace the file as long as it is mapped: a damaged store could
// not be restored from a backup.
func TestADamagedStoreIsNotLeftOpen(t *testing.T) {
	sm := newSample(t)
	r := seeded(t)
	for page := range len(sm.file) / pageSize {
		path := t.TempDir() + "/store.db"
		file := append([]byte(nil), sm.file...)
		if page%2 == 0 {
			clear(file[page*pageSize:][:pageSize])
		} else {
			copy(file[page*pageSize:][:pageSize], noise(r, pageSize))
		}
		must(t, os.WriteFile(path, file, 0o600))
		_ = sm.use(path) // other tests say what it gives
		if n := open(t, path); n != 0 {
			t.Errorf("page %d: open or mapped %d times", page, n)
		}
	}
}
