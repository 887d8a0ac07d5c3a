package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// Inside turns paths as typed into paths below the worktree. An empty one is
// a variable that a script forgot to set: it does not mean everything.
func (a *App) Inside(paths []string) ([]string, error) {
	base, err := a.Absolute(".")
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	var out []string
	for _, p := range paths {
		inner, err := insideOne(a.Engine.Root(), base, p)
		if err != nil {
			return nil, err
		}
		out = append(out, inner)
	}
	return out, nil
}

// Named turns the PATH of ID:PATH into one below the worktree: relative to the
// current directory as every PATH, or behind a slash to the worktree, unless it is
// that of a place in it. It is never a pattern.
func (a *App) Named(path string) (string, error) {
	root := a.Engine.Root()
	if rest, ok := strings.CutPrefix(path, "/"); ok && path != root && !strings.HasPrefix(path, root+"/") {
		path = filepath.Join(root, rest)
	}
	if path != "" {
		path = show.Literal + path
	}
	list, err := a.Inside([]string{path})
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(list[0], show.Literal), nil
}

// Absolute returns the place of a path that is relative to the directory of -C.
func (a *App) Absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	base, err := filepath.Abs(a.Dir)
	return filepath.Join(base, path), err
}

// insideOne turns one path, relative to the directory base, into one that is
// relative to root. Only what was typed can be a pattern: a directory on the
// way to it whose name has glob characters is none.
func insideOne(root, base, text string) (string, error) {
	word, typed := "", text
	for _, w := range []string{show.Literal, show.Glob} {
		if rest, ok := strings.CutPrefix(text, w); ok {
			word, typed = w, rest
		}
	}
	switch {
	case typed == "":
		return "", exit.Usagef("a path is empty; write . for everything below the current directory")
	case word == "" && strings.HasPrefix(typed, ":("):
		return "", exit.Usagef("path %q: write %s%s for this very name", text, show.Literal, text)
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
		return "", exit.Usagef("path %q is outside the worktree %s", typed, root)
	}
	path := filepath.ToSlash(rel)
	prefix := 0
	if above, err := filepath.Rel(root, way); err == nil && above != "." && strings.HasPrefix(path, filepath.ToSlash(above)+"/") {
		prefix = len(above) + 1
	}
	switch {
	case word == show.Glob:
		return fmt.Sprintf(":(glob,prefix:%d)%s", prefix, path), nil
	case word == show.Literal || !HasGlob(typed):
		return show.Literal + path, nil
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

// HasGlob reports whether a text could be a pattern.
func HasGlob(text string) bool { return strings.ContainsAny(text, `*?[\`) }

// CutID separates ID:PATH. Some kinds of names have a colon of their own: a time has
// it in its braces, the others one at their beginning and no more.
func CutID(text string) (id, path string, ok bool) {
	if name := ownColon().FindString(text); name != "" {
		return name[:len(name)-1], text[len(name):], true
	}
	return strings.Cut(text, ":")
}

var ownColon = Pattern(`^(@\{[^}]*\}|(undo|prompt|label|pin|):[^:]+):`)

// Pattern compiles an expression when it is first needed: whatever a program makes
// beforehand, each start of it takes longer.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// SnapshotOf finds a snapshot. Who typed a file where an id belongs is told how
// to name it.
func (a *App) SnapshotOf(ctx context.Context, e *engine.Engine, id string) (*engine.Snapshot, error) {
	s, err := e.Find(ctx, id)
	if !errors.Is(err, engine.ErrNoSnapshot) || id == "" {
		return s, err
	}
	if path, absErr := a.Absolute(id); absErr == nil {
		if _, statErr := os.Lstat(path); statErr == nil {
			return nil, fmt.Errorf("%w; paths stand behind --, as in: rewind %s @ -- %s", err, a.Verb, id)
		}
	}
	return nil, err
}
