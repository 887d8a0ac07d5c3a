//go:build linux

package fuzz

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/ignore"
)

// On a file system that tells case apart, core.ignoreCase leads git to one
// entry for two files: it gives up, leaves edits out, or records one file's
// bytes under the other's name, and the next git add on the same files gives
// another tree. Each file has its own name here, as in git without the setting.
func TestNamesThatDifferByCaseAreFilesOfTheirOwn(t *testing.T) {
	w := plain(t, kind{Case: true, Twins: true})
	w.git("config", "core.ignoreCase", "true")
	w.reopen()
	w.write("f", "small")
	w.write("d/a", "small")
	w.git("add", "-A")
	w.settle()
	w.keep()
	w.write("F", "big")
	w.write("D/a", "big")
	w.write("D/b", "big")
	w.settle()
	s := w.keep()
	for name, want := range map[string]string{"f": "small", "F": "big", "d/a": "small", "D/a": "big", "D/b": "big"} {
		if got := w.git("cat-file", "blob", s.snap.Tree.String()+":"+name); got != want {
			w.fail("%s is recorded as %q", name, got)
		}
	}
	w.must(os.Remove(w.path("f")))
	w.write("F", "bigger")
	w.settle()
	w.keep()
	w.must(os.Rename(w.path("F"), w.path("f")))
	w.settle()
	w.keep()
	for range 6 {
		w.travel()
	}
}

func TestGitIsNotOfOneMindAboutNamesThatDifferByCase(t *testing.T) {
	w := plain(t, kind{})
	w.git("config", "core.ignoreCase", "true")
	w.write("d/a", "1")
	w.write("D/a", "2")
	w.write("D/b", "3")
	w.git("add", "-A")
	first := w.git("write-tree")
	w.git("add", "-A")
	if second := w.git("write-tree"); first == second {
		w.fail("a second git add gives the same tree now: there may be no need any more to leave git's answer aside")
	}
}

// Seed 100008808: with core.ignoreCase "*n" matches a name that ends in "ALLOCATION",
// and the oracle is git without the setting.
func TestPatternsMeanTheSameInEitherCase(t *testing.T) {
	w := &world{t: t, rng: rand.New(rand.NewPCG(1, 1)), kind: kind{Case: true, Twins: true}}
	compare := func(pattern string) (differs []string) {
		for _, name := range allNames {
			verdict := func(fold bool) ignore.Verdict {
				return ignore.NewChain(ignore.Parse([]byte(pattern+"\n"), &ignore.Options{FoldCase: fold})).Match(name, false)
			}
			if verdict(true) != verdict(false) {
				differs = append(differs, name)
			}
		}
		return differs
	}
	if got := compare("*n"); !slices.Equal(got, []string{".git::$INDEX_ALLOCATION"}) {
		t.Fatalf("case matters to \"*n\" for %q", got)
	}
	for range 5000 {
		p := w.pattern()
		if differs := compare(p); len(differs) > 0 {
			t.Fatalf("case matters to %q for %q", p, differs)
		}
	}
}
