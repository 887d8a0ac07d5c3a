//go:build !windows

package exact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A picture is what lies below a directory: path → type, permissions and a
// digest of the bytes or the target, as one line.
type picture map[string]string

// pictureOf looks at everything below a directory. A path that leave says yes
// to is left out with all below it.
func pictureOf(t testing.TB, root string, leave func(rel string) bool) picture {
	t.Helper()
	p := picture{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		if leave != nil && leave(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		p[rel], err = lineOf(path)
		return err
	})
	if err != nil {
		t.Fatalf("picture of %s: %v", root, err)
	}
	return p
}

// lineOf describes one path.
func lineOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	mode := info.Mode()
	switch {
	case mode.IsRegular():
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%v %d %s", mode, len(data), digest(data)), nil
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		return "link " + target, err
	}
	return mode.String(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// worktreePicture is all that a restore is about: everything but what git
// itself keeps, also in nested repositories and submodules.
func worktreePicture(t testing.TB, root string) picture {
	t.Helper()
	return pictureOf(t, root, func(rel string) bool { return filepath.Base(rel) == ".git" })
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
			all[rel], err = lineOf(path)
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

// differences lists how two pictures differ, a line each.
func differences(got, want picture) string {
	var b strings.Builder
	const linesMax = 20
	for _, path := range slices.Sorted(maps.Keys(merged(got, want))) {
		if strings.Count(b.String(), "\n") == linesMax {
			b.WriteString("  …\n")
			break
		}
		g, there := got[path]
		w, wanted := want[path]
		switch {
		case !wanted:
			fmt.Fprintf(&b, "  too much: %q %s\n", path, g)
		case !there:
			fmt.Fprintf(&b, "  missing:  %q %s\n", path, w)
		case g != w:
			fmt.Fprintf(&b, "  differs:  %q is %s, want %s\n", path, g, w)
		}
	}
	return b.String()
}

func merged(a, b picture) picture {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// with returns the picture with these paths, and all below them, as another
// picture has them.
func (p picture) with(other picture, paths ...string) picture {
	out := p.without(paths...)
	for path, line := range other {
		if slices.ContainsFunc(paths, func(top string) bool { return covers(top, path) }) {
			out[path] = line
		}
	}
	return out
}

// without returns the picture without these paths and all below them.
func (p picture) without(paths ...string) picture {
	out := maps.Clone(p)
	maps.DeleteFunc(out, func(path, _ string) bool {
		return slices.ContainsFunc(paths, func(top string) bool { return covers(top, path) })
	})
	return out
}

func covers(top, path string) bool { return path == top || strings.HasPrefix(path, top+"/") }
