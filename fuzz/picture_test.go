//go:build linux

package fuzz

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A picture is a directory byte for byte: every path but those of git, with
// kind, permissions and bytes.
type picture map[string]string

func (w *world) picture(dir string) picture {
	p := picture{}
	w.must(filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
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
	}))
	return p
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
