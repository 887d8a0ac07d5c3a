//go:build linux

package power

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A picture is what lies below a directory: path → type, permissions, and a
// digest of the bytes or the target of a link. What is called ".git" is left out.
type picture map[string]string

func pictureOf(root string) (picture, error) {
	p := picture{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		p[path[len(root)+1:]], err = lineOf(path)
		return err
	})
	return p, err
}

// lineOf describes one path.
func lineOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	perm := info.Mode().Perm()
	switch info.Mode().Type() {
	case 0:
		data, err := os.ReadFile(path)
		return fmt.Sprintf("file %o of %d bytes, %.8x", perm, len(data), sha256.Sum256(data)), err
	case fs.ModeDir:
		return fmt.Sprintf("directory %o", perm), nil
	case fs.ModeSymlink:
		to, err := os.Readlink(path)
		return "link to " + to, err
	default:
		return "", errors.New(path + " is of another kind")
	}
}

// without is the picture with one file less.
func (p picture) without(rel string) picture {
	p = maps.Clone(p)
	delete(p, rel)
	return p
}

// differs tells in which paths got is not p, or nothing.
func (p picture) differs(got picture) string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(p)) {
		switch there, found := got[path]; {
		case !found:
			out = append(out, path+": missing, was "+p[path])
		case there != p[path]:
			out = append(out, path+": "+there+", was "+p[path])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, wanted := p[path]; !wanted {
			out = append(out, path+": "+got[path]+", was not there")
		}
	}
	if more := len(out) - 5; more > 0 {
		out = append(out[:5], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}
