//go:build linux

package fuzz

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/ignore"
)

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
