//go:build !windows

package exact

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/fuzz/internal/kit"
)

type picture = kit.Picture

// pictureOf looks at everything below a directory. A path that leave says yes
// to is left out with all below it.
func pictureOf(t testing.TB, root string, leave func(rel string) bool) picture {
	t.Helper()
	p, err := kit.Look(root, leave)
	if err != nil {
		t.Fatalf("picture of %s: %v", root, err)
	}
	return p
}

// worktreePicture is all that a restore is about: everything but what git
// itself keeps, also in nested repositories and submodules.
func worktreePicture(t testing.TB, root string) picture {
	t.Helper()
	return pictureOf(t, root, kit.Git)
}

// gitPicture is all of what git keeps and nobody but git may change: HEAD,
// refs, the index, configuration, hooks, logs; the same of nested repositories
// and submodules. Objects are left out, for they are only added to, and so is
// what is ours: the store and the one ref.
func gitPicture(t testing.TB, root string) picture {
	t.Helper()
	all := picture{}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != ".git" {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if !d.IsDir() {
			all[rel], err = kit.Line(path)
			return err
		}
		for name, line := range pictureOf(t, path, ours) {
			all[filepath.Join(rel, name)] = line
		}
		return fs.SkipDir
	})
	return all
}

// ours reports whether a path in a git directory is not git's alone.
func ours(rel string) bool {
	for _, part := range []string{"objects", "rewind", "refs/pi-rewind", "logs/refs/pi-rewind"} {
		if rel == part || strings.HasSuffix(rel, "/"+part) {
			return true
		}
	}
	return false
}
