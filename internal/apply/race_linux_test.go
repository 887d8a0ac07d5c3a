package apply_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TestADirectorySwappedForALinkLeadsNowhere has another goroutine swap a
// directory for links, to outside the root and to the .git, while restores run
// back and forth.
func TestADirectorySwappedForALinkLeadsNowhere(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	sentinel := world{"f0": file("sentinel"), "f1": file("sentinel"), "e": dir(0o755), "e/f0": file("sentinel")}
	sentinel.make(t, outside)
	git := filepath.Join(root, ".git")
	must(t, os.Mkdir(git, 0o755))
	sentinel.make(t, git)
	_, outWas := read(t, outside)
	_, gitWas := read(t, git)
	must(t, os.Mkdir(filepath.Join(root, "d"), 0o755))
	var swaps atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { swap(t, root, []string{outside, ".git", git}, &swaps, stop) })

	worlds := []world{{"d/e": dir(0o755)}, {"d/e": dir(0o755)}, {}}
	for i := range 6 {
		for w := range 2 {
			worlds[w][fmt.Sprintf("d/f%d", i)] = file(fmt.Sprint("content ", w))
			worlds[w][fmt.Sprintf("d/e/f%d", i)] = file(fmt.Sprint("content ", w))
		}
	}
	written := 0
	// A busy machine gives the two goroutines their turns unevenly: go on until
	// both have done enough to meet.
	for i := 0; i < 3000 || (swaps.Load() < 1000 || written < 100) && i < 100_000; i++ {
		from, to := worlds[(i+2)%len(worlds)], worlds[i%len(worlds)]
		opt := &apply.Options{Alg: oid.SHA1, Replay: i%2 == 0}
		opt.NoSync()
		out := carry(t, root, between(from, to), to, opt)
		written += out.Written
	}
	close(stop)
	wg.Wait()
	t.Logf("%d swaps, %d written", swaps.Load(), written)
	if written < 100 || swaps.Load() < 500 {
		t.Errorf("too little was tried: %d swaps, %d written", swaps.Load(), written)
	}
	for path, was := range map[string]map[string]dirfd.Stat{outside: outWas, git: gitWas} {
		same(t, path, sentinel)
		if _, now := read(t, path); !maps.Equal(now, was) {
			t.Errorf("%s was touched", path)
		}
	}
}

// swap puts links to the targets in the place of root/d for moments, in turn.
func swap(t *testing.T, root string, targets []string, swaps *atomic.Int64, stop <-chan struct{}) {
	rnd := rand.New(rand.NewPCG(1, 2))
	linger := func() {
		for range rnd.IntN(100) {
			runtime.Gosched()
		}
	}
	d, aside := filepath.Join(root, "d"), filepath.Join(root, "aside")
	for {
		select {
		case <-stop:
			return
		default:
		}
		target := targets[int(swaps.Add(1))%len(targets)]
		if err := errors.Join(os.Rename(d, aside), os.Symlink(target, d)); err != nil {
			t.Error(err)
			return
		}
		linger()
		if err := errors.Join(os.Remove(d), os.Rename(aside, d)); err != nil {
			t.Error(err)
			return
		}
		linger()
	}
}

// between returns steps without fingerprints from one world to another.
func between(from, to world) []apply.Step {
	var steps []apply.Step
	for path, i := range from {
		if to[path] != i {
			steps = append(steps, apply.Step{Path: path, Have: i.node(), Want: to[path].node()})
		}
	}
	for path, i := range to {
		if _, ok := from[path]; !ok {
			steps = append(steps, apply.Step{Path: path, Want: i.node()})
		}
	}
	return steps
}

