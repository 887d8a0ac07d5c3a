//go:build linux

package hostile

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a snapshot holds can be restored: what no restore would reach is left
// out, and named.
func TestDirectoriesThatAreTooDeepAreNamedAndTheRestIsRecorded(t *testing.T) {
	w := newWorld(t).recorded()
	at, err := unix.Open(w.root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	w.must(err)
	name := strings.Repeat("d", 255)
	for range 80 {
		w.must(unix.Mkdirat(at, name, 0o755))
		next, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		w.must(err)
		w.must(unix.Close(at))
		at = next
	}
	w.must(unix.Close(at))
	r := w.run("snapshot", "--json")
	if r.code != 5 || !strings.Contains(r.out, "16384 bytes") {
		t.Errorf("exit %d, want 5 with the path named: %.300s", r.code, r.err)
	}
	w.write("a", "later\n")
	if r := w.run("restore", "@", "--dry-run"); r.code != 0 && r.code != 5 {
		t.Errorf("restore: exit %d: %.300s", r.code, r.err)
	}
	if r := w.run("diff", "@", "--name-status"); r.code != 0 {
		t.Errorf("diff: exit %d: %.300s", r.code, r.err)
	}
}
