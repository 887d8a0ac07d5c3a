package worktree

import (
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
		p.skips(r, want...)
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
	p.skips(p.scan(), Skip{Path: "a/.gitignore", Reason: refusedRules, Kept: true}, Skip{Path: "b/.gitignore", Reason: refusedRules, Kept: true})
}