// TestReadOnlyDirectoriesAreOpenedAndClosedAgain works as another user if it
// is run by root, to whom no directory is read-only.
func TestReadOnlyDirectoriesAreOpenedAndClosedAgain(t *testing.T) {
	root := t.TempDir()
	uid := ordinary(t, root)
	from := world{"ro": dir(0o555), "ro/f": file("1"), "ro/gone": file("1"), "ro/sub": dir(0o500), "ro/sub/f": file("1"),
		"shut": dir(0o755), "shut/f": file("1"), "rogone": dir(0o555), "rogone/f": file("1"), "rof": fileMode(0o400, "1"), "xattr": fileMode(0o640, "1")}
	to := world{"ro": dir(0o555), "ro/f": file("2"), "ro/sub": dir(0o500), "ro/sub/f": file("2"), "ro/new": dir(0o500), "ro/new/f": fileMode(0o400, "2"),
		"shut": dir(0o300), "shut/f": file("2"), "rof": fileMode(0o444, "2"), "xattr": fileMode(0o640, "2")}
	from.make(t, root)
	must(t, unix.Setxattr(filepath.Join(root, "xattr"), "user.note", []byte("kept"), 0))
	opt := &apply.Options{Alg: oid.SHA1}
	opt.Alone() // the identity is this thread's
	opt.As(uid)
	steps := plan(t, root, to, nil)
	out := carry(t, root, steps, to, opt)
	if len(out.Conflicts)+len(out.Kept) != 0 {
		t.Errorf("%+v", out)
	}
	var value [8]byte
	if n, err := unix.Getxattr(filepath.Join(root, "xattr"), "user.note", value[:]); err != nil || string(value[:n]) != "kept" {
		t.Errorf("the attribute is lost: %q, %v", value[:n], err)
	}
	// What cannot be listed is reached all the same, and shut again.
	back := []apply.Step{{Path: "shut/f", Have: to["shut/f"].node(), Want: from["shut/f"].node()}}
	out = carry(t, root, back, from, opt)
	if out.Written != 1 {
		t.Errorf("%+v", out)
	}
	if info, err := os.Stat(filepath.Join(root, "shut")); err != nil || info.Mode().Perm() != 0o300 {
		t.Errorf("shut: %v, %v", info.Mode(), err)
	}
	must(t, os.Chmod(filepath.Join(root, "shut"), 0o755))
	to["shut"], to["shut/f"] = dir(0o755), file("1")
	same(t, root, to)
	for _, path := range []string{"ro", "ro/sub", "ro/new"} { // for the removal by the test's end
		must(t, os.Chmod(filepath.Join(root, path), 0o755))
	}
}

func TestTheOwnerOfAReplacedFileIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can give files away")
	}
	root := t.TempDir()
	world{"f": file("1")}.make(t, root)
	must(t, os.Chown(filepath.Join(root, "f"), 65534, 65533))
	must(t, os.Chmod(filepath.Join(root, "f"), 0o755|os.ModeSetuid))
	to := world{"f": fileMode(0o4755, "2")}
	run(t, root, plan(t, root, to, nil), to)
	same(t, root, to)
	if _, stats := read(t, root); stats["f"].UID != 65534 || stats["f"].GID != 65533 {
		t.Errorf("owner %d:%d", stats["f"].UID, stats["f"].GID)
	}
}

func TestAMountedFileIsAConflict(t *testing.T) {
	root := t.TempDir()
	world{"f": file("1"), "g": file("mounted"), "h": file("1")}.make(t, root)
	f, g := filepath.Join(root, "f"), filepath.Join(root, "g")
	mount(t, g, f, "", unix.MS_BIND, "")
	to := world{"f": file("2"), "g": file("mounted"), "h": file("2")}
	out := run(t, root, plan(t, root, to, nil), to)
	if len(out.Conflicts) != 1 || !errors.Is(out.Conflicts[0].Err, unix.EBUSY) || !strings.Contains(out.Conflicts[0].Reason, "mount point") {
		t.Errorf("%+v", out)
	}
	same(t, root, world{"f": file("mounted"), "g": file("mounted"), "h": file("2")})
}

