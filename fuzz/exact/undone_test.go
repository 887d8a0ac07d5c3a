//go:build !windows

package exact

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAnInterruptedUndoIsFinishedByUndo checks that whoever says undo again
// after a crash does not go back two levels.
func TestAnInterruptedUndoIsFinishedByUndo(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	before := w.look()
	id, _ := w.snapshot()
	churn(w)
	w.restore(id) // the level that must not be taken back
	crowd(w, 800, 0)
	first := w.look()
	w.restore(id)
	w.is("restore", before)
	for tries := 1; killed(w) == nil; tries++ {
		if tries == 20 {
			t.Skip("SKIPPED: the undo was finished each time before it could be killed")
		}
		w.clean("redo", w.redo())
		w.is("redo", before)
	}
	w.clean("undo", w.undo())
	w.is("undo of the killed undo", first)
	w.clean("redo", w.redo())
	w.is("redo", before)
}

// killed starts an undo and kills it when it writes. It returns nil if the undo
// was done before.
func killed(w *world) error {
	cmd := w.command("undo", "--yes")
	w.must(cmd.Start())
	w.await("the undo writes", func() bool {
		list, _ := filepath.Glob(w.path("crowd/*/*"))
		return len(list) > 50
	})
	_ = cmd.Process.Kill() // an error if it is done
	err := cmd.Wait()
	if !strings.Contains(w.rewind("status", "--json").out, `"unfinished"`) {
		return nil // the operation had ended, if not the process
	}
	return err
}

// TestTwoUndosAtOnceAreTwoUndos checks that each takes back an operation of its
// own.
func TestTwoUndosAtOnceAreTwoUndos(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	id, _ := w.snapshot()
	churn(w)
	first := w.look()
	w.restore(id)
	w.write("dir/b.txt", "second\n")
	w.restore(id)
	var all sync.WaitGroup
	codes := make([]int, 2)
	for i := range codes {
		all.Go(func() { codes[i] = w.rewind("undo", "--yes").code })
	}
	all.Wait()
	if codes[0] != 0 || codes[1] != 0 {
		t.Fatalf("the undos exited with %v", codes)
	}
	w.is("two undos at once", first)
}
