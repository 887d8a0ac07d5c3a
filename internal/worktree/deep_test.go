//go:build linux

package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// chain makes directories that lie in one another, with a file in the deepest.
// The system takes no path of thousands of levels in one piece.
func (p *place) chain(levels int) {
	p.T.Helper()
	at, err := unix.Open(p.Dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	p.must(err)
	for range levels {
		p.must(unix.Mkdirat(at, "d", 0o755))
		next, err := unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		p.must(err)
		p.must(unix.Close(at))
		at = next
	}
	f, err := unix.Openat(at, "f", unix.O_WRONLY|unix.O_CREAT, 0o644)
	p.must(err)
	p.must(errors.Join(unix.Close(f), unix.Close(at)))
}

// openFiles counts the handles of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("SKIPPED: this system does not tell which files are open: %v", err)
	}
	return len(list)
}

func TestDirectoriesThousandsDeepAreNotOpenedFromTheRoot(t *testing.T) {
	const levels = 4 * levelsBetween
	p := newPlace(t)
	p.chain(levels)
	p.Write("beside/f", "1")
	handles := openFiles(t)
	for _, when := range []string{"the first", "the second"} {
		r := p.scan()
		if r.Counters.Dirs != levels+2 || len(r.Skipped) > 0 {
			t.Fatalf("%s scan: %d directories, %d paths skipped", when, r.Counters.Dirs, len(r.Skipped))
		}
		if most := int64(levels * levelsBetween); r.Counters.levels > most {
			t.Errorf("%s scan went through %d directories to open %d, want %d at most", when, r.Counters.levels, levels, most)
		}
	}
	if now := openFiles(t); now > handles {
		t.Errorf("%d files are open, %d were before", now, handles)
	}
}

func TestAScanThatEndsEarlyKeepsNothingOpen(t *testing.T) {
	p := newPlace(t)
	p.chain(3*levelsBetween + 1)
	handles := openFiles(t)
	ctx, cancel := context.WithCancel(context.Background())
	cfg := p.config()
	cfg.sleep = func(string) { cancel() }
	if _, err := Scan(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatalf("the scan ended with %v", err)
	}
	if now := openFiles(t); now > handles {
		t.Errorf("%d files are open, %d were before", now, handles)
	}
}

func TestADeepDirectoryHasWhatItHolds(t *testing.T) {
	p := newPlace(t)
	short := p.scan().State
	p.chain(2*levelsBetween + 3)
	deep := p.scan().State
	if deep == short {
		t.Fatal("nothing of it was recorded")
	}
	p.must(os.Rename(filepath.Join(p.Dir, "d"), filepath.Join(p.Dir, "e")))
	p.must(os.Rename(filepath.Join(p.Dir, "e"), filepath.Join(p.Dir, "d")))
	if again := p.scan(func(c *Config) { c.Recheck = true }).State; again != deep {
		t.Errorf("another scan found %+v, the first %+v", again, deep)
	}
}
