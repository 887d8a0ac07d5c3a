package attr_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

var names = []string{"a", "b", "A", "ab", "foo", "x.c", "x.o", "a b", " a", "[a]", "*", "\\", "!a", "#a", "é", "\xff", "a\nb", "a\"b", "a\tb", "-", "[attr]a", "a\r"}

var patterns = []string{
	"*", "*", "*.c", "*.[co]", "a", "A", "a*", "/a", "a/", "/a/*", "a/**", "**/a", "**", "**/b/*", "a/b", "b/**/x.c", "!a", "\\!a", "?", "[ab]*", "[", "\\",
	`"a b"`, `"a\tb"`, `"\303\251"`, `"\141"`, `"a\nb"`, `"a\"b"`, `"a b`, `"\q"`, `" a"`, `"*"text`, `"#a"`, "#a", "[attr]", `"[attr]a"`, "[[]attr]a", "\xff", "foo*/x.c",
}

var settings = []string{
	"text", "-text", "!text", "text=auto", "text=input", "text=", "text=x=y", "crlf", "-crlf", "!crlf", "crlf=input", "eol=lf", "eol=crlf", "-eol", "!eol",
	"ident", "-ident", "!ident", "filter=f", "-filter", "!filter", "filter=a=b", "working-tree-encoding=UTF-16", "!working-tree-encoding", "binary", "-binary", "!binary", "binary=x",
	"m", "m", "-m", "!m", "n", "-n", "m=v", "diff=cpp", "-merge", "linguist-x", "a.b_c-d", "-=x", "=y", "b@d", "--text", "-", "!",
}

func randomLine(r *rand.Rand) string {
	var s strings.Builder
	s.WriteString(pick(r, []string{"", "", "", " ", "\t", "\r"}))
	switch {
	case r.IntN(6) == 0:
		s.WriteString("[attr]" + pick(r, []string{"m", "n", "m", "text", "binary", " m", "-m", "m@", "eol"}))
	case r.IntN(20) == 0:
		s.WriteString(strings.Repeat("x", r.IntN(2)) + pick(r, patterns) + strings.Repeat(pick(r, []string{" ", "\t"}), 2030+r.IntN(20)))
	default:
		s.WriteString(pick(r, patterns))
	}
	for range r.IntN(5) {
		s.WriteString(pick(r, []string{" ", " ", " ", "  ", "\t", "\r"}))
		s.WriteString(pick(r, settings[:len(settings)-r.IntN(2)*6])) // half of the lines without bad names
	}
	s.WriteString(pick(r, []string{"", "", "", " ", "\r", "\t"}))
	return s.String()
}

func randomFile(r *rand.Rand) []byte {
	var b bytes.Buffer
	if r.IntN(10) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for n := 1 + r.IntN(7); n > 0; n-- {
		b.WriteString(randomLine(r))
		if n > 1 || r.IntN(3) > 0 {
			b.WriteString(pick(r, []string{"\n", "\n", "\n", "\r\n", "\n\n", "\n#c\n", "\n\xef\xbb\xbf"}))
		}
	}
	return b.Bytes()
}

// A forest is a random tree of directories with attributes files, and questions.
type forest struct {
	dirs         []string
	files        map[string][]byte
	info, global []byte
	fold         bool
	asked        []string
}

func randomForest(r *rand.Rand, questions int) *forest {
	t := &forest{dirs: []string{""}, files: map[string][]byte{}, fold: r.IntN(4) == 0}
	seen := map[string]bool{"": true}
	for range 10 {
		dir := strings.TrimPrefix(pick(r, t.dirs)+"/"+pick(r, names), "/")
		if key := gittest.Folded(dir); !seen[key] && gittest.Nameable(dir) {
			seen[key] = true
			t.dirs = append(t.dirs, dir)
		}
	}
	t.files[""] = randomFile(r)
	for range r.IntN(5) {
		t.files[pick(r, t.dirs)] = randomFile(r)
	}
	if r.IntN(3) == 0 {
		t.info = randomFile(r)
	}
	if r.IntN(3) == 0 {
		t.global = randomFile(r)
	}
	for len(t.asked) < questions {
		t.asked = append(t.asked, strings.TrimPrefix(pick(r, t.dirs)+"/"+pick(r, names), "/"))
	}
	return t
}

