//go:build linux

package fuzz

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// taken is a snapshot with what was on disk when it was taken.
type taken struct {
	snap     *engine.Snapshot
	recorded picture         // what the snapshot holds, checked against the disk
	ignored  map[string]bool // of that, and not tracked: see [world.ignored]
	outside  int             // the rules outside the tree that were in force
}

const stepsPerWorld = 60

// TestDifferential compares with git, step by step, what the engine makes of
// random repositories. REWIND_FUZZ_KEEP is a new directory to make the first in, to look
// at it afterwards.
func TestDifferential(t *testing.T) {
	needGit(t)
	first, keep := seed.Of(t), os.Getenv("REWIND_FUZZ_KEEP")
	if os.Geteuid() == 0 {
		t.Log("NOT TESTED: files and directories that cannot be read, for root can read all of them")
	}
	for i := range seed.Times(10) {
		seed := first + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			if keep == "" {
				t.Parallel() // they sleep at times
				runWorld(t, t.TempDir(), seed, true)
			} else if i == 0 {
				runWorld(t, keep, seed, true)
			}
		})
	}
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: the git program is missing, and it is what this is compared with")
	}
}

// runWorld makes one repository and changes it.
func runWorld(t *testing.T, dir string, seed uint64, mayBeOdd bool) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, dir, seed, mayBeOdd)
	defer func() { _ = w.long.Close() }()
	w.check()
	for range stepsPerWorld {
		if w.one(3) {
			w.operate()
		} else {
			w.edit()
		}
		for w.one(4) {
			w.edit()
		}
		if w.one(6) {
			time.Sleep(25 * time.Millisecond) // let everything grow old enough to be believed
		}
		w.check()
		if w.one(8) {
			w.travel()
		}
	}
	w.finish()
}

// check compares the state of the worktree with what git makes of it.
func (w *world) check() {
	w.t.Helper()
	w.endIfGitAsksItself()
	ctx, e := w.t.Context(), w.long
	if w.one(2) {
		e = w.open()
		defer func() { w.must(e.Close()) }()
	}
	var r *engine.Recorded
	var err error
	preview := w.one(2)
	hidden := w.hide()
	if preview {
		r, err = e.Snapshot(ctx, &engine.SnapshotOptions{DryRun: true})
	} else {
		r, err = e.Snapshot(ctx, nil)
	}
	w.note("-- preview %v fresh %v", preview, e != w.long)
	if err != nil {
		w.fail("%v", err)
	}
	if r.Bridge != nil {
		w.fail("bridge: %v", r.Bridge)
	}
	if len(r.Unstable) > 0 {
		w.fail("unstable: %v", r.Unstable)
	}
	want := w.answer(r)
	if got := r.Tree.String(); got != want.tree {
		w.endIfGitIsBroken()
		w.fail("tree %s, git's %s\n%s\nskipped %v, git failed %q", got, want.tree, w.explain(e, r, want), r.Skipped, want.failed)
	}
	w.compareSkipped(r, want)
	w.unhide(hidden)
	if hidden != nil {
		return // the pictures want to read everything
	}
	if !preview && w.one(5) {
		w.examine(e, r.Snapshot)
	}
}

