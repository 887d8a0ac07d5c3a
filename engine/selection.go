package engine

import (
	"fmt"
	"path"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// A selection limits an operation to some paths: each pattern is a path, a
// directory (everything below it), or a glob with the rules of gitignore(5):
// one without a slash matches a name in any directory, `**` any directories.
type selection struct {
	texts []string
	globs []*wildmatch.Pattern // nil where the text has no glob character
}

func newSelection(opt *RestoreOptions) (*selection, error) {
	s := new(selection)
	if opt == nil {
		return s, nil
	}
	for _, text := range opt.Paths {
		clean := path.Clean(text)
		if text == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, fmt.Errorf("%w: path %q is outside the worktree", ErrRefused, text)
		}
		var glob *wildmatch.Pattern
		if strings.ContainsAny(clean, "*?[\\") {
			glob = wildmatch.Compile(clean, wildmatch.Exact)
		}
		s.texts = append(s.texts, clean)
		s.globs = append(s.globs, glob)
	}
	return s, nil
}

// match reports whether the path is selected. The empty selection selects all.
func (s *selection) match(p string) bool {
	if len(s.texts) == 0 {
		return true
	}
	for i, text := range s.texts {
		if text == "." || p == text || strings.HasPrefix(p, text+"/") {
			return true
		}
		for at := p; s.globs[i] != nil && at != ""; at = parent(at) {
			subject := at
			if !strings.Contains(text, "/") {
				subject = path.Base(at)
			}
			if s.globs[i].Match([]byte(subject)) {
				return true
			}
		}
	}
	return false
}

// patterns returns the selection as an operation records it.
func (s *selection) patterns() []Path {
	var out []Path
	for _, text := range s.texts {
		out = append(out, Path(text))
	}
	return out
}
