package plan

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// A Selection confines an operation to some paths. The empty one selects all.
type Selection struct {
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

// Select reads paths as a person types them: a path means itself and all below
// it. Exists tells whether there is anything under a name that could also be a
// pattern: then it is that name. Before a path ":(literal)" and ":(glob)" say
// which it is, and ":(prefix:N)" that its first N bytes are no pattern. A text that is no
// path below the worktree is refused.
func Select(paths []string, exists func(path string) (bool, error)) (*Selection, error) {
	s := new(Selection)
	for _, text := range paths {
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
				return t, fmt.Errorf("%w: path %q: no such word before a path: %q (write :(literal)%s for this very name)", records.ErrRefused, text, word, text)
			}
		}
	}
	clean := path.Clean(t.path)
	if t.path == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return t, fmt.Errorf("%w: path %q is outside the worktree", records.ErrRefused, text)
	}
	if t.prefix > 0 && (t.path[t.prefix-1] != '/' || !strings.HasPrefix(clean, t.path[:t.prefix])) {
		return t, fmt.Errorf("%w: path %q is not a plain one", records.ErrRefused, text)
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

// Everything reports whether the selection has no patterns, or names the worktree
// itself.
func (s *Selection) Everything() bool {
	return s.isEmpty() || slices.ContainsFunc(s.items, func(i selected) bool { return i.text == "." })
}

func (s *Selection) isEmpty() bool { return len(s.items) == 0 }

// Literal returns the selected paths that are no patterns, and whether they are all
// that is selected.
func (s *Selection) Literal() (paths []string, only bool) {
	only = !s.Everything()
	for _, i := range s.items {
		if i.glob == nil {
			paths = append(paths, i.text)
		} else {
			only = false
		}
	}
	return paths, only
}

// Match reports whether the path is selected.
func (s *Selection) Match(p string) bool {
	return s.isEmpty() || slices.ContainsFunc(s.items, func(i selected) bool { return i.match(p) })
}

func (i selected) match(p string) bool {
	if i.glob == nil {
		return i.text == "." || p == i.text || strings.HasPrefix(p, i.text+"/")
	}
	for at := p; at != ""; at = tree.Parent(at) {
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

// Below reports whether something below a directory may be selected.
func (s *Selection) Below(dir string) bool {
	return slices.ContainsFunc(s.items, func(i selected) bool {
		return i.glob != nil || dir == "" || strings.HasPrefix(i.text, dir+"/")
	})
}

// And returns the selection with some more paths. What selects everything has
// them already.
func (s *Selection) And(paths []string) *Selection {
	if s.isEmpty() {
		return s
	}
	out := &Selection{items: slices.Clone(s.items)}
	for _, p := range paths {
		if !out.Match(p) {
			out.items = append(out.items, selected{text: p})
		}
	}
	return out
}

// Patterns returns the selection in a form that [Select] reads as the same,
// whatever exists then.
func (s *Selection) Patterns() []string {
	var out []string
	for _, i := range s.items {
		switch {
		case i.glob != nil:
			out = append(out, ":("+wordGlob+")"+i.text)
		case strings.ContainsAny(i.text, globChars) || strings.HasPrefix(i.text, ":("):
			out = append(out, ":("+wordLiteral+")"+i.text)
		default:
			out = append(out, i.text)
		}
	}
	return out
}

// Unknown names the selected paths that none of the states has: mistyped, or
// ignored and never recorded. Of a glob nobody knows what it was to match.
func (s *Selection) Unknown(o Objects, states ...tree.State) (names []string, err error) {
	for _, item := range s.items {
		if item.glob != nil || item.text == "." {
			continue
		}
		found := false
		for _, state := range states {
			n, ok, err := tree.Lookup(state, item.text, o.Algorithm, o.Tree)
			if err != nil {
				return nil, err
			}
			found = found || ok || n.Git.Name != ""
		}
		if !found {
			names = append(names, item.text)
		}
	}
	return names, nil
}
