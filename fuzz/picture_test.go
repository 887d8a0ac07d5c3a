//go:build linux

package fuzz

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
)

// A picture is a directory byte for byte: every path but those of git, with
// kind, permissions and bytes.
type picture map[string]string

func (w *world) picture(dir string) picture {
	w.t.Helper()
	p, err := look(dir)
	w.must(err)
	return p
}

func look(dir string) (picture, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	p := picture{}
	return p, filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, text := at[len(dir)+1:], info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			text += " " + string(data)
		case info.Mode().Type() == fs.ModeSymlink:
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			text += " " + to
		}
		p[rel] = text
		return nil
	})
}

// digest sums up a picture.
func (p picture) digest() string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(h, "%q %q\n", path, p[path])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// special reports whether a path is what no snapshot holds: a pipe, a socket or
// a device.
func (p picture) special(path string) bool {
	what := p[path]
	return what != "" && strings.ContainsRune("pSD", rune(what[0]))
}

// recordable leaves out what no snapshot holds.
func (p picture) recordable() picture {
	out := picture{}
	for path, what := range p {
		if !p.special(path) {
			out[path] = what
		}
	}
	return out
}

// differs says where two pictures differ, "" if nowhere.
func (p picture) differs(other picture) string {
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
