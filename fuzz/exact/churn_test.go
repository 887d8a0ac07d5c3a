//go:build !windows

package exact

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A churner changes files for as long as it is not stopped: some are replaced
// by a rename, some written over in place, some appended to, some come and go.
type churner struct {
	w     *world
	stop  atomic.Bool
	all   sync.WaitGroup
	turns atomic.Int64
}

const churned = 6 // files of each sort

// page is a state of a file: every line says the same number, so that a
// mixture of two states shows.
func page(n int) string { return strings.Repeat(fmt.Sprintf("%08d\n", n), 5000) }

func (c *churner) start() {
	for i := range churned {
		c.w.write(fmt.Sprintf("churn/renamed%d", i), page(0))
		c.w.write(fmt.Sprintf("churn/inplace%d", i), page(0))
		c.w.write(fmt.Sprintf("churn/log%d", i), "00000000\n")
	}
	for sort := range 4 {
		c.all.Go(func() {
			for n := 1; !c.stop.Load(); n++ {
				c.turn(sort, n%churned, n)
				c.turns.Add(1)
			}
		})
	}
}

// turn changes one file. What fails does so because a restore was faster.
func (c *churner) turn(sort, i, n int) {
	switch sort {
	case 0:
		tmp := c.w.path(fmt.Sprintf("churn/.tmp%d", i))
		if os.WriteFile(tmp, []byte(page(n)), 0o644) == nil {
			_ = os.Rename(tmp, c.w.path(fmt.Sprintf("churn/renamed%d", i)))
		}
	case 1:
		if f, err := os.OpenFile(c.w.path(fmt.Sprintf("churn/inplace%d", i)), os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteAt([]byte(page(n)), 0)
			f.Close()
		}
	case 2:
		if f, err := os.OpenFile(c.w.path(fmt.Sprintf("churn/log%d", i)), os.O_WRONLY|os.O_APPEND, 0); err == nil {
			fmt.Fprintf(f, "%08d\n", n)
			f.Close()
		}
	case 3:
		dir := c.w.path(fmt.Sprintf("churn/dir%d", i))
		if n%2 == 0 {
			_ = os.MkdirAll(dir+"/sub", 0o755)
			_ = os.WriteFile(dir+"/sub/file", []byte(page(n)), 0o644)
		} else {
			_ = os.RemoveAll(dir)
		}
	}
}

func (c *churner) end() {
	c.stop.Store(true)
	c.all.Wait()
}

// TestASnapshotSucceedsWhileFilesChange checks that a snapshot of a tree under
// churn succeeds, that each file in it is one of its real states, and that the
// files of which that cannot be known are named.
func TestASnapshotSucceedsWhileFilesChange(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	c := &churner{w: w}
	c.start()
	defer c.end()
	var ids []string
	unstable := map[string][]string{}
	for range seed.Times(12) {
		f := w.rewind("snapshot", "--json")
		if f.code != 0 && f.code != 5 || f.ID == "" {
			t.Fatalf("the snapshot exited with %d: %s%s", f.code, f.out, f.errors)
		}
		for _, s := range f.Skipped {
			if !strings.HasPrefix(s.path(), "churn/") {
				t.Errorf("%s was skipped: %s", s.path(), s.Reason)
			}
		}
		ids = append(ids, f.ID)
		unstable[f.ID] = append(unstable[f.ID], pathsOf(f.Unstable)...)
	}
	c.end()
	if c.turns.Load() < 100 {
		t.Fatalf("only %d changes were made: nothing was tested", c.turns.Load())
	}
	for _, id := range ids {
		for i := range churned {
			renamed, inplace, log := fmt.Sprintf("churn/renamed%d", i), fmt.Sprintf("churn/inplace%d", i), fmt.Sprintf("churn/log%d", i)
			if text := w.cat(id, renamed); text != page(number(text)) {
				t.Errorf("%s of %s is no state of the file", renamed, id)
			}
			if text := w.cat(id, inplace); !wasOnDisk(text) && !slices.Contains(unstable[id], inplace) {
				t.Errorf("%s of %s is no state of the file, and not named as unstable", inplace, id)
			}
			if text := w.cat(id, log); len(text)%9 != 0 || !strings.HasPrefix(w.read(log), text) {
				t.Errorf("%s of %s is no state of the file", log, id)
			}
		}
	}
	w.sound()
}

// wasOnDisk reports whether a file that is written over from its beginning to
// its end has at some moment held a text: one page, or, in the middle of a
// write, the beginning of a later one and the end of an earlier one. The
// reverse is no state of the file but two, read one after the other.
func wasOnDisk(text string) bool {
	if len(text) != len(page(0)) {
		return false
	}
	newer, older := page(number(text)), page(number(text[len(text)-9:]))
	cut := 0
	for cut < len(text) && text[cut] == newer[cut] {
		cut++
	}
	return newer >= older && text[cut:] == older[cut:]
}

// number is what the first line of a page says.
func number(text string) (n int) {
	_, _ = fmt.Sscanf(text, "%08d", &n)
	return n
}

// cat returns a file of a snapshot.
func (w *world) cat(id, path string) string {
	w.Helper()
	e := w.open()
	s, err := e.Find(w.Context(), id)
	w.must(err)
	var text bytes.Buffer
	w.must(e.Cat(w.Context(), s, path, &text))
	w.must(e.Close())
	return text.String()
}

