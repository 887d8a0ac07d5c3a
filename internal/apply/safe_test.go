package apply_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// hostile are names by which a worktree's .git or the outside was reached in
// the past, by the vulnerability that taught it.
var hostile = []struct{ cve, path string }{
	{"plain", ".git/config"}, {"plain", "a/.git"}, {"plain", ".git"},
	{"CVE-2014-9390", ".GIT/config"}, {"CVE-2014-9390", ".gIt/hooks/post-checkout"},
	{"CVE-2014-9390 HFS+", ".g\u200cit/config"}, {"CVE-2014-9390 HFS+", "\u200d.Git"}, {"CVE-2014-9390 HFS+", ".git\ufeff/x"},
	{"CVE-2014-9390 HFS+", ".git\xff"}, {"CVE-2014-9390 HFS+", ".g\u206fi\u202et"}, {"CVE-2014-9390 HFS+", "sub/.gi\u200ft/x"},
	{"CVE-2014-9390 NTFS", "git~1/config"}, {"CVE-2014-9390 NTFS", "a/GIT~1"},
	{"CVE-2019-1352", ".git::$INDEX_ALLOCATION/x"}, {"CVE-2019-1352", ".git:x"}, {"CVE-2019-1352", "GIT~1::$INDEX_ALLOCATION"},
	{"CVE-2019-1353", ".git ./x"}, {"CVE-2019-1353", ".git ...  "}, {"CVE-2019-1353", ".git."}, {"CVE-2019-1353", "git~1. "},
	{"CVE-2019-1354", `a\.git\config`}, {"CVE-2019-1354", `.git\hooks\x`}, {"CVE-2019-1354", `x\GIT~1 `},
	{"traversal", "../x"}, {"traversal", "a/../../x"}, {"traversal", ".."}, {"traversal", "a/./b"}, {"traversal", "."},
	{"absolute", "/etc/passwd"}, {"absolute", "/"},
	{"empty component", ""}, {"empty component", "a//b"}, {"empty component", "a/"},
	{"NUL", "a\x00b"},
}

var harmless = []string{
	"a", "a/b", ".gitignore", ".gitmodules", ".github/x", "git", "git~2", "git~10", "xgit~1", "a.git", ".git2", "..git", ".gi", "...", "..a",
	".git-x", ".git x", "x:.git", ".\u200cfoo", "\xff.git", "a\r\nb", `a\b`, `..\x`, "\u200c", ".g\u0131t", ".g\u0130t",
}

// TestGitRefusesTheSamePaths asks git whether it would take a path into its
// index, with both protections on: the lists above and random ones.
func TestGitRefusesTheSamePaths(t *testing.T) {
	rnd := rand.New(rand.NewPCG(seed.Of(t), 1))
	pieces := []string{".git", "git~1", ".GIT", "g", "i", "t", ".", " ", ":", `\`, "/", "~1", "\u200c", "\ufeff", "\xff", "x", "..", "::$I", "\u206a", "\u2060"}
	var paths []string
	for _, c := range hostile {
		paths = append(paths, c.path)
	}
	paths = append(paths, harmless...)
	for range seed.Times(4000) {
		var b strings.Builder
		for range 1 + rnd.IntN(5) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		paths = append(paths, b.String())
	}
	taken := gitTakes(t, paths)
	for i, path := range paths {
		if strings.ContainsRune(path, 0) {
			continue
		}
		if safe := apply.SafePath(path) == nil; safe != taken[i] && !(taken[i] && overlooked(path)) {
			t.Errorf("%q: SafePath accepts: %v, git accepts: %v", path, safe, taken[i])
		}
	}
}

// overlooked reports whether a component begins with a backslash: git 2.39
// does not look at what follows that one.
func overlooked(path string) bool { return strings.Contains("/"+path, `/\`) }

// gitTakes puts paths into an index and tells which ones git did not ignore.
func gitTakes(t *testing.T, paths []string) []bool {
	r := gittest.New(t)
	r.Env = []string{"LC_ALL=C"}
	const blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	taken := make([]bool, len(paths))
	for from := 0; from < len(paths); from += 200 {
		var in strings.Builder
		part := paths[from:min(from+200, len(paths))]
		for _, p := range part {
			if !strings.ContainsRune(p, 0) {
				in.WriteString("100644 " + blob + "\t" + p + "\x00")
			}
		}
		cmd := r.Command("-c", "core.protectNTFS=true", "-c", "core.protectHFS=true", "update-index", "-z", "--index-info")
		cmd.Stdin = strings.NewReader(in.String())
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.Contains(string(out), "Ignoring path") {
			t.Fatalf("git update-index: %v: %s", err, out)
		}
		bad := map[string]bool{}
		for line := range strings.SplitSeq(string(out), "\n") {
			if p, ok := strings.CutPrefix(line, "Ignoring path "); ok {
				bad[p] = true
			}
		}
		for i, p := range part {
			taken[from+i] = !bad[p]
		}
	}
	return taken
}
