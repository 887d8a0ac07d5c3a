package ignore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

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
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: the git program is not here, and it is what this test compares with")
	}
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	root := t.TempDir()
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = root, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "HOME="+root, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	dirs := []string{"", "a", "a/b", "a/b/c", "a/d", "e", "e/f", "st*r", "[x]", "x", `back\slash`}
	var entries, asked strings.Builder
	for i, dir := range dirs {
		id := strings.TrimSpace(git(fmt.Sprintf("f%d here\n", i), "hash-object", "-w", "--stdin"))
		fmt.Fprintf(&entries, "100644 %s\t%s\x00", id, path.Join(dir, ".gitattributes"))
		fmt.Fprintf(&asked, "%s\x00", path.Join(dir, fmt.Sprint("f", i)))
	}
	git(entries.String(), "update-index", "-z", "--index-info")
	git(strings.ReplaceAll(git("", "ls-files", "-z"), "\n", ""), "update-index", "-z", "--skip-worktree", "--stdin")
	git("", "config", "core.sparseCheckout", "true")
	git("", "config", "core.sparseCheckoutCone", "true")
	file := filepath.Join(root, ".git", "info", "sparse-checkout")
	for range 150 {
		var text strings.Builder
		for range rng.IntN(9) {
			text.WriteString(pick(rng, coneLines) + "\n")
		}
		if rng.IntN(4) == 0 {
			text.WriteString(pick(rng, oddConeLines) + "\n")
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		cone := ignore.ParseCone([]byte(text.String()), nil)
		answers := strings.Split(git(asked.String(), "check-attr", "-z", "--stdin", "here"), "\x00")
		for i, dir := range dirs {
			if got, want := cone.Has(dir), answers[3*i+2] == "set"; got != want {
				t.Errorf("%q: %q is inside: %v, git: %v", text.String(), dir, got, want)
			}
		}
	}
}