// TestARestoreWhileFilesChangeLosesNothing checks that a restore under churn
// either restores a file or names it, and that everything outside of the churn
// is exact; and that when the churn ends, the next restore is exact.
func TestARestoreWhileFilesChangeLosesNothing(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	id, _ := w.snapshot()
	then := w.look()
	c := &churner{w: w}
	c.start()
	defer c.end()
	for range seed.Times(8) {
		churn(w)
		f := w.rewind("restore", id, "--yes", "--json")
		if f.code != 0 && f.code != 5 {
			t.Fatalf("the restore exited with %d: %s%s", f.code, f.out, f.errors)
		}
		if d := then.files.Differs(w.lookBeside("churn")); d != "" {
			t.Fatalf("beside the churn the restore is not exact:\n%s", d)
		}
	}
	c.end()
	w.clean("restore", w.restore(id))
	w.is("the restore after the churn", then)
	w.sound()
}

// TestWhatIsSavedDuringRestoresIsThereOrRecorded lets another process save each of many
// files twice, by a rename, while restores delete them. What it saved last is on the disk,
// or in a snapshot to which an undo returns.
func TestWhatIsSavedDuringRestoresIsThereOrRecorded(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	id, _ := w.snapshot()
	var stop atomic.Bool
	var all sync.WaitGroup
	saved := 0
	save := func(n int, text string) {
		for !stop.Load() {
			_ = os.Mkdir(w.path("saved"), 0o755)
			tmp := w.path("saved/.tmp")
			if os.WriteFile(tmp, []byte(text), 0o644) == nil && os.Rename(tmp, w.path(fmt.Sprintf("saved/%d", n))) == nil {
				return
			}
		}
	}
	last := func(n int) string { return fmt.Sprintf("the last word of %d", n) }
	all.Go(func() {
		for n := 0; n < 4000 && !stop.Load(); n++ {
			save(n, fmt.Sprintf("the next word of %d", n)) // as long
			if save(n, last(n)); !stop.Load() {
				saved = n
			}
			time.Sleep(time.Duration(n%8) * 100 * time.Microsecond) // restores have to keep up
		}
	})
	e := w.open()
	s, err := e.Find(t.Context(), id)
	w.must(err)
	recorded := map[int]bool{}
	for range seed.Times(15) {
		r, err := e.Do(t.Context(), engine.Op{To: s.ID})
		w.must(err)
		if r.Undo.IsZero() {
			continue
		}
		undo, err := e.Find(t.Context(), r.Undo.String())
		w.must(err)
		d, err := e.Diff(t.Context(), nil, undo, []string{"saved"})
		if errors.Is(err, engine.ErrNoSnapshot) {
			continue // nothing was saved yet
		}
		w.must(err)
		for _, c := range d.Changes {
			var text bytes.Buffer
			if n, err := strconv.Atoi(strings.TrimPrefix(string(c.Path), "saved/")); err == nil && !c.To.Dir() {
				w.must(e.Cat(t.Context(), undo, string(c.Path), &text))
				recorded[n] = recorded[n] || text.String() == last(n)
			}
		}
	}
	stop.Store(true)
	all.Wait()
	if len(recorded) < 20 {
		t.Errorf("only %d files were saved and deleted", len(recorded))
	}
	for n := range saved {
		if text, _ := os.ReadFile(w.path(fmt.Sprintf("saved/%d", n))); string(text) != last(n) && !recorded[n] {
			t.Errorf("what was saved last as %d is lost; there is %q", n, text)
		}
	}
}

// lookBeside is the worktree without a directory that changes all the time.
func (w *world) lookBeside(dir string) picture {
	return pictureOf(w, w.root, func(rel string) bool { return rel == dir || rel == ".git" })
}

// TestNothingIsLostWhenADirectoryIsSwappedForALink lets another process swap a
// directory for a link to the outside, again and again, while restores and
// undos write into it: nothing outside may change, whatever the outcome.
func TestNothingIsLostWhenADirectoryIsSwappedForALink(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	for i := range 40 {
		w.write(fmt.Sprintf("swap/sub/treasure%d", i), "then")
		w.must(os.WriteFile(fmt.Sprintf("%s/treasure%d", w.outside, i), []byte("outside"), 0o644))
	}
	id, _ := w.snapshot()
	before := pictureOf(t, w.outside, nil)
	var stop atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for !stop.Load() {
			_ = os.Rename(w.path("swap/sub"), w.path("aside"))
			_ = os.Symlink(w.outside, w.path("swap/sub"))
			_ = os.Remove(w.path("swap/sub"))
			_ = os.Rename(w.path("aside"), w.path("swap/sub"))
		}
	})
	e := w.open()
	inside, err := os.OpenRoot(w.root) // this test must not follow the links either
	w.must(err)
	defer inside.Close()
	for range seed.Times(8) {
		for i := range 40 {
			_ = inside.WriteFile(fmt.Sprintf("aside/treasure%d", i), bytes.Repeat([]byte("now"), i), 0o644)
		}
		s, err := e.Find(t.Context(), id)
		w.must(err)
		_, _ = e.Do(t.Context(), engine.Op{To: s.ID})
		_, _ = e.Do(t.Context(), engine.Op{Verb: engine.Undo})
		if d := before.Differs(pictureOf(t, w.outside, nil)); d != "" {
			t.Fatalf("something outside has changed:\n%s", d)
		}
	}
	stop.Store(true)
	all.Wait()
}
