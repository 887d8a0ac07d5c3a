package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestABrokenIndexOfANestedRepositoryHindersNoSnapshot(t *testing.T) {
	for _, inGit := range []bool{true, false} {
		t.Run(fmt.Sprint("in git ", inGit), func(t *testing.T) {
			p := newPlace(t, inGit)
			p.write(".gitignore", "*.o\n")
			p.write("plain", "one")
			p.write("tracked.o", "object")
			if inGit {
				p.git("add", "-f", "plain", "tracked.o")
			}
			if out, err := p.tryGit("init", "-q", "inner/deep"); err != nil {
				t.Fatal(out)
			}
			p.write("inner/deep/file", "inside")
			p.write("inner/deep/.git/index", "no index")
			e := p.open()
			r := p.take(e)
			if len(r.Skipped) == 0 || !slices.ContainsFunc(r.Skipped, func(n Note) bool {
				return n.Path == "inner/deep/.git" && strings.Contains(n.Reason, "malformed index")
			}) {
				t.Errorf("skipped %+v", r.Skipped)
			}
			again := p.take(e)
			if again.ID != r.ID || !again.Reused {
				t.Errorf("%v after %v: %+v", again.ID, r.ID, again.Skipped)
			}
			if inGit { // its own index is not to blame
				if got := p.git("show", r.Tree.String()+":tracked.o"); got != "object" {
					t.Errorf("recorded %q", got)
				}
			}
			p.write("plain", "two")
			p.write("inner/deep/file", "changed")
			p.do(e, Op{To: r.ID})
			if p.read("plain") != "one" || p.read("inner/deep/file") != "inside" {
				t.Errorf("%q, %q", p.read("plain"), p.read("inner/deep/file"))
			}
		})
	}
}