func TestPipesAndSocketsAreNotTouched(t *testing.T) {
	root := t.TempDir()
	world{"f": file("1"), "d": dir(0o755)}.make(t, root)
	to := world{"f": file("2"), "new": file("2")}
	steps := plan(t, root, to, nil)
	for _, name := range []string{"f", "new", "d/p"} {
		must(t, os.RemoveAll(filepath.Join(root, name)))
		must(t, unix.Mkfifo(filepath.Join(root, name), 0o600))
	}
	out := run(t, root, steps, to)
	named(t, "Conflicts", out.Conflicts, "f", "new")
	named(t, "Kept", out.Kept, "d")
	for _, name := range []string{"f", "new", "d/p"} {
		if info, err := os.Lstat(filepath.Join(root, name)); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAGitDirectoryIsKnownByIdentity bind-mounts the .git under another name:
// an alias as only a file system can make them.
func TestAGitDirectoryIsKnownByIdentity(t *testing.T) {
	root := t.TempDir()
	w := world{".git": dir(0o755), ".git/hooks": dir(0o755), "alias": dir(0o755)}
	w.make(t, root)
	mount(t, filepath.Join(root, ".git"), filepath.Join(root, "alias"), "", unix.MS_BIND, "")
	evil := file("evil").node()
	steps := []apply.Step{{Path: "alias/hooks/post-checkout", Want: evil}, {Path: "alias/x", Want: evil},
		{Path: "alias", Have: dir(0o755).node(), Want: apply.Node{Mode: tree.Dir | 0o700}}}
	out := run(t, root, steps, world{"x": file("evil")})
	if len(out.Conflicts) != 3 {
		t.Errorf("%+v", out)
	}
	must(t, unix.Unmount(filepath.Join(root, "alias"), unix.MNT_DETACH))
	same(t, root, w)
}

// TestCaseOnlyRenames works in a directory in which the file system takes
// names that differ in case for one: all are so (make mac), or it can make one (ext4's
// casefold).
func TestCaseOnlyRenames(t *testing.T) {
	for _, folds := range []bool{false, true} {
		root := t.TempDir()
		if folds && !foldCase(t, root) {
			t.Skip("NOT TESTED: this file system cannot take README for readme")
		}
		from := world{"README": file("1"), "Dir": dir(0o755), "Dir/File": file("1"), "same": file("1")}
		to := world{"readme": file("1"), "dir": dir(0o755), "dir/file": file("2"), "same": file("1")}
		from.make(t, root)
		out := run(t, root, plan(t, root, to, nil), to)
		if len(out.Conflicts)+len(out.Kept) != 0 {
			t.Errorf("folds %v: %+v", folds, out)
		}
		same(t, root, to)
	}
}

// What is there under one of the names is what is wanted under the other, until the one
// is written.
func TestTwoFilesOfOneNameAreNamed(t *testing.T) {
	root := t.TempDir()
	folds := foldCase(t, root)
	from := world{"readme": file("upper"), "d": dir(0o755), "d/cafe\u0301": file("composed"), "other": file("1")}
	to := world{"README": file("upper"), "readme": file("lower"), "d": dir(0o755), "d/caf\u00e9": file("composed"), "d/cafe\u0301": file("decomposed"), "other": file("2")}
	from.make(t, root)
	out := run(t, root, plan(t, root, to, nil), to)
	if !folds {
		named(t, "of two files", out.Conflicts)
		same(t, root, to)
		return
	}
	named(t, "of one file", out.Conflicts, "README", "d/cafe\u0301", "d/caf\u00e9", "readme")
	for _, n := range out.Conflicts {
		if !strings.Contains(n.Reason, "for one") {
			t.Errorf("%s: %s", n.Path, n.Reason)
		}
	}
	if out.Written != 1 {
		t.Errorf("%d written", out.Written)
	}
}

// foldCase makes a directory ignore case, unless it does.
func foldCase(t *testing.T, root string) bool {
	must(t, os.WriteFile(filepath.Join(root, "case"), nil, 0o644))
	_, err := os.Lstat(filepath.Join(root, "CASE"))
	must(t, os.Remove(filepath.Join(root, "case")))
	if err == nil {
		return true
	}
	f, err := os.Open(root)
	must(t, err)
	defer f.Close()
	const casefold = 0x40000000 // FS_CASEFOLD_FL
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, casefold) == nil
}

// TestAFullDiskStopsTheRunAndReplayFinishesIt has a file system of its own
// that is too small, and then is not.
func TestAFullDiskStopsTheRunAndReplayFinishesIt(t *testing.T) {
	root := t.TempDir()
	mount(t, "tmpfs", root, "tmpfs", 0, "size=256k")
	from, to := world{"old": file("old")}, world{}
	for i := range 40 {
		from[fmt.Sprintf("f%02d", i)] = file("old")
		to[fmt.Sprintf("f%02d", i)] = file(strings.Repeat("new ", 5000))
	}
	from.make(t, root)
	steps := plan(t, root, to, nil)
	opt := &apply.Options{Alg: oid.SHA1, Key: "key"}
	out, err := apply.Apply(t.Context(), root, steps, shelve(to).source, opt)
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("%+v, %v", out, err)
	}
	got, _ := read(t, root)
	for path, i := range got {
		if i != from[path] && i != to[path] {
			t.Errorf("%q holds %.20q", path, i.data)
		}
	}
	must(t, unix.Mount("tmpfs", root, "tmpfs", unix.MS_REMOUNT, "size=4m"))
	opt.Replay = true
	out, err = apply.Apply(t.Context(), root, steps, shelve(to).source, opt)
	if err != nil || out.Written+out.Deleted != len(steps) {
		t.Errorf("%+v, %v", out, err)
	}
	same(t, root, to)
}

