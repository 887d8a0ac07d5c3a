package wildmatch_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// The table holds what gitignore(5) promises and what git does beyond it; that
// all of it is git's is held by the tests of the packages ignore and attr.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"foo", "foo", true}, {"foo", "foo/", false},
		{"*", "foo", true}, {"*", "", true}, {"*", "a/b", false}, {"*.c", ".c", true}, {"*.c", "a/b.c", false}, {"a*", "a/b", false},
		{"**", "a/b", true}, {"a**", "a/b", false}, {"a/**", "a/b/c", true}, {"a/**", "a", false}, {"a/**", "a/", true},
		{"**/a", "a", true}, {"**/a", "b/a", true}, {"**/a", "ba", false}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"a/**/b", "ab", false},
		{"**/**/a", "x/a", true}, {"***/a", "x/y/a", true}, {"a/**b", "a/xb", true}, {"a/**b", "a/x/b", false}, {`**\/a`, "x/a", true}, {`**\/a`, "a", false},
		{"a?c", "abc", true}, {"a?c", "a/c", false}, {"a[!b]c", "a/c", false}, {"[a/]", "/", false},
		{"*a*b*c*", "xaybzc", true}, {"*a*b*c*", "xaybz", false}, {"*/b/*", "a/b/c", true}, {"a*/b", "ax/b", true}, {"a*/b", "a/x/b", false},
		{"[a-c]", "b", true}, {"[^a-c]", "b", false}, {"[]]", "]", true}, {"[]-a]", "^", true}, {"[a-]", "-", true}, {"[!]a-]", "b", true},
		{"[[:digit:]x]", "7", true}, {"[[:nope:]]", "n", false}, {"[a", "a", false}, {"[]", "]", false}, {"[[:]", ":", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {`a\`, "a", false}, {`a\`, `a\`, false}, {`[\]]`, "]", true},
	} {
		if got := wildmatch.Compile(c.glob, wildmatch.Exact).Match([]byte(c.text)); got != c.want {
			t.Errorf("%q on %q: %v", c.glob, c.text, got)
		}
	}
}

func TestFoldingIsGits(t *testing.T) {
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"aB", "Ab", true}, {"*.C", "x.c", true}, {"A*", "ab", true}, {"A?B*C", "axbyc", true}, {"[a-c]", "B", true}, {"[A-C]", "b", true},
		{"[A]", "a", false}, {"[A]", "A", false}, {"[a]", "A", true}, {`\A`, "A", false}, {`\a`, "A", true}, {"[[:upper:]]", "a", true}, {"É", "é", false},
	} {
		if got := wildmatch.Compile(c.glob, wildmatch.Fold).Match([]byte(c.text)); got != c.want {
			t.Errorf("%q on %q: %v", c.glob, c.text, got)
		}
	}
}

// TestHostilePatternsEnd would not end if stars were tried in all combinations.
func TestHostilePatternsEnd(t *testing.T) {
	text := []byte(strings.Repeat("a", 4000) + "/" + strings.Repeat("a/", 500) + "c")
	for _, glob := range []string{
		strings.Repeat("*a", 1000) + "b", strings.Repeat("**/a", 300) + "b", strings.Repeat("**/*a", 300) + "/b",
		strings.Repeat("a*", 2000) + "/" + strings.Repeat("**/", 500) + "b", strings.Repeat("?*", 1000) + "b", strings.Repeat("[a-z]*", 1000) + "b",
	} {
		if wildmatch.Compile(glob, wildmatch.Exact).Match(text) {
			t.Errorf("%.20q matches", glob)
		}
	}
}

// FuzzMatch holds the matcher against a direct reading of the rules, with
// recursion, on short texts.
func FuzzMatch(f *testing.F) {
	f.Add("a/**/b*[c-d]", "a/x/bcd")
	f.Add(`**/*\/?`, "a/b/c")
	f.Fuzz(func(t *testing.T, glob, text string) {
		if len(glob) > 24 || len(text) > 24 {
			return
		}
		got := wildmatch.Compile(glob, wildmatch.Exact).Match([]byte(text))
		if got != slow(glob, 0, text) {
			t.Errorf("%q on %q: %v", glob, text, got)
		}
	})
}

// slow matches glob[i:]; sets and escapes are left to the compiler.
func slow(glob string, i int, text string) bool {
	if i == len(glob) {
		return text == ""
	}
	if glob[i] != '*' {
		for n := 1; i+n <= len(glob); n++ { // the shortest piece that is whole
			piece := glob[i : i+n]
			if (piece[0] == '\\' && n < 2) || (piece[0] == '[' && !whole(piece)) {
				continue
			}
			return text != "" && wildmatch.Compile(piece, wildmatch.Exact).Match([]byte(text[:1])) && slow(glob, i+n, text[1:])
		}
		return false
	}
	end := i
	for end < len(glob) && glob[end] == '*' {
		end++
	}
	rest := glob[end:]
	deep := end-i > 1 && (i == 0 || glob[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if deep && rest != "" && rest[0] == '/' && slow(glob, end+1, text) {
		return true
	}
	for n := 0; n <= len(text); n++ {
		if slow(glob, end, text[n:]) {
			return true
		}
		if n < len(text) && text[n] == '/' && !deep {
			return false
		}
	}
	return false
}

// whole reports whether a piece that begins with a bracket is a class to its
// last byte: then it can match a byte, or it matches none but a longer one is
// no class either.
func whole(piece string) bool {
	for c := range 256 {
		if wildmatch.Compile(piece, wildmatch.Exact).Match([]byte{byte(c)}) {
			return true
		}
	}
	return false
}

// TestAGlobThatNoPathCanMatchTakesNoMemory: one line of a rule file may have a
// hundred megabytes, and took four and a half gigabytes compiled.
func TestAGlobThatNoPathCanMatchTakesNoMemory(t *testing.T) {
	const times = 10 << 20
	for glob, want := range map[string]bool{"a*": false, "?*": false, "[ab]*": false, "\\a": false, "**/": true} {
		long := strings.Repeat(glob, times)
		if glob == "**/" {
			long += "x"
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := wildmatch.Compile(long, wildmatch.Exact)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
			t.Errorf("%q, %d times, took %d MiB", glob, times, took>>20)
		}
		if got := p.Match([]byte("a/b/x")); got != want {
			t.Errorf("%q, %d times: %v", glob, times, got)
		}
	}
	for _, n := range []int{1, 2, 5000} {
		p := wildmatch.Compile(strings.Repeat("*a", n), wildmatch.Exact)
		if !p.Match([]byte(strings.Repeat("a", n))) || p.Match([]byte(strings.Repeat("a", n-1))) {
			t.Errorf("%d times", n)
		}
	}
}
