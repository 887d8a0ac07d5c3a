//go:build linux

package hostile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// gitFiles are what is read in git's directory, and in the places around it
// that belong to the user.
var gitFiles = []string{
	".git", ".git/HEAD", ".git/ORIG_HEAD", ".git/config", ".git/config.worktree", ".git/commondir", ".git/gitdir", ".git/index", ".git/packed-refs", ".git/shallow",
	".git/info", ".git/info/exclude", ".git/info/attributes", ".git/info/sparse-checkout", ".git/objects", ".git/objects/info/alternates", ".git/objects/info/commit-graph",
	".git/objects/pack", ".git/objects/pack/multi-pack-index", ".git/objects/pack/pack-1111111111111111111111111111111111111111.idx", ".git/refs", ".git/refs/heads/main", ".git/refs/pi-rewind/store",
	".git/refs/hidden/ref", ".git/refs/pi-checkpoints/one", ".git/logs/HEAD", ".git/logs/refs/pi-rewind/store", ".git/MERGE_HEAD", ".git/reftable", ".git/reftable/tables.list",
	"../config/git/config", "../config/git/ignore", "../config/git/attributes", "../config/rewind/config", "../home/.gitconfig",
}

// ownFiles are those of the program itself, and what comes beside them.
var ownFiles = []string{
	".git/rewind", ".git/rewind/store.db", ".git/rewind/store.db.lock", ".git/rewind/store.db.new", ".git/rewind/ref.held", ".git/rewind/ref.lock",
}

// treeFiles lie in the worktree.
var treeFiles = []string{
	".gitignore", ".gitattributes", ".gitmodules", "dir/.gitignore", "dir/.gitattributes", "dir/.git", "dir/.git/HEAD", "dir/.git/config", "dir/.git/index", "a", "dir", "new",
}

// impostors make something of a file that no reader of it expects.
var impostors = map[string]func(w *world, path string){
	"endless":  func(w *world, path string) { w.must(os.Symlink("/dev/zero", path)) },
	"terminal": func(w *world, path string) { w.must(os.Symlink("/dev/tty", path)) },
	"pipe":     func(w *world, path string) { w.must(syscall.Mkfifo(path, 0o644)) },
	"giant":    giant,
	"circle":   func(w *world, path string) { w.must(os.Symlink(path, path)) },
	"folder":   func(w *world, path string) { w.must(os.MkdirAll(filepath.Join(path, "x"), 0o755)) },
	"socket": func(w *world, path string) {
		w.must(syscall.Mknod(path, syscall.S_IFSOCK|0o644, 0))
	},
}

// giant makes a file of 8 TiB that takes no place on the disk.
func giant(w *world, path string) { hole(w, path, 8<<40) }

// recordedGiant makes one for the worktree, where each file is also recorded,
// as long as that takes: larger than every bound and than the memory a command
// may take, and small enough to be hashed.
func recordedGiant(w *world, path string) { hole(w, path, memoryMax+memoryMax/8) }

func hole(w *world, path string, size int64) {
	w.Helper()
	f, err := os.Create(path)
	w.must(err)
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		w.Skipf("SKIPPED: this file system has no file of %d bytes: %v", size, err)
	}
}

// replaced puts an impostor in a file's place.
func replaced(name string, impostor func(w *world, path string)) func(w *world) {
	return func(w *world) {
		path := w.at(name)
		w.must(os.RemoveAll(path))
		w.must(os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasPrefix(name, "dir/.git/") {
			w.git("init", "-q", "dir")
			w.must(os.RemoveAll(path))
		}
		if base, ok := strings.CutSuffix(name, ".idx"); ok {
			w.write(base+".pack", "PACK")
		}
		impostor(w, path)
	}
}

func TestNoFileOfGitIsWaitedForOrReadWithoutABound(t *testing.T) {
	all(t, impostorsOf(gitFiles))
}

func TestNoFileOfTheStoreIsWaitedForOrReadWithoutABound(t *testing.T) {
	all(t, impostorsOf(ownFiles))
}

func TestNoFileOfTheWorktreeIsWaitedForOrReadWithoutABound(t *testing.T) {
	kinds := impostorsOf(treeFiles)
	for _, name := range treeFiles {
		kinds[worldName(name, "giant")] = kind{make: replaced(name, recordedGiant), slow: true}
	}
	all(t, kinds)
}

func impostorsOf(files []string) map[string]kind {
	kinds := map[string]kind{}
	for _, name := range files {
		for what, impostor := range impostors {
			kinds[worldName(name, what)] = kind{make: replaced(name, impostor)}
		}
	}
	return kinds
}

func worldName(file, what string) string { return strings.ReplaceAll(file, "/", "_") + "/" + what }