// explain shows where two trees differ.
func (w *world) explain(e *engine.Engine, r *engine.Recorded, want expectation) string {
	if _, err := e.Snapshot(w.t.Context(), nil); err != nil {
		return err.Error()
	}
	cmd := exec.Command("git", "diff-tree", "-r", "-t", r.Tree.String(), want.tree)
	cmd.Dir, cmd.Env = w.root, w.environ("GIT_ALTERNATE_OBJECT_DIRECTORIES="+w.scratch)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// compareSkipped holds the skipped paths to those because of which git fails.
func (w *world) compareSkipped(r *engine.Recorded, want expectation) {
	w.t.Helper()
	for _, s := range r.Skipped {
		if refused(string(s.Path)) {
			continue // git fails only if there is anything to add
		}
		inside := inNested(r.Snapshot, string(s.Path))
		if w.maySkip(string(s.Path), inside) || (inside || w.inLink(string(s.Path))) && w.isSpoiled(s) || w.isHeadless(s) {
			continue
		}
		if !slices.ContainsFunc(want.failed, func(f string) bool { return beneath(f, string(s.Path)) }) {
			w.endIfGitIsBroken()
			w.fail("%q is skipped (%s), git failed at %q", s.Path, s.Reason, want.failed)
		}
	}
	for _, f := range want.failed {
		if slices.Contains(want.edited, f) {
			continue // git add fails only if something was edited in it, and the tree keeps the commit that the index has
		}
		if !slices.ContainsFunc(r.Skipped, func(s engine.Note) bool { return beneath(f, string(s.Path)) }) {
			w.fail("git fails at %q, skipped is only %v", f, r.Skipped)
		}
	}
	if dir, ok := w.hiddenDir(); ok && want.denied && !slices.ContainsFunc(r.Skipped, func(s engine.Note) bool { return beneath(string(s.Path), dir) }) {
		w.fail("git cannot search %q, skipped is only %v", dir, r.Skipped)
	}
}

func beneath(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// inLink reports whether a path lies below a submodule of the index.
func (w *world) inLink(p string) bool {
	return slices.ContainsFunc(w.indexed(), func(l listed) bool { return l.isLink() && l.path != p && beneath(p, l.path) })
}

// examine compares what a snapshot holds with the disk, byte for byte, and
// keeps it for a restore.
func (w *world) examine(e *engine.Engine, s *engine.Snapshot) {
	w.t.Helper()
	disk, got := w.picture(w.root), w.export(e, s)
	for path, what := range got {
		if disk[path] != what {
			w.fail("%q is recorded as %.80q, and is %.80q", path, what, disk[path])
		}
	}
	var rest []string
	for path := range recordable(disk) {
		if _, ok := got[path]; !ok && !inNested(s, path) && !refused(path) {
			rest = append(rest, path)
		}
	}
	w.allIgnored(rest)
	w.allTrackedNested(s, got)
	ignored := w.ignored(got)
	w.allSmall(rest)
	w.taken = append(w.taken, taken{s, got, ignored, w.outside})
}

// export returns what a snapshot holds.
func (w *world) export(e *engine.Engine, s *engine.Snapshot) picture {
	w.t.Helper()
	out := filepath.Join(w.dir, "export")
	w.must(os.RemoveAll(out))
	r, err := e.Export(w.t.Context(), s, out)
	w.must(err)
	w.allowed(r, nil)
	return w.picture(out)
}

// refused reports whether a path has a name that git refuses: it is recorded,
// but not written.
func refused(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return slices.Contains(refusedNames, name) })
}

func inNested(s *engine.Snapshot, path string) bool {
	for _, n := range s.Nested {
		if strings.HasPrefix(path, string(n.Path)+"/") {
			return true
		}
	}
	return false
}

// allIgnored asks git whether it ignores every one of these paths. It cannot
// tell when rules may be in the index alone.
func (w *world) allIgnored(paths []string) {
	w.t.Helper()
	if len(paths) == 0 || w.unwanted {
		return
	}
	slices.Sort(paths)
	out, _ := w.tryGit(strings.Join(paths, "\x00")+"\x00", "check-ignore", "-z", "--stdin", "--no-index")
	ignored := strings.Split(out, "\x00")
	for _, p := range paths {
		if !slices.Contains(ignored, p) {
			w.fail("%q is not in the snapshot, and git does not ignore it (%.200q)", p, out)
		}
	}
}

// insideAnother reports whether a repository lies inside one that lies inside itself.
func insideAnother(s *engine.Snapshot, path engine.Path) bool {
	for _, n := range s.Nested {
		if strings.HasPrefix(string(path), string(n.Path)+"/") {
			return true
		}
	}
	return false
}

// allTrackedNested asks git what the repositories inside hold.
func (w *world) allTrackedNested(s *engine.Snapshot, got picture) {
	w.t.Helper()
	for _, n := range s.Nested {
		if _, ok := got[string(n.Path)]; !ok {
			continue // ignored as a whole
		}
		out, err := w.gitIn(string(n.Path), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		if err != nil && slices.ContainsFunc(s.Skipped, func(k engine.Note) bool { return k.Path == n.Path }) {
			continue // git cannot read it
		}
		if err != nil && insideAnother(s, n.Path) {
			continue // nor does it look there: it is in a repository that is itself inside
		}
		if err != nil {
			w.fail("ls-files in %q: %v %s", n.Path, err, out)
		}
		for p := range strings.SplitSeq(out, "\x00") {
			full := string(n.Path) + "/" + strings.TrimSuffix(p, "/")
			if st, err := os.Lstat(w.path(full)); p == "" || err != nil || st.IsDir() || !w.onDisk(full) {
				continue
			}
			if _, ok := got[full]; !ok && !refused(full) {
				w.fail("%q of a nested repository is not recorded", full)
			}
		}
	}
}

// finish holds the repository as a whole: everything is there that should be, and
// git finds every object. In a partial clone it fetches them for that.
func (w *world) finish() {
	w.t.Helper()
	w.undamaged()
	if out, err := w.tryGit("", "rev-list", "--objects", "--all", "--quiet"); err != nil {
		w.fail("an object is missing: %v %s", err, out)
	}
	asked, want := "", ""
	for _, s := range w.taken {
		asked += s.snap.ID.String() + "^{tree}\n"
		want += s.snap.Tree.String() + " tree\n"
	}
	if out, err := w.tryGit(asked, "cat-file", "--batch-check=%(objectname) %(objecttype)"); err != nil || out+"\n" != want && asked != "" {
		w.fail("the snapshots have the trees\n%s\nin git, not\n%s%v", out, want, err)
	}
}
