//go:build !windows

package worktree

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

func TestACleanCheckoutIsNotRead(t *testing.T) {
	p := newRepo(t)
	for _, f := range []string{"a", "d/b", "d/e/c"} {
		p.write(f, f)
	}
	p.run("add", "-A")
	old := time.Now().Add(-time.Hour)
	for _, f := range []string{"a", "d/b", "d/e/c"} {
		p.must(os.Chtimes(p.path(f), old, old))
	}
	time.Sleep(60 * time.Millisecond)
	p.run("update-index", "--refresh")
	r := p.scan()
	p.checkGit(r)
	p.checkDisk(r)
	if r.Counters.Opened != 0 || r.Counters.Dirs != 3 {
		t.Errorf("counters %+v", r.Counters)
	}
	if !r.State.Overlay.IsZero() {
		t.Errorf("overlay %v: %v", r.State.Overlay, p.recorded(r))
	}
}

func TestUnchangedFilesAreNotOpenedAndUnchangedDirectoriesNotListed(t *testing.T) {
	p := newPlace(t)
	for _, f := range []string{"a", "d/b", "d/e/c", "d/e/.gitignore"} {
		p.write(f, f)
	}
	p.now = time.Now().Add(time.Hour).UnixNano()
	first := p.scan()
	second := p.scan()
	if c := second.Counters; c.Opened != 0 || c.Listed != 0 || c.Trees != 0 || c.Stats != 4 || c.Dirs != 3 {
		t.Errorf("counters %+v", c)
	}
	if first.State != second.State {
		t.Errorf("states %+v, %+v", first.State, second.State)
	}
	p.write("d/b", "changed, not created")
	third := p.scan()
	if c := third.Counters; c.Opened != 1 || c.Listed != 0 {
		t.Errorf("counters %+v", c)
	}
	p.checkDisk(third)
}

func TestNodesOfFinishedDirectoriesAreUsedAgain(t *testing.T) {
	p := newPlace(t)
	const dirs = 30 * 20
	for i := range dirs {
		p.write(fmt.Sprintf("d%d/e%d/f", i/20, i%20), "x")
	}
	p.now = time.Now().Add(time.Hour).UnixNano()
	p.scan()
	cfg := p.config()
	cfg.Workers = 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Scan(context.Background(), cfg)
	p.must(err)
	runtime.ReadMemStats(&after)
	if r.Counters.Dirs < dirs || r.Counters.Listed != 0 {
		t.Fatalf("%+v", r.Counters)
	}
	each := (after.TotalAlloc - before.TotalAlloc) / uint64(r.Counters.Dirs)
	if size := uint64(unsafe.Sizeof(node{})); each > size*2/3 {
		t.Errorf("%d bytes for each directory, where a node has %d", each, size)
	}
	t.Logf("%d bytes for each directory, a node has %d", each, unsafe.Sizeof(node{}))
}
