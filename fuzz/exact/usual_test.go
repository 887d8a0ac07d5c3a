//go:build !windows

package exact

import "strings"

// The files every repository of these situations begins with.
func usual(w *world) {
	w.Helper()
	w.init()
	w.write("a.txt", "alpha\n")
	w.write("dir/b.txt", "beta\n")
	w.write("dir/deep/c.txt", "gamma\n")
	w.write("tool.sh", "#!/bin/sh\n")
	w.commit("first")
	w.write("untracked.txt", "never added\n")
	w.write("dir/b.txt", "beta, not committed\n")
}

// churn modifies, adds and deletes.
func churn(w *world) {
	w.Helper()
	w.write("a.txt", "alpha of the agent\n")
	w.write("new.txt", "new\n")
	w.write("newdir/sub/new.txt", "new too\n")
	w.remove("dir/deep", "untracked.txt")
}

// churnKeepingDir leaves the directory dir where it is.
func churnKeepingDir(w *world) {
	w.Helper()
	w.write("a.txt", "alpha of the agent\n")
	w.write("dir/deep/new.txt", "new\n")
	w.write("new.txt", "new\n")
	w.remove("untracked.txt", "dir/b.txt", "dir/deep/c.txt")
}

// oddNames are hard on whoever quotes, globs, splits or takes options.
var oddNames = []string{
	":colon", ":(glob)magic", ":!x", "[id].ts", "what?", "star*", "-dash", "--", "-rf",
	`quo"te`, "quo'te", `back\slash`, "new\nline", "tab\tname", "carriage\rreturn", "trailing ", " leading",
	"#hash", "!bang", "~tilde", "$HOME", "`cmd`", "\x01control", "\x7f", "ümläut", "e\u0301 decomposed", "日本語", "🎉",
	"a{b,c}", "%s%n", "a=b", "con", "nul.txt", strings.Repeat("n", 255), "@", "HEAD", "refs",
}

// noise is bytes that do not compress, the same for the same seed.
func noise(size int, seed uint64) string {
	buf := make([]byte, size)
	for i := range buf {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		buf[i] = byte(seed)
	}
	return string(buf)
}
