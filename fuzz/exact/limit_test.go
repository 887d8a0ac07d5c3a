//go:build !windows

package exact

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asNobody is a world of a user without rights; skipped where the test cannot
// have two users.
func asNobody(t *testing.T) *world {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can run a program as another user")
	}
	w := newRepo(t)
	w.byNobody()
	return w
}

// oneSentence fails unless a command failed and said why in one line.
func (w *world) oneSentence(f finished, words ...string) {
	w.Helper()
	lines := strings.Count(f.errors, "\n")
	if f.code != 1 || lines != 1 || strings.Contains(f.errors, "goroutine") {
		w.Fatalf("exited with %d and said, in %d lines: %s", f.code, lines, f.errors)
	}
	for _, word := range words {
		if !strings.Contains(f.errors, word) {
			w.Errorf("the sentence does not say %q: %s", word, f.errors)
		}
	}
}

// TestAnUnreadableFileIsNamedAndKept checks that what the user may not read is
// skipped by name, that the snapshot is as good as it can be otherwise, and
// that a restore deletes nothing of it, readable by then or not.
func TestAnUnreadableFileIsNamedAndKept(t *testing.T) {
	t.Parallel()
	w := asNobody(t)
	w.write("secret.txt", "root's\n")
	w.write("closed/x.txt", "root's\n")
	w.write("list/x.txt", "root's\n") // a directory that may be entered but not listed
	w.write("own.txt", "closed by its owner\n")
	w.handOver()
	for path, perm := range map[string]os.FileMode{"secret.txt": 0o600, "closed": 0o700, "list": 0o711} {
		w.must(os.Chown(w.path(path), 0, 0))
		w.chmod(path, perm)
	}
	w.chmod("own.txt", 0o000)
	then := w.look()
	f := w.rewind("snapshot", "--json")
	if f.code != 5 || f.ID == "" {
		t.Fatalf("the snapshot exited with %d: %s", f.code, f.errors)
	}
	w.same("the snapshot named as skipped", pathsOf(f.Skipped), []string{"closed", "list", "own.txt", "secret.txt"})
	for _, s := range f.Skipped {
		if !strings.Contains(s.Reason, "denied") {
			t.Errorf("%s: %s", s.path(), s.Reason)
		}
	}
	churn(w)
	w.giveUp("secret.txt", "closed", "list")
	w.write("secret.txt", "now readable\n")
	w.chmod("own.txt", 0o644)
	now := w.look()
	o := w.restore(f.ID)
	want := state{files: then.files.With(now.files, "secret.txt", "closed", "list", "own.txt"), git: now.git, outside: now.outside}
	w.is("restore", want)
	w.same("the restore named as kept", o.kept, []string{"closed", "list", "own.txt", "secret.txt"})
	w.undo()
	w.is("undo", now)
}

// TestAPlanNamesWhatCannotBeRecordedFirst checks that a dry run says of a file that the
// user may no longer read what the restore says: it is in the way, and stays.
func TestAPlanNamesWhatCannotBeRecordedFirst(t *testing.T) {
	t.Parallel()
	w := asNobody(t)
	w.write("f", "one\n")
	w.handOver()
	first := w.rewind("snapshot", "--json")
	w.write("f", "two\n")
	w.handOver()
	w.chmod("f", 0o000)
	now := w.look()
	for _, how := range []string{"--dry-run", "--yes"} {
		f := w.rewind("restore", how, "--json", first.ID)
		if f.code != 5 || len(f.Conflicts) != 1 || f.Conflicts[0].path() != "f" || !strings.Contains(f.Conflicts[0].Reason, "denied") {
			t.Errorf("restore %s exited with %d: %v %s", how, f.code, f.Conflicts, f.errors)
		}
		w.is("restore "+how, now)
	}
}

// giveUp lets the user have what was root's alone.
func (w *world) giveUp(paths ...string) {
	w.Helper()
	for _, path := range paths {
		w.must(os.Chown(w.path(path), w.user, w.user))
		if info, err := os.Stat(w.path(path)); err == nil && info.IsDir() {
			w.chmod(path, 0o755)
		}
	}
	w.handOver()
}

