package ignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// names are the components of which random trees and patterns are made: few
// enough that patterns meet names, odd enough to be of interest.
var names = []string{
	"a", "b", "c", "A", "B", "ab", "abc", "aB", "foo", "foo.o", "x.c", "x.o", "Makefile", "a.tar.gz",
	"a b", " a", "a ", "a  ", "[a]", "*", "?", "\\", "\\a", "!a", "#a", "a\\ ", "é", "\xff", "\xc3", "a\nb",
	"a\"b", "a\tb", "\t", "a\r", "-", "**", "]", "^", "a-c", ":a", "~", "{a}", ".a", "a.", "Z", "_", "1", "@", "'",
}

// pieces are what random patterns are made of besides names.
var pieces = []string{
	"*", "*", "*", "**", "**", "/", "/", "/", "/", "/**", "**/", "/**/", "?", "***", "\\", "\\*", "\\?", "\\a", "\\A", "\\/", "\\[", "\\\\",
	"[a]", "[ab]", "[!a]", "[^a]", "[a-c]", "[A-C]", "[!A-c]", "[]a]", "[!]a]", "[]-a]", "[a-]", "[--0]", "[a", "[", "[]", "[!]", "[a-",
	"[[:alpha:]]", "[[:upper:]]", "[[:lower:]]", "[![:space:]]", "[[:foo:]]", "[[:alpha:]", "[[:]", "[:alpha:]", "[[:punct:]x]", "[[:cntrl:]]",
	"[[:digit:][:upper:]]", "[\\]]", "[\\a-\\c]", "[\\A]", "[A]", "[a/b]", "[/]", "[!/]", "[.-0]", "[+--]", "[Z-a]", "[\x80-\xff]", "[!\xff]",
	" ", "\\ ", "\t", "\r", "!", "#", "\xff", "a", "b", "A", ".", ".*", "*.", "*.o",
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func randomPattern(r *rand.Rand) string {
	var s strings.Builder
	if r.IntN(5) == 0 {
		s.WriteByte('!')
	}
	if r.IntN(6) == 0 {
		s.WriteByte('/')
	}
	for range 1 + r.IntN(4) {
		if r.IntN(2) == 0 {
			s.WriteString(pick(r, names))
		} else {
			s.WriteString(pick(r, pieces))
		}
		if r.IntN(4) == 0 {
			s.WriteByte('/')
		}
	}
	if r.IntN(8) == 0 {
		s.WriteByte('/')
	}
	for r.IntN(6) == 0 {
		s.WriteString(pick(r, []string{" ", "\t", "\\ ", "\\", "\r", "\x00x"}))
	}
	return s.String()
}

func randomFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	if r.IntN(10) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for n := 1 + r.IntN(6); n > 0; n-- {
		b.WriteString(randomPattern(r))
		if n > 1 || r.IntN(3) > 0 {
			b.WriteString(pick(r, []string{"\n", "\n", "\n", "\r\n", "\n\n", "\n#c\n", "\n\xef\xbb\xbf"}))
		}
	}
	return b.Bytes()
}

// A forest is a random tree of directories with ignore files, and questions.
type forest struct {
	dirs    []string          // relative, parents first; "" is the root
	files   map[string][]byte // ignore file by directory
	exclude []byte
	global  []byte
	fold    bool
	asked   []string
}

func randomForest(r *rand.Rand, questions int) *forest {
	t := &forest{dirs: []string{""}, files: map[string][]byte{}, fold: r.IntN(4) == 0}
	seen := map[string]bool{"": true}
	for range 25 {
		dir := strings.TrimPrefix(pick(r, t.dirs)+"/"+pick(r, names), "/")
		if key := gittest.Folded(dir); !seen[key] && gittest.Nameable(dir) && strings.Count(dir, "/") < 5 {
			seen[key] = true
			t.dirs = append(t.dirs, dir)
		}
	}
	t.files[""] = randomFile(r)
	for range r.IntN(6) {
		t.files[pick(r, t.dirs)] = randomFile(r)
	}
	if r.IntN(3) == 0 {
		t.exclude = randomFile(r)
	}
	if r.IntN(3) == 0 {
		t.global = randomFile(r)
	}
	t.asked = append(t.asked, t.dirs[1:]...)
	for len(t.asked) < questions {
		name := strings.TrimPrefix(pick(r, t.dirs)+"/"+pick(r, names), "/")
		if r.IntN(3) == 0 {
			name += pick(r, names)
		}
		t.asked = append(t.asked, name)
	}
	return t
}

