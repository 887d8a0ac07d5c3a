package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TestATemporaryFileThatCouldNotBeRemovedIsNotRecorded lets a restore make its
// files in a directory in which nothing may be removed or renamed.
func TestATemporaryFileThatCouldNotBeRemovedIsNotRecorded(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, git)
		p.write("d/a", "old")
		const like = "d/.rewind-tmp-0000000000000000w"
		p.write(like, "a user's own")
		e, ctx := p.open(), context.Background()
		first := p.snap(e, "one", nil)
		p.write("d/a", "new")
		p.snap(e, "two", nil)
		dir := filepath.Join(p.dir, "d")
		if out, err := exec.Command("chattr", "+a", dir).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no directory can be made append-only here (it takes root): %v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("chattr", "-a", dir).Run() })
		r := p.do(e, Op{To: first.ID})
		if len(r.Conflicts) == 0 || p.read("d/a") != "new" || p.leftInD() != 1 {
			t.Fatalf("git %v: conflicts %v, d/a is %q, %d temporary files", git, r.Conflicts, p.read("d/a"), p.leftInD())
		}
		s := p.snap(e, "three", nil)
		p.onlyTheUsers(e, s.Snapshot, like)
		if len(s.Skipped) != 1 || s.Skipped[0].Reason != "a temporary file of an earlier restore that could not be removed" {
			t.Errorf("git %v: skipped %v", git, s.Skipped)
		}
		p.must(exec.Command("chattr", "-a", dir).Run())
		s = p.snap(e, "four", nil)
		p.onlyTheUsers(e, s.Snapshot, like)
		if p.leftInD() != 0 || len(s.Skipped) > 0 {
			t.Errorf("git %v: %d temporary files are there still, skipped %v", git, p.leftInD(), s.Skipped)
		}
		if k, err := e.before(ctx); err != nil || k.Wait() == nil || len(k.left) > 0 {
			t.Errorf("git %v: the store still knows %v, %v", git, k.left, err)
		}
	}
}

func (p *place) leftInD() (n int) {
	p.t.Helper()
	list, err := os.ReadDir(filepath.Join(p.dir, "d"))
	p.must(err)
	for _, f := range list {
		if strings.HasPrefix(f.Name(), ".rewind-tmp-") && !strings.Contains(f.Name(), "0000") {
			n++
		}
	}
	return n
}

// onlyTheUsers checks that of files of such names a snapshot has the user's.
func (p *place) onlyTheUsers(e *Engine, s *Snapshot, like string) {
	p.t.Helper()
	own := false
	for c, err := range tree.Walk(s.State(), e.alg, e.objects.Trees(context.Background(), objects.Reading{})) {
		p.must(err)
		if own = own || c.Path == like; strings.Contains(c.Path, ".rewind-tmp-") && c.Path != like {
			p.t.Errorf("%s is recorded", c.Path)
		}
	}
	if !own {
		p.t.Errorf("%s is not recorded", like)
	}
}
