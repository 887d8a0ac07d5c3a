package watched_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheAuditLooksBesideFilesWithOtherNames(t *testing.T) {
	t.Parallel()
	w := plain(t)
	path := w.file("d/e/f", "one")
	w.file("d/e/g", "one")
	w.must(os.Link(filepath.Join(w.dir, "d/e/g"), filepath.Join(w.base, "home", "g")))
	w.settle()
	end := hide(t, path)
	defer end()
	w.snapshot()
	for range 4000 {
		time.Sleep(5 * time.Millisecond)
		if only, why := w.tree.State(); !only {
			if !strings.Contains(why, `"d/e/f" went unnoticed`) {
				t.Error(why)
			}
			return
		}
	}
	t.Error("a change that nobody was told of is not found beside a file with two names")
}
