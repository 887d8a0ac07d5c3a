//go:build !windows

// Package kit has what the tests of the whole program share: the program itself, and
// pictures of directories.
package kit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Run builds the program, runs the tests and returns the code to exit with.
func Run(m *testing.M, program *string) int {
	syscall.Umask(0o022)
	dir, err := os.MkdirTemp("", "rewind-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	_ = os.Chmod(dir, 0o755) // other users run it too
	*program = filepath.Join(dir, "rewind")
	build := exec.Command("go", "build", "-o", *program, "github.com/seed-82afce7a/rewind/cmd/rewind")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as `make build` makes it
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A Picture is what lies below a directory: path → type, permissions, and the bytes or the
// target of a link, as a text.
type Picture map[string]string

// Git reports whether a path is called ".git".
func Git(rel string) bool { return filepath.Base(rel) == ".git" }

// Look takes a picture, without what leave says yes to and all below that.
func Look(root string, leave func(rel string) bool) (Picture, error) {
	p := Picture{}
	return p, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
		p[rel], err = Line(path)
		return err
	})
}

// longest is what a line has of the bytes of a file; of more it has a digest.
const longest = 1 << 20

// Line describes one path.
func Line(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	text, more := info.Mode().String(), ""
	switch {
	case info.Mode().IsRegular():
		var data []byte
		if data, err = os.ReadFile(path); len(data) > longest {
			more = fmt.Sprintf(" %d bytes, %x", len(data), sha256.Sum256(data))
		} else {
			more = " " + string(data)
		}
	case info.Mode()&fs.ModeSymlink != 0:
		more, err = os.Readlink(path)
		more = " " + more
	}
	return text + more, err
}

// Digest sums up a picture.
func (p Picture) Digest() string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(h, "%q %q\n", path, p[path])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Differs says where another picture differs, "" if nowhere.
func (p Picture) Differs(other Picture) string {
	var out []string
	for path, what := range p {
		if have, ok := other[path]; !ok {
			out = append(out, fmt.Sprintf("%q is missing (%.60q)", path, what))
		} else if have != what {
			out = append(out, fmt.Sprintf("%q is %.60q, not %.60q", path, have, what))
		}
	}
	for path, what := range other {
		if _, ok := p[path]; !ok {
			out = append(out, fmt.Sprintf("%q is too much (%.60q)", path, what))
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 12)], "\n  ")
}

// Without is the picture without these paths and all below them.
func (p Picture) Without(paths ...string) Picture {
	out := maps.Clone(p)
	maps.DeleteFunc(out, func(path, _ string) bool { return covered(path, paths) })
	return out
}

// With is the picture with these paths, and all below them, as another picture has them.
func (p Picture) With(other Picture, paths ...string) Picture {
	out := p.Without(paths...)
	for path, line := range other {
		if covered(path, paths) {
			out[path] = line
		}
	}
	return out
}

func covered(path string, by []string) bool {
	return slices.ContainsFunc(by, func(top string) bool { return path == top || strings.HasPrefix(path, top+"/") })
}
