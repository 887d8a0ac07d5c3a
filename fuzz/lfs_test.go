//go:build linux

package fuzz

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// lfs makes a repository with Git LFS as `git lfs install` sets it up. Required
// is git-lfs's own setting.
func lfs(t *testing.T, required string) *world {
	t.Helper()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Skip("SKIPPED: the program git-lfs is missing: Git LFS is not tried")
	}
	w := plain(t, kind{})
	w.git("lfs", "install", "--skip-smudge", "--skip-repo")
	w.git("lfs", "install", "--force", "--skip-repo")
	w.git("config", "--global", "filter.lfs.required", required)
	w.git("config", "lfs.repositoryformatversion", "0") // which git-lfs notes when it runs for the first time
	w.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
	w.reopen()
	return w
}

// TestFilesOfGitLFSAreInTheTreeAsGitHasThem uses the real git-lfs: new files,
// edited ones, large and empty ones, in a tree equal to git's; their bytes come
// back.
func TestFilesOfGitLFSAreInTheTreeAsGitHasThem(t *testing.T) {
	for _, required := range []string{"true", "false"} {
		w := lfs(t, required)
		w.write("a.bin", "the first\r\n\x00")
		w.write("d/empty.bin", "")
		w.write("d/large.bin", strings.Repeat("0123456789abcdef", 200_000))
		w.write("text", "not a file of git-lfs\n")
		s := w.keep()
		w.pointsTo(s, "a.bin", "d/large.bin")
		w.git("add", "-A")
		w.git("commit", "-qm", "all")
		w.settle()
		w.keep()
		w.write("a.bin", "edited")
		w.write("d/new.bin", "another")
		w.write("d/pointer.bin", w.git("cat-file", "blob", s.snap.Tree.String()+":a.bin")+"\n")
		w.settle()
		edited := w.keep()
		w.pointsTo(edited, "a.bin", "d/new.bin", "d/large.bin")
		w.must(os.Remove(w.path("d/large.bin")))
		w.settle()
		w.keep()
		w.taken = []taken{s, edited}
		for range 4 {
			w.travel()
		}
	}
}

// pointsTo checks that git's tree has pointers, not the bytes, and that nothing
// was skipped.
func (w *world) pointsTo(s taken, names ...string) {
	w.t.Helper()
	for _, name := range names {
		if got := w.git("cat-file", "blob", s.snap.Tree.String()+":"+name); !strings.HasPrefix(got, "version https://git-lfs.github.com/spec/v1\n") {
			w.fail("%q is %.100q in git's tree, which is no pointer of git-lfs", name, got)
		}
	}
	if len(s.snap.Skipped) > 0 {
		w.fail("skipped: %v", s.snap.Skipped)
	}
}