// git answers the questions with git check-ignore. Only directories exist:
// what does not exist is not a directory, which is all git wants to know.
func (t *forest) git(tb testing.TB) []ignore.Verdict {
	r := gittest.New(tb)
	for _, d := range t.dirs {
		if err := os.MkdirAll(r.Path(d), 0o777); err != nil {
			tb.Fatal(err)
		}
	}
	for d, text := range t.files {
		r.Write(d+"/.gitignore", string(text))
	}
	r.Write(".git/info/exclude", string(t.exclude))
	r.Write(".git/global", string(t.global))
	out, err := r.Ask("./"+strings.Join(t.asked, "\x00./")+"\x00",
		"-c", "core.ignoreCase="+strconv.FormatBool(t.fold), "-c", "core.excludesFile=.git/global",
		"check-ignore", "--stdin", "--no-index", "-v", "-n", "-z")
	if err != nil && out == "" { // it ends with 1 where nothing matched
		tb.Fatal(err)
	}
	os.RemoveAll(r.Dir)
	fields := strings.Split(out, "\x00")
	var got []ignore.Verdict
	for i := 0; i+3 < len(fields); i += 4 {
		switch {
		case fields[i] == "":
			got = append(got, ignore.None)
		case fields[i+2][0] == '!':
			got = append(got, ignore.Included)
		default:
			got = append(got, ignore.Ignored)
		}
	}
	if len(got) != len(t.asked) {
		tb.Fatalf("git answered %d of %d questions", len(got), len(t.asked))
	}
	return got
}

// ours answers them as a walk does, one chain a directory.
func (t *forest) ours() []ignore.Verdict {
	opt := &ignore.Options{FoldCase: t.fold}
	isDir := map[string]bool{}
	chains := map[string]*ignore.Chain{} // without the ignored directories
	for _, d := range t.dirs {
		isDir[d] = true
		up, name := split(d)
		c := ignore.NewChain(ignore.Parse(t.global, opt), ignore.Parse(t.exclude, opt))
		if d != "" {
			if chains[up] == nil || chains[up].Match(name, true) == ignore.Ignored {
				continue
			}
			c = chains[up].Enter(name)
		}
		chains[d] = c.With(ignore.Parse(t.files[d], opt))
	}
	var got []ignore.Verdict
	for _, path := range t.asked {
		up, name := split(path)
		if chains[up] == nil {
			got = append(got, ignore.Ignored)
			continue
		}
		got = append(got, chains[up].Match(name, isDir[path]))
	}
	return got
}

func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func (t *forest) String() string {
	return fmt.Sprintf("files %q exclude %q global %q fold %v", t.files, t.exclude, t.global, t.fold)
}

func (t *forest) compare(tb testing.TB, seed uint64) [3]int {
	want, got := t.git(tb), t.ours()
	var tally [3]int
	own := func(dir string) *ignore.File {
		return ignore.Parse(t.files[dir], &ignore.Options{FoldCase: t.fold})
	}
	opt := &ignore.Options{FoldCase: t.fold}
	root := ignore.NewChain(ignore.Parse(t.global, opt), ignore.Parse(t.exclude, opt))
	for i, path := range t.asked {
		tally[want[i]]++
		if want[i] != got[i] {
			tb.Fatalf("seed %d: %q: git says %d, we say %d\n%v", seed, path, want[i], got[i], t)
		}
		if i >= 100 { // the whole-path decision costs a parse a directory
			continue
		}
		isDir := slices.Contains(t.dirs, path)
		if root.Ignored(path, isDir, own) != (want[i] == ignore.Ignored) {
			tb.Fatalf("seed %d: %q: git says %d, Ignored says otherwise\n%v", seed, path, want[i], t)
		}
	}
	return tally
}

// TestDecisionsAreGits compares random rules over random trees with git.
func TestDecisionsAreGits(t *testing.T) {
	const questions = 2000
	n := seed.Times(40_000)
	first := seed.Of(t)
	var tally [3]int
	// Twenty forests may have next to nothing that is included again.
	for i := 0; (i < n/questions || slices.Min(tally[:]) < 100 && i < 10*n/questions) && !t.Failed(); i++ {
		seed := first + uint64(i)
		for v, n := range randomForest(rand.New(rand.NewPCG(seed, 1)), questions).compare(t, seed) {
			tally[v] += n
		}
	}
	t.Logf("none, ignored, included: %d", tally)
	for v, n := range tally {
		if n < 100 {
			t.Errorf("verdict %d came up only %d times: the test tests nothing", v, n)
		}
	}
}