// TestAnUnwritableDirectoryIsAConflict checks that a restore which may not
// write somewhere says so, does all the rest, and loses nothing.
func TestAnUnwritableDirectoryIsAConflict(t *testing.T) {
	t.Parallel()
	w := asNobody(t)
	w.write("theirs/x.txt", "then\n")
	w.write("theirs/gone.txt", "then\n")
	w.handOver()
	then := w.look()
	id, _ := w.snapshot()
	churn(w)
	w.write("theirs/x.txt", "now\n")
	w.remove("theirs/gone.txt")
	w.handOver()
	w.must(os.Chown(w.path("theirs"), 0, 0))
	now := w.look()
	f := w.rewind("restore", id, "--yes", "--json")
	if f.code != 5 {
		t.Fatalf("the restore exited with %d: %s", f.code, f.errors)
	}
	w.same("the restore named as conflicts", pathsOf(f.Conflicts), []string{"theirs/gone.txt", "theirs/x.txt"})
	w.is("restore", state{files: then.files.With(now.files, "theirs"), git: now.git, outside: now.outside})
	w.clean("undo", w.undo())
	w.is("undo", now)
}

// TestAReadOnlyGitDirectoryIsOneSentence holds it for who may not write there.
func TestAReadOnlyGitDirectoryIsOneSentence(t *testing.T) {
	t.Parallel()
	w := asNobody(t)
	w.chmod(".git", 0o555)
	before := w.look()
	w.oneSentence(w.rewind("snapshot", "--json"), "permission denied")
	w.untouched("snapshot", before)
	w.chmod(".git", 0o755)
	id, _ := w.snapshot()
	churn(w)
	w.handOver()
	now := w.look()
	for _, path := range []string{".git/rewind/store.db", ".git/rewind"} {
		w.must(os.Chown(w.path(path), 0, 0))
		w.chmod(path, 0o755)
	}
	if f := w.rewind("restore", id, "--yes"); f.code == 0 || !strings.Contains(f.errors, ".git/rewind") {
		w.Errorf("with a store of somebody else restore exited with %d and said %s", f.code, f.errors)
	}
	w.untouched("restore", now)
}

// TestAFullDiskIsOneSentenceAndNoLoss fills the file system before a snapshot
// and before a restore: each says so, nothing is lost, and with space again
// all is as it should be.
func TestAFullDiskIsOneSentenceAndNoLoss(t *testing.T) {
	w := newWorld(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=24m,mode=755", "none", w.root).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no file system can be mounted: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", w.root).Run() })
	usual(w)
	w.write(".gitignore", "fill\n")
	for i := range 40 {
		w.write(fmt.Sprintf("data/%d", i), noise(100<<10, uint64(i+1)))
	}
	before := w.look()
	w.fill(1 << 20)
	w.oneSentence(w.rewind("snapshot", "--json"), "no space")
	w.remove("fill")
	w.untouched("the failed snapshot", before)
	id, _ := w.snapshot()
	then := w.look()

	w.remove("data")
	now := w.look()
	for _, left := range []int64{0, 300 << 10, 2 << 20} { // before, and in the middle
		w.fill(left)
		w.oneSentence(w.rewind("restore", id, "--yes"), "no space")
		w.remove("fill")
		w.snapshot() // finishes what was begun
		if got := w.look(); now.files.Differs(got.files) != "" {
			w.is("the command after the restore that failed", then)
			w.clean("undo", w.undo())
			w.is("undo", now)
		}
	}
	w.clean("restore", w.restore(id))
	w.is("restore", then)
	w.sound()
}

// fill leaves only so much space on the worktree's file system.
func (w *world) fill(left int64) {
	w.Helper()
	f, err := os.Create(filepath.Join(w.root, "fill"))
	w.must(err)
	defer f.Close()
	block := make([]byte, 64<<10)
	size := int64(0)
	for {
		n, err := f.Write(block)
		size += int64(n)
		if err != nil {
			break
		}
	}
	w.must(f.Truncate(max(size-left, 0)))
}
