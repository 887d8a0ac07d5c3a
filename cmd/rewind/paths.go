package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The words that may stand before a path.
const (
	wordLiteral = ":(literal)"
	wordGlob    = ":(glob)"
)

// inside turns paths as typed into paths below the worktree. An empty one is
// a variable that a script forgot to set: it does not mean everything.
func (a *app) inside(paths []string) ([]string, error) {
	base, err := a.absolute(".")
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	var out []string
	for _, p := range paths {
		inner, err := insideOne(a.engine.Root(), base, p)
		if err != nil {
			return nil, err
		}
		out = append(out, inner)
	}
	return out, nil
}

// named turns the PATH of ID:PATH into one below the worktree: relative to the
// current directory as every PATH, or behind a slash to the worktree, unless it is
// that of a place in it. It is never a pattern.
func (a *app) named(path string) (string, error) {
	root := a.engine.Root()
	if rest, ok := strings.CutPrefix(path, "/"); ok && path != root && !strings.HasPrefix(path, root+"/") {
		path = filepath.Join(root, rest)
	}
	if path != "" {
		path = wordLiteral + path
	}
	list, err := a.inside([]string{path})
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(list[0], wordLiteral), nil
}

// absolute returns the place of a path that is relative to the directory of -C.
func (a *app) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	base, err := filepath.Abs(a.dir)
	return filepath.Join(base, path), err
}

// insideOne turns one path, relative to the directory base, into one that is
// relative to root. Only what was typed can be a pattern: a directory on the
// way to it whose name has glob characters is none.
func insideOne(root, base, text string) (string, error) {
	word, typed := "", text
	for _, w := range []string{wordLiteral, wordGlob} {
		if rest, ok := strings.CutPrefix(text, w); ok {
			word, typed = w, rest
		}
	}
	switch {
	case typed == "":
		return "", usagef("a path is empty; write . for everything below the current directory")
	case word == "" && strings.HasPrefix(typed, ":("):
		return "", usagef("path %q: write %s%s for this very name", text, wordLiteral, text)
	}
	abs, way := belowRoot(root, typed), root
	if !filepath.IsAbs(typed) {
		abs, way = filepath.Join(base, typed), base
		for _, part := range strings.Split(filepath.ToSlash(filepath.Clean(typed)), "/") {
			if part == ".." {
				way = filepath.Dir(way)
			}
		}
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", usagef("path %q is outside the worktree %s", typed, root)
	}
	path := filepath.ToSlash(rel)
	prefix := 0
	if above, err := filepath.Rel(root, way); err == nil && above != "." && strings.HasPrefix(path, filepath.ToSlash(above)+"/") {
		prefix = len(above) + 1
	}
	switch {
	case word == wordGlob:
		return fmt.Sprintf(":(glob,prefix:%d)%s", prefix, path), nil
	case word == wordLiteral || !hasGlob(typed):
		return wordLiteral + path, nil
	}
	return fmt.Sprintf(":(prefix:%d)%s", prefix, path), nil
}

// belowRoot returns an absolute path as one that begins with the name of root,
// also if it leads there by another name: through a symbolic link.
func belowRoot(root, path string) string {
	there, err := os.Stat(root)
	if err != nil {
		return path
	}
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, there) {
			return root + strings.TrimPrefix(filepath.Clean(path), at)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// hasGlob reports whether a text could be a pattern.
func hasGlob(text string) bool { return strings.ContainsAny(text, `*?[\`) }
