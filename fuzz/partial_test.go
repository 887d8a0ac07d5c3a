//go:build linux

package fuzz

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine"
)

// partial makes a partial clone with a sparse checkout, of which all of d and
// far/away were never fetched.
func partial(t *testing.T, options ...string) *world {
	w := plain(t, kind{})
	w.unwanted = true
	lib := filepath.Join(w.dir, "lib")
	w.git("init", "-q", "-b", "main", lib)
	for name, text := range map[string]string{"f": "1", "d/e/g": "2", "d/h": "3", "far/away/i": "4", "far/j": "5", "near/k": "6", "near/same": "3"} {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(lib, name)), 0o755))
		w.must(os.WriteFile(filepath.Join(lib, name), []byte(text), 0o644))
	}
	w.git("-C", lib, "config", "uploadpack.allowFilter", "true")
	w.git("-C", lib, "add", "-A")
	w.git("-C", lib, "commit", "-qm", "one")
	w.git("-C", lib, "checkout", "-q", "-b", "other")
	w.must(os.WriteFile(filepath.Join(lib, "d", "h"), []byte("of the other branch"), 0o644))
	w.git("-C", lib, "commit", "-qam", "two")
	w.must(w.long.Close())
	w.must(os.RemoveAll(w.root))
	w.must(os.Mkdir(w.root, 0o755))
	w.git(append([]string{"clone", "-q", "--sparse", "--branch=main"}, append(options, "file://"+lib, ".")...)...)
	w.git("sparse-checkout", "set", "near")
	w.git("config", "gc.auto", "0")
	w.long = w.open()
	return w
}

// verified checks that everything that should be there is.
func (w *world) verified() *engine.Verified {
	w.t.Helper()
	_, err := w.long.Sync(w.t.Context())
	w.must(err)
	v, err := w.long.Verify(w.t.Context())
	w.must(err)
	if len(v.Damaged) > 0 {
		w.fail("damaged: %+v", v.Damaged)
	}
	return v
}

// TestWhatARemotePromisedIsNotDamaged: what a sparse checkout of a partial clone
// left out was never here, and git fetches it when it needs it.
func TestWhatARemotePromisedIsNotDamaged(t *testing.T) {
	for _, options := range [][]string{{"--filter=blob:none"}, {"--filter=tree:0"}, {"--filter=blob:none", "-c", "index.sparse=true"}} {
		w := partial(t, options...)
		w.write("near/new", "1")
		w.settle()
		s := w.snap()
		if w.verified().Promised == 0 {
			w.fail("nothing is missing: this proves nothing")
		}
		// Another commit's entries, which HEAD does not keep.
		w.git("reset", "-q", "--soft", "HEAD")
		w.git("read-tree", "-m", "origin/other")
		w.write("near/new", "2")
		w.settle()
		other := w.snap()
		w.must(os.RemoveAll(filepath.Join(w.common, "refs", "pi-rewind")))
		w.must(os.RemoveAll(filepath.Join(w.common, "packed-refs")))
		if w.verified().Promised < 2 {
			w.fail("nothing is missing of the other branch: this proves nothing")
		}
		for _, back := range []taken{s, other} {
			w.taken = []taken{back}
			r, err := w.long.Restore(t.Context(), back.snap.ID, nil)
			w.must(err)
			w.allowed(r, nil)
			for p, what := range back.recorded {
				if got := w.picture(w.root)[p]; got != what {
					w.fail("%q is %q, not %q", p, got, what)
				}
			}
		}
		w.git("sparse-checkout", "disable") // which fetches
		if n := w.verified().Promised; n > 1 {
			w.fail("%d objects are said to be missing, and at most one is", n)
		}
	}
}

// snap takes a snapshot that is whole in git, without asking git what its tree
// should be: that would fetch.
func (w *world) snap() taken {
	w.t.Helper()
	r, err := w.long.Snapshot(w.t.Context(), nil)
	w.must(err)
	if r.Bridge != nil || len(r.Skipped) > 0 {
		w.fail("bridge %v, skipped %v", r.Bridge, r.Skipped)
	}
	got := w.export(w.long, r.Snapshot)
	return taken{r.Snapshot, got, w.ignored(got), w.outside}
}

// TestWhatWasOnDiskIsMissedThoughItWasPromisedElsewhere: a snapshot without a file
// does not excuse one that had it; nor is anything excused in a clone that is not
// partial.
func TestWhatWasOnDiskIsMissedThoughItWasPromisedElsewhere(t *testing.T) {
	for _, sets := range []string{"far near far", "near far near"} {
		w := partial(t, "--filter=blob:none")
		for set := range strings.SplitSeq(sets, " ") {
			w.git("sparse-checkout", "set", set)
			w.write("n", set)
			w.settle()
			w.git("update-index", "--force-write-index") // so that git's index is believed, and the store keeps nothing of it
			w.snap()
		}
		if v := w.verified(); v.Promised == 0 {
			w.fail("nothing is missing: this proves nothing")
		}
		w.git("config", "remote.origin.url", "file:///nowhere")
		w.removePackOf(w.git("rev-parse", "HEAD:far/away/i"))
		w.reopen()
		if got := w.damaged(); !slices.Equal(got, []string{"far/away/i", "far/j"}) {
			w.fail("damaged are %q", got)
		}
		w.git("config", "--unset", "remote.origin.promisor")
		w.git("config", "--unset", "remote.origin.partialCloneFilter")
		w.reopen()
		if got := w.damaged(); !slices.Contains(got, "d/e/g") {
			w.fail("in a clone that is not partial damaged are %q", got)
		}
	}
}

// removePackOf makes git lose an object.
func (w *world) removePackOf(id string) {
	w.t.Helper()
	packs, err := filepath.Glob(filepath.Join(w.common, "objects", "pack", "*.idx"))
	w.must(err)
	for _, idx := range packs {
		if strings.Contains(w.git("verify-pack", "-v", idx), id) {
			for _, end := range []string{".idx", ".pack", ".promisor", ".rev"} {
				_ = os.Remove(strings.TrimSuffix(idx, ".idx") + end)
			}
			return
		}
	}
	w.fail("%s is in no pack", id)
}

// damaged lists the paths that verify names.
func (w *world) damaged() (paths []string) {
	w.t.Helper()
	v, err := w.long.Verify(w.t.Context())
	w.must(err)
	for _, d := range v.Damaged {
		paths = append(paths, string(d.Path))
	}
	slices.Sort(paths)
	return paths
}

// Seed 100102906: of a file in the place of a submodule git looks what line ends the
// index has, asks the server for the commit in vain, says that it was fatal, and goes on.
// That is not the end of git add.
func TestACommitThatCannotBeFetchedIsNotTheEndOfGitAdd(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: files that cannot be read, for root can read every file")
	}
	w := partial(t, "--filter=blob:none", "-c", "index.sparse=true")
	w.write("near/f", "1")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+",near/sub")
	w.git("config", "core.autocrlf", "input")
	w.reopen()
	w.write("near/sub", "a line\r\n")
	w.settle()
	w.hidden = w.path("near/f")
	w.must(os.Chmod(w.hidden, 0))
	r := w.record()
	if len(r.Skipped) != 1 || string(r.Skipped[0].Path) != "near/f" {
		w.fail("skipped are %v", r.Skipped)
	}
	w.must(os.Chmod(w.hidden, 0o644))
}
