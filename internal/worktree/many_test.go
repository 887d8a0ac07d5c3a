//go:build !windows

package worktree

import (
	"slices"
	"strings"
	"testing"
)

// Git has no bound on the number of rules, and needs a gigabyte for ten million.
func TestRulesBeyondTheBoundAreNamedAndDoNotCount(t *testing.T) {
	many := "out\n" + strings.Repeat("x*"+strings.Repeat("y", 1900)+"\n", 1500)
	p := newRepo(t)
	p.Write(".gitignore", many)
	p.Write("out", "1")
	p.Write("sub/.gitignore", "inner\n")
	p.Write("sub/inner", "2")
	p.Write(".gitattributes", strings.ReplaceAll(many, "\n", " text\n"))
	p.Write("sub/deeper/.gitattributes", "x text\n")
	want := []Skip{{Path: ".gitattributes", Reason: refusedRules, Kept: true}, {Path: ".gitignore", Reason: refusedRules, Kept: true}}
	for range 2 {
		r := p.scan()
		slices.SortFunc(r.Skipped, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
		if !slices.Equal(r.Skipped, want) {
			t.Errorf("skipped %v", r.Skipped)
		}
		if _, ok := p.recorded(r)["out"]; !ok {
			t.Error("the file that only the rules beyond the bound ignore is not recorded")
		}
		if _, ok := p.recorded(r)["sub/inner"]; ok {
			t.Error("the rules below do not count")
		}
	}
	p.Write(".gitignore", "out\n")
	if r := p.scan(); len(r.Skipped) != 1 {
		t.Errorf("with few rules skipped %v", r.Skipped)
	}
}

// Two files that count each by itself may be too much together.
func TestRulesOfManyLevelsAreBoundedTogether(t *testing.T) {
	half := strings.Repeat("x*"+strings.Repeat("y", 1900)+"\n", 1000)
	p := newRepo(t)
	for _, dir := range []string{"", "a/", "b/"} {
		p.Write(dir+".gitignore", half)
	}
	r := p.scan()
	slices.SortFunc(r.Skipped, func(a, b Skip) int { return strings.Compare(a.Path, b.Path) })
	want := []Skip{{Path: "a/.gitignore", Reason: refusedRules, Kept: true}, {Path: "b/.gitignore", Reason: refusedRules, Kept: true}}
	if !slices.Equal(r.Skipped, want) {
		t.Errorf("skipped %v", r.Skipped)
	}
}
