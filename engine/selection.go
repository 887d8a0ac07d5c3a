package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// A selection limits an operation to some paths; see [RestoreOptions].
type selection struct {
	items []selected
}

// A selected item is a path with all below it, or a glob.
type selected struct {
	text string
	glob *wildmatch.Pattern // nil: the text is a path
}

// globChars are what makes a text more than a path.
const globChars = `*?[\`

// The words before a path, in git's notation.
const (
	wordLiteral = "literal"
	wordGlob    = "glob"
	wordPrefix  = "prefix:"
)

// newSelection reads the paths of the options. Exists tells whether there is
// anything under a name that could also be a pattern: then it is that name.
func newSelection(opt *RestoreOptions, exists func(path string) (bool, error)) (*selection, error) {
	s := new(selection)
	if opt == nil {
		return s, nil
	}
	for _, text := range opt.Paths {
		t, err := readTyped(text)
		if err != nil {
			return nil, err
		}
		item, err := t.item(exists)
		if err != nil {
			return nil, err
		}
		s.items = append(s.items, item)
	}
	return s, nil
}

// typed is a text of a selection, taken apart.
type typed struct {
	word   string // wordLiteral, wordGlob, or "" for whichever it is
	path   string
	prefix int // so many bytes of the path are a directory, and no pattern
}

// readTyped reads the words before a path.
func readTyped(text string) (t typed, err error) {
	t.path = text
	words, rest, ok := strings.Cut(text, ")")
	if words, ok = cutOpening(words, ok); ok {
		t.path = rest
		for word := range strings.SplitSeq(words, ",") {
			digits, isPrefix := strings.CutPrefix(word, wordPrefix)
			n, bad := strconv.Atoi(digits)
			switch {
			case word == wordLiteral || word == wordGlob:
				t.word = word
			case isPrefix && bad == nil && n >= 0 && n <= len(rest):
				t.prefix = n
			default:
				return t, fmt.Errorf("%w: path %q: no such word before a path: %q (write :(literal)%s for this very name)", ErrRefused, text, word, text)
			}
		}
	}
	clean := path.Clean(t.path)
	if t.path == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return t, fmt.Errorf("%w: path %q is outside the worktree", ErrRefused, text)
	}
	if t.prefix > 0 && (t.path[t.prefix-1] != '/' || !strings.HasPrefix(clean, t.path[:t.prefix])) {
		return t, fmt.Errorf("%w: path %q is not a plain one", ErrRefused, text)
	}
	t.path = clean
	return t, nil
}

// cutOpening takes the ":(" from the words before a path, if there are any.
func cutOpening(words string, closed bool) (string, bool) {
	rest, ok := strings.CutPrefix(words, ":(")
	return rest, ok && closed
}

// item decides between the path and the pattern.
func (t typed) item(exists func(string) (bool, error)) (selected, error) {
	literal := selected{text: t.path}
	if t.word == wordLiteral || t.word == "" && !strings.ContainsAny(t.path[t.prefix:], globChars) {
		return literal, nil
	}
	if t.word == "" {
		if there, err := exists(t.path); there || err != nil {
			return literal, err
		}
	}
	glob := t.path[t.prefix:]
	if t.prefix > 0 && !strings.Contains(glob, "/") {
		glob = "**/" + glob // a name in any directory, from this one on
	}
	glob = quoteGlob(t.path[:t.prefix]) + glob
	return selected{text: glob, glob: wildmatch.Compile(glob, wildmatch.Exact)}, nil
}

// quoteGlob makes a pattern that matches a text alone.
func quoteGlob(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(globChars, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// everything reports whether the selection has no limits.
func (s *selection) everything() bool { return len(s.items) == 0 }

// match reports whether the path is selected. The empty selection selects all.
func (s *selection) match(p string) bool {
	return s.everything() || slices.ContainsFunc(s.items, func(i selected) bool { return i.match(p) })
}

func (i selected) match(p string) bool {
	if i.glob == nil {
		return i.text == "." || p == i.text || strings.HasPrefix(p, i.text+"/")
	}
	for at := p; at != ""; at = parent(at) {
		subject := at
		if !strings.Contains(i.text, "/") {
			subject = path.Base(at)
		}
		if i.glob.Match([]byte(subject)) {
			return true
		}
	}
	return false
}

// below reports whether something below a directory may be selected.
func (s *selection) below(dir string) bool {
	return slices.ContainsFunc(s.items, func(i selected) bool {
		return i.glob != nil || dir == "" || strings.HasPrefix(i.text, dir+"/")
	})
}

// and returns the selection with some more paths. What selects everything has
// them already.
func (s *selection) and(paths []string) *selection {
	if s.everything() {
		return s
	}
	out := &selection{items: slices.Clone(s.items)}
	for _, p := range paths {
		if !out.match(p) {
			out.items = append(out.items, selected{text: p})
		}
	}
	return out
}

// patterns returns the selection as an operation records it: what was decided
// between path and pattern holds for its undo, whatever exists then.
func (s *selection) patterns() []Path {
	var out []Path
	for _, i := range s.items {
		switch {
		case i.glob != nil:
			out = append(out, Path(":("+wordGlob+")"+i.text))
		case strings.ContainsAny(i.text, globChars) || strings.HasPrefix(i.text, ":("):
			out = append(out, Path(":("+wordLiteral+")"+i.text))
		default:
			out = append(out, Path(i.text))
		}
	}
	return out
}

// existsIn returns the function that tells whether one of the snapshots has a
// path, or the disk; a snapshot may be nil.
func (e *Engine) existsIn(ctx context.Context, snapshots ...*Snapshot) func(string) (bool, error) {
	return func(p string) (bool, error) {
		if _, ok := e.lstat(p); ok {
			return true, nil
		}
		for _, s := range snapshots {
			if s == nil {
				continue
			}
			n, ok, err := tree.Lookup(s.State(), p, e.alg, e.loader(ctx, nil))
			if ok || n.Git.Name != "" || err != nil {
				return ok || n.Git.Name != "", treeError(err)
			}
		}
		return false, nil
	}
}
