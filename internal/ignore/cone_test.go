package ignore_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// coneLines are what random sparse-checkout files are made of: mostly what git
// writes, and some that it takes for no cone.
var coneLines = []string{
	"/*", "/*", "/*", "!/*/", "!/*/", "!/*/", "/a/", "/a/", "!/a/*/", "!/a/*/", "/a/b/", "/a/b/", "!/a/b/*/", "/a/b/c/", "/e/", `/st\*r/`, `/\[x\]/`, "/A/",
	"# a comment", "", "/a/  ", "/a/\r", "//a/", `/back\\slash/`, "!/e/*/",
}

var oddConeLines = []string{"/", "a/", "/a", "/a/*", "/a/*/", "!/a/b/", "/st*r/", "/**/a/", "*.txt", `/\a/`, "!/a/", "/[x]/"}

// TestAConeIsWhatGitTakesForOne asks git which directories' attributes files it
// reads from the index: those inside the cone, or all where there is none.
func TestAConeIsWhatGitTakesForOne(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := gittest.New(t)
	dirs := []string{"", "a", "a/b", "a/b/c", "a/d", "e", "e/f", "st*r", "[x]", "x", `back\slash`}
	var entries, asked strings.Builder
	for i, dir := range dirs {
		id := r.Give(fmt.Sprintf("f%d here\n", i), "hash-object", "-w", "--stdin")
		fmt.Fprintf(&entries, "100644 %s\t%s\x00", id, path.Join(dir, ".gitattributes"))
		fmt.Fprintf(&asked, "%s\x00", path.Join(dir, fmt.Sprint("f", i)))
	}
	r.Give(entries.String(), "update-index", "-z", "--index-info")
	r.Give(r.Git("ls-files", "-z"), "update-index", "-z", "--skip-worktree", "--stdin")
	r.Git("config", "core.sparseCheckout", "true")
	r.Git("config", "core.sparseCheckoutCone", "true")
	for range 150 {
		var text strings.Builder
		for range rng.IntN(9) {
			text.WriteString(pick(rng, coneLines) + "\n")
		}
		if rng.IntN(4) == 0 {
			text.WriteString(pick(rng, oddConeLines) + "\n")
		}
		r.Write(".git/info/sparse-checkout", text.String())
		cone := ignore.ParseCone([]byte(text.String()), nil)
		answers := strings.Split(r.Give(asked.String(), "check-attr", "-z", "--stdin", "here"), "\x00")
		for i, dir := range dirs {
			if got, want := cone.Has(dir), answers[3*i+2] == "set"; got != want {
				t.Errorf("%q: %q is inside: %v, git: %v", text.String(), dir, got, want)
			}
		}
	}
}