var asked = []string{"text", "crlf", "eol", "ident", "filter", "working-tree-encoding"}

func (t *forest) git(tb testing.TB) []string {
	r := gittest.New(tb)
	for _, d := range t.dirs {
		if err := os.MkdirAll(r.Path(d), 0o777); err != nil {
			tb.Fatal(err)
		}
	}
	for d, text := range t.files {
		r.Write(d+"/.gitattributes", string(text))
	}
	r.Write(".git/info/attributes", string(t.info))
	r.Write(".git/global", string(t.global))
	args := []string{"-c", "core.ignoreCase=" + strconv.FormatBool(t.fold), "-c", "core.attributesFile=.git/global", "check-attr", "--stdin", "-z"}
	out, err := r.Ask(strings.Join(t.asked, "\x00")+"\x00", append(args, asked...)...)
	if err != nil {
		tb.Fatal(err)
	}
	os.RemoveAll(r.Dir)
	fields := strings.Split(out, "\x00")
	var got []string
	for i := 0; i+3*len(asked) < len(fields)+2; i += 3 * len(asked) {
		var values []string
		for j := range asked {
			values = append(values, fields[i+3*j+2])
		}
		got = append(got, strings.Join(values, "|"))
	}
	if len(got) != len(t.asked) {
		tb.Fatalf("git answered %d of %d questions", len(got), len(t.asked))
	}
	return got
}

func (t *forest) ours(tb testing.TB) []string {
	opt := &attr.Options{FoldCase: t.fold}
	macros := &attr.Options{FoldCase: t.fold, Macros: true}
	chains := map[string]*attr.Chain{}
	for _, d := range t.dirs {
		if d == "" {
			chains[d] = attr.NewChain(attr.Parse(t.info, macros), attr.Parse(t.global, macros)).With(attr.Parse(t.files[d], macros))
			continue
		}
		up, name := split(d)
		chains[d] = chains[up].Enter(name).With(attr.Parse(t.files[d], opt))
	}
	var got []string
	for _, path := range t.asked {
		dir, name := split(path)
		a := chains[dir].Lookup(name)
		var values []string
		for _, v := range []attr.Value{a.Text, a.CRLF, a.EOL, a.Ident, a.Filter, a.Encoding} {
			values = append(values, say(v))
			if v.State != attr.Unspecified && v.State != attr.Unset && !chains[dir].Converts() {
				tb.Errorf("%q has %v where no rule converts", path, a)
			}
		}
		got = append(got, strings.Join(values, "|"))
	}
	return got
}

func say(v attr.Value) string {
	return [...]string{attr.Unspecified: "unspecified", attr.Set: "set", attr.Unset: "unset", attr.Valued: v.Text}[v.State]
}

func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func (t *forest) compare(tb testing.TB, seed uint64) (given int) {
	want, got := t.git(tb), t.ours(tb)
	for i, path := range t.asked {
		if want[i] != got[i] {
			tb.Fatalf("seed %d: %q: git says %q, we say %q\nfiles %q info %q global %q fold %v", seed, path, want[i], got[i], t.files, t.info, t.global, t.fold)
		}
		if strings.ReplaceAll(strings.ReplaceAll(want[i], "unspecified", ""), "|", "") != "" {
			given++
		}
	}
	return given
}

// TestAttributesAreGits compares random rules over random trees with git.
func TestAttributesAreGits(t *testing.T) {
	const questions = 400
	n := seed.Times(8_000)
	first := seed.Of(t)
	given := 0
	for i := 0; i < n/questions && !t.Failed(); i++ {
		seed := first + uint64(i)
		given += randomForest(rand.New(rand.NewPCG(seed, 1)), questions).compare(t, seed)
	}
	t.Logf("%d of %d files had attributes", given, n)
	if given < n/10 {
		t.Error("too few had any: the test tests nothing")
	}
}
