package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
)

func TestAnUndoOfAKilledRestoreKeepsWhatTheStoreHasLost(t *testing.T) {
	p, _ := interrupted(t)
	e := p.open()
	steps, op := p.unfinished(e)
	// The restore was killed between taking a file away and removing it.
	taken, old := "", ""
	for i := range steps {
		if now := steps[i].Path; strings.HasPrefix(p.read(now), "one") {
			taken, old = now, strings.Replace(p.read(now), "one", "three", 1)
			for name := range apply.Leftovers(steps[i:i+1], op.Key) {
				p.must(os.WriteFile(filepath.Join(p.dir, name), []byte(old), 0o644))
			}
			break
		}
	}
	if taken == "" {
		t.Fatal("the restore has written nothing: this proves nothing")
	}
	p.must(e.Close())
	p.damage(e, []byte(old))
	r := p.do(p.open(), Op{Verb: Undo})
	if p.read(taken) != old {
		t.Errorf("%s has %q, it had %q before the restore: %+v", taken, p.read(taken), old, r)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, filepath.Dir(taken), ".rewind-tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