// mount mounts something until the test ends, or skips the test.
func mount(t *testing.T, from, at, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(from, at, kind, flags, data); err != nil {
		t.Skipf("SKIPPED: cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

func TestAFullFileSystemBelowTheRootIsAConflictOfItsPaths(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "small"), 0o755))
	mount(t, "tmpfs", filepath.Join(root, "small"), "tmpfs", 0, "size=128k")
	from := world{"a": file("old"), "z": file("old"), "small/f": file("old"), "gone": file("old")}
	to := world{"a": file("new"), "z": file("new"), "small/f": file(strings.Repeat("much", 50_000)), "small/d": dir(0o755), "small/d/g": file("little")}
	from.make(t, root)
	for i := range 20 { // there is no room for all of them at once beside the old ones
		path := fmt.Sprintf("small/%02d", i)
		must(t, os.WriteFile(filepath.Join(root, path), []byte("old"), 0o644))
		from[path], to[path] = file("old"), file("new")
	}
	to["small"], from["small"] = dir(0o755), dir(0o755)
	steps := plan(t, root, to, nil)
	out, err := apply.Apply(t.Context(), root, steps, shelve(to).source, &apply.Options{Alg: oid.SHA1, Key: "key"})
	if err != nil || len(out.Conflicts) != 1 || out.Conflicts[0].Path != "small/f" || !errors.Is(out.Conflicts[0].Err, unix.ENOSPC) {
		t.Fatalf("%+v, %v", out, err)
	}
	to["small/f"] = file("old")
	same(t, root, to)
}

func TestAReadOnlyMountBelowTheRootIsAConflictOfItsPaths(t *testing.T) {
	root := t.TempDir()
	from := world{"a": file("old"), "locked": dir(0o755), "locked/f": file("old"), "locked/gone": file("old"), "z": file("old")}
	to := world{"a": file("new"), "locked": dir(0o700), "locked/f": file("new"), "locked/more": file("new"), "z": file("new")}
	from.make(t, root)
	at := filepath.Join(root, "locked")
	mount(t, at, at, "", unix.MS_BIND, "") // the same file system as the root's
	must(t, unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	for _, replay := range []bool{false, true} {
		steps := plan(t, root, to, nil)
		out, err := apply.Apply(t.Context(), root, steps, shelve(to).source, &apply.Options{Alg: oid.SHA1, Key: "key", Replay: replay})
		if err != nil || len(out.Conflicts) != 4 {
			t.Fatalf("%+v, %v", out, err)
		}
		for _, c := range out.Conflicts {
			if !errors.Is(c.Err, unix.EROFS) {
				t.Errorf("%+v", c)
			}
		}
	}
	same(t, root, world{"a": file("new"), "locked": dir(0o755), "locked/f": file("old"), "locked/gone": file("old"), "z": file("new")})
}

// What no scan records lies where a plan expects nothing: it stays, and the
// conflict says what it is instead of that somebody changed it.
func TestAConflictSaysWhatWasInTheWayAllTheTime(t *testing.T) {
	root := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "unseen"), []byte("theirs"), 0o644))
	to := world{"pipe": file("p"), "unseen": file("u")}
	var steps []apply.Step
	for _, path := range []string{"pipe", "unseen"} {
		steps = append(steps, apply.Step{Path: path, Want: to[path].node()})
	}
	out := carry(t, root, steps, to, &apply.Options{Alg: oid.SHA1})
	want := map[string]string{"pipe": "a pipe, socket or device stands here", "unseen": "what is there was not recorded: it was left out, as a file that may not be read, or came since"}
	if len(out.Conflicts) != len(want) || out.Written > 0 {
		t.Fatalf("%+v", out)
	}
	for _, c := range out.Conflicts {
		if c.Reason != want[c.Path] {
			t.Errorf("%s: %s", c.Path, c.Reason)
		}
		if c.Path == "unseen" && !errors.Is(c.Err, apply.ErrChanged) {
			t.Errorf("%s is no conflict of a path that is not as the plan expects it: %v", c.Path, c.Err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(root, "unseen")); err != nil || string(got) != "theirs" {
		t.Errorf("%q %v", got, err)
	}
}
