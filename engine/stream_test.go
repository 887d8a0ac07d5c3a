package engine

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// An aside does something at the first bytes that it is given.
type aside struct {
	bytes.Buffer
	once func()
}

func (a *aside) Write(p []byte) (int, error) {
	if f := a.once; f != nil {
		a.once = nil
		f()
	}
	return a.Buffer.Write(p)
}

func TestASnapshotDoesNotWaitForWhoReadsAFile(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		e, other := p.open(), p.open()
		big := string(bytes.Repeat([]byte("a line of a long file\n"), 1<<20))
		p.write("big", big)
		first := p.snap(e, "one", nil)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		w := &aside{once: func() {
			p.write("file", "two")
			if _, err := other.Snapshot(ctx, nil); err != nil {
				t.Errorf("git %v: a snapshot while a pager stands: %v", git, err)
			}
		}}
		if err := e.Cat(ctx, first.Snapshot, "big", w); err != nil || w.String() != big {
			t.Errorf("git %v: %d bytes of %d, %v", git, w.Len(), len(big), err)
		}
	}
}

// TestALargeFileOfGitIsNotReadIntoMemory counts bytes: what git has, and the
// store has not, was read whole before it was written, and refused above 2 GiB.
func TestALargeFileOfGitIsNotReadIntoMemory(t *testing.T) {
	gittest.Stats(t)
	const size = 64 << 20
	p := newPlace(t, true)
	path := filepath.Join(p.dir, "large")
	p.must(os.WriteFile(path, nil, 0o644))
	p.must(os.Truncate(path, size))
	p.git("add", "large")
	p.git("commit", "-q", "-m", "large")
	time.Sleep(50 * time.Millisecond)
	p.git("update-index", "--refresh")
	e, ctx := p.open(), context.Background()
	s := p.snap(e, "one", nil)
	p.must(os.Remove(path))
	if st, err := os.Stat(p.storeOf(e).Path()); err != nil || st.Size() > size/2 {
		t.Fatalf("the store has it: %v, %v", st, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.must(e.Cat(ctx, s.Snapshot, "large", io.Discard))
	out := filepath.Join(t.TempDir(), "out")
	if r, err := e.Export(ctx, s.Snapshot, out); err != nil || len(r.Conflicts) > 0 {
		t.Fatal(err, r)
	}
	p.do(e, Op{To: s.ID})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > size {
		t.Errorf("%d bytes of memory for a file of %d that was read three times", n, size)
	}
	for _, name := range []string{path, filepath.Join(out, "large")} {
		if st, err := os.Stat(name); err != nil || st.Size() != size {
			t.Errorf("%s: %v", name, err)
		}
	}
}
