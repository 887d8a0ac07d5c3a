//go:build linux

package fuzz

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"math/rand/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

// plain makes an empty repository; a fact brings it into the state that a seed of
// TestDifferential once led to.
func plain(t *testing.T, k kind) *world {
	t.Helper()
	needGit(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(0, 0)), dir: dir, kind: k, root: filepath.Join(dir, "tree")}
	if w.kind.Format == "" {
		w.kind.Format = "sha1"
	}
	w.home, w.scratch = filepath.Join(dir, "home"), filepath.Join(dir, "scratch")
	w.must(os.MkdirAll(w.home, 0o755))
	w.must(os.MkdirAll(w.scratch, 0o755))
	w.layout()
	w.long = w.open()
	t.Cleanup(func() { _ = w.long.Close() })
	return w
}

// keep takes a snapshot, compares it with git and with the disk, and returns it.
func (w *world) keep() taken {
	w.t.Helper()
	w.examine(w.long, w.record().Snapshot)
	return w.taken[len(w.taken)-1]
}

// record takes a snapshot and compares it with git.
func (w *world) record() *engine.Recorded {
	w.t.Helper()
	r, err := w.long.Snapshot(w.t.Context(), nil)
	w.must(err)
	want := w.answer(r)
	if r.Tree.String() != want.tree {
		w.fail("tree %v, git's %s\n%s\nskipped %v, git failed %q", r.Tree, want.tree, w.explain(w.long, r, want), r.Skipped, want.failed)
	}
	w.compareSkipped(r, want)
	return r
}

// settle waits until everything is old enough for stat data to be believed.
func (w *world) settle() { time.Sleep(30 * time.Millisecond) }

// outsideIgnore sets the user's own ignore rules.
func (w *world) outsideIgnore(rules string) {
	dir := filepath.Join(w.home, ".config", "git")
	w.must(os.MkdirAll(dir, 0o755))
	w.must(os.WriteFile(filepath.Join(dir, "ignore"), []byte(rules), 0o644))
	w.outside++
}

// TestSeedsThatOnceFailed runs repositories again that the generator made: what
// they led to needs more steps than a test by hand could have.
//
// In 3000345 a restore records ignored files, so that the rows of the
// directories above are not kept, and takes a filter away that keeps a file's
// length: the index then has the filtered bytes, and the stat data of the file.
//
// In 3000256 a pipe is in the place of a submodule, in 3000533 in that of a link
// that is not wanted on disk. testdata/facts/entries.txt says what 8000055, 8000107 and
// 8000365 led to.
//
// In 8000414 a file at which a filter gives up lies in a submodule of the index.
//
// In 2013, run by a user who is not root, what is ignored stays in a directory that is in
// git's tree, and git cannot be asked what is ignored.
func TestSeedsThatOnceFailed(t *testing.T) {
	needGit(t)
	for _, seed := range []uint64{3000345, 3000256, 3000533, 8000055, 8000107, 8000365, 8000414, 2013} {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { runWorld(t, t.TempDir(), seed, false) })
	}
}
