package ignore_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/ignore"
)

func chainOf(text string) *ignore.Chain {
	return ignore.NewChain().With(ignore.Parse([]byte(text), nil))
}

// TestClassesAreGits asks about every byte a name can have, in both cases.
func TestClassesAreGits(t *testing.T) {
	var classes []string
	for _, name := range []string{"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"} {
		classes = append(classes, "[[:"+name+":]]", "[![:"+name+":]]")
	}
	classes = append(classes, "[a]", "[A]", "[^A]", "[a-z]", "[A-Z]", "[!A-Z]", "[X-c]", "[ -~]", "[\x80-\xff]", "[!\x01-\xff]", `[\A-\Z]`, `\A`, `\a`, "A", "a", "é", "[é]")
	for _, fold := range []bool{false, true} {
		tree := &forest{dirs: []string{""}, files: map[string][]byte{}, fold: fold}
		for i, class := range classes {
			dir := fmt.Sprintf("d%d", i)
			tree.dirs = append(tree.dirs, dir)
			tree.files[dir] = []byte("x" + class + "y\n")
			for c := 1; c < 256; c++ {
				if c != '/' {
					tree.asked = append(tree.asked, dir+"/x"+string([]byte{byte(c)})+"y")
				}
			}
		}
		tree.compare(t, 0)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	c := chainOf("*.o\n*.tmp\nnode_modules/\n/build\n/docs/**/*.html\nfoo*bar\n!keep.o\n").Enter("docs").Enter("a")
	for _, name := range []string{"x.o", "keep.o", "main.c", "y.html", strings.Repeat("n", 255)} {
		if n := testing.AllocsPerRun(10, func() { c.Match(name, false); c.Match(name, true) }); n != 0 {
			t.Errorf("%q: %v allocations", name, n)
		}
	}
}

// TestTheNearestAndTheLastRuleCounts is also what TestDecisionsAreGits holds, if its seed
// happens to.
func TestTheNearestAndTheLastRuleCounts(t *testing.T) {
	c := chainOf("*.o\n!keep.o\nx.o\n!x.o\ny\n")
	inner := c.Enter("d").With(ignore.Parse([]byte("keep.o\n!plain.o\n!y\n"), nil))
	for name, want := range map[string][2]bool{"a.o": {true, true}, "keep.o": {false, true}, "x.o": {false, false}, "plain.o": {true, false}, "y": {true, false}} {
		if got := [2]bool{c.Match(name, false) == ignore.Ignored, inner.Match(name, false) == ignore.Ignored}; got != want {
			t.Errorf("%s is ignored above and below: %v, want %v", name, got, want)
		}
	}
}

// TestDirectoriesWithoutRulesOfTheirOwnShareTheChain is what makes a walk of
// thousands of directories cheap.
func TestDirectoriesWithoutRulesOfTheirOwnShareTheChain(t *testing.T) {
	c := chainOf("*.o\nnode_modules/\n/tags\n/a/b/c\n/build*\n")
	deep := c.Enter("src")
	if deep == c {
		t.Fatal("/tags holds in the root only, yet the chain is the root's")
	}
	if deep.Enter("x") != deep {
		t.Error("nothing depends on the path any more, yet the chain is a new one")
	}
	if a := c.Enter("a"); a.Enter("b") == a || a.Enter("b").Match("c", false) != ignore.Ignored {
		t.Error("a/b/c is lost on the way")
	}
	if c.With(nil) != c || c.With(ignore.Parse([]byte("# nothing\n\n"), nil)) != c {
		t.Error("a file without rules makes a new chain")
	}
}

func TestDigestTellsRulesApart(t *testing.T) {
	seen := map[uint64]string{}
	for name, c := range map[string]*ignore.Chain{
		"none":       ignore.NewChain(),
		"a":          chainOf("a"),
		"b":          chainOf("b"),
		"a b":        chainOf("a\nb"),
		"b a":        chainOf("b\na"),
		"ab":         chainOf("ab"),
		"a, then b":  chainOf("a").With(ignore.Parse([]byte("b"), nil)),
		"a folded":   ignore.NewChain(ignore.Parse([]byte("a"), &ignore.Options{FoldCase: true})),
		"/a/b in x":  chainOf("**/a/b").Enter("x"),
		"/a/b in y":  chainOf("**/a/b").Enter("y"),
		"/a/b in x/": chainOf("**/a/b").Enter("x").Enter("y"),
	} {
		if other, ok := seen[c.Digest()]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[c.Digest()] = name
	}
	if ignore.NewChain().Digest() != 0 {
		t.Error("no rules, but a digest")
	}
	if chainOf("a\n#x\n\nb").Digest() != chainOf("a\r\nb  \n").Digest() {
		t.Error("equal rules have two digests")
	}
	const stable = 0x2bd7eca3f337595e
	if got := chainOf("*.o\n/a/b\n").Enter("a").Digest(); got != stable {
		t.Errorf("digest is %#x: stored digests no longer hold", got)
	}
}

func TestTooLargeAFileHasNoRules(t *testing.T) {
	big := bytes.Repeat([]byte{'\n'}, 100<<20+1)
	copy(big, "a\n")
	empty := func(text []byte) bool { return ignore.NewChain(ignore.Parse(text, nil)).Digest() == 0 }
	if !empty(big) || empty(big[:100<<20]) {
		t.Error("the limit of 100 MiB does not hold")
	}
}

// FuzzParse checks that no bytes make Parse or Match panic, and that the two
// ways to decide about a path agree.
func FuzzParse(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbf*.o\r\n!a/**/b \\ \n[x"), "a/b/c.o")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		if strings.Contains("/"+path+"/", "//") {
			return // names are never empty
		}
		file := ignore.Parse(data, nil)
		c := ignore.NewChain().With(file)
		whole := ignore.NewChain().Ignored(path, false, func(dir string) *ignore.File {
			if dir == "" {
				return file
			}
			return nil
		})
		ignored := false
		for rest, more := path, true; more && !ignored; {
			var name string
			name, rest, more = strings.Cut(rest, "/")
			ignored = c.Match(name, more) == ignore.Ignored
			c = c.Enter(name)
		}
		if ignored != whole {
			t.Errorf("%q, %q: walk says %v, whole path %v", data, path, ignored, whole)
		}
	})
}
