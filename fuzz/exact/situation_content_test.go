//go:build !windows

package exact

import (
	"os"
	"strings"
)

// What git alone cannot hold: bytes that a filter changes, exact permissions,
// files of repositories inside, and what the ignore rules leave out.

var contentSituations = []situation{
	{number: 11, title: "an ignored file that was added by force", build: func(w *world) {
		usual(w)
		w.write(".gitignore", "*.log\n")
		w.write("kept.log", "then\n")
		w.git("add", "-f", "kept.log", ".gitignore")
	}, change: func(w *world) { w.remove("kept.log") }},
	{number: 19, title: "the executable bit alone", build: usual, change: func(w *world) {
		w.chmod("tool.sh", 0o755)
		w.chmod("untracked.txt", 0o755)
	}},
	{number: 20, title: "a file of mode 0600", build: func(w *world) {
		usual(w)
		w.write("key.txt", "secret\n")
		w.chmod("key.txt", 0o600)
		w.chmod("a.txt", 0o640)
		w.chmod("tool.sh", 0o700)
	}, change: func(w *world) {
		w.chmod("key.txt", 0o644)
		w.remove("a.txt")
		w.write("tool.sh", "other\n")
		w.chmod("tool.sh", 0o644)
	}},
	{number: 21, title: "core.autocrlf=true and a file with LF", build: func(w *world) {
		usual(w)
		w.git("config", "core.autocrlf", "true")
		w.write("lf.txt", "one\ntwo\n")
		w.write("crlf.txt", "one\r\ntwo\r\n")
		w.write("mixed.txt", "one\r\ntwo\n")
	}, change: func(w *world) {
		w.write("lf.txt", "one\r\ntwo\r\n")
		w.write("crlf.txt", "one\ntwo\n")
		w.remove("mixed.txt")
	}},
	{number: 22, title: "eol=crlf and mixed line ends", build: func(w *world) {
		usual(w)
		w.write(".gitattributes", "*.bat text eol=crlf\n*.sh text eol=lf\n* text=auto\n")
		w.write("x.bat", "crlf\r\nlf\n")
		w.write("x.sh", "crlf\r\nlf\n")
		w.write("x.md", "crlf\r\nlf\n")
		w.commit("attributes")
	}, change: func(w *world) {
		w.write("x.bat", "crlf\r\nlf\r\n")
		w.write("x.sh", "crlf\nlf\n")
		w.remove("x.md")
	}},
	{number: 23, title: "a required filter that is missing (LFS)", build: func(w *world) {
		usual(w)
		w.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
		w.write("model.bin", noise(200<<10, 3))
		w.git("config", "filter.lfs.clean", "no-such-program clean -- %f")
		w.git("config", "filter.lfs.smudge", "no-such-program smudge -- %f")
		w.git("config", "filter.lfs.required", "true")
		w.skipped = []string{"model.bin"} // of git's side; the bytes are recorded
	}, change: func(w *world) {
		w.write("model.bin", noise(100<<10, 4))
		w.write("later.bin", "new")
	}},
	{number: 24, title: "a clean filter that loses bytes", build: func(w *world) {
		usual(w)
		w.write(".gitattributes", "*.nb filter=strip ident\n")
		w.git("config", "filter.strip.clean", "sed -e /output/d")
		w.git("config", "filter.strip.smudge", "cat")
		w.write("x.nb", "input\noutput 1\n$Id: kept as it is $\n")
		w.commit("filtered")
	}, change: func(w *world) {
		w.write("x.nb", "input\noutput 2\n$Id: kept as it is $\n")
	}},
}

var nestedSituations = []situation{
	{number: 29, title: "a nested repository with uncommitted work", build: func(w *world) {
		usual(w)
		w.nested("nest", true)
		w.write("nest/n.txt", "uncommitted\n")
		w.write("nest/more/untracked.txt", "untracked\n")
		w.chmod("nest/n.txt", 0o600)
	}, change: func(w *world) {
		w.write("nest/n.txt", "spoilt\n")
		w.remove("nest/more")
		w.write("nest/new.txt", "new\n")
	}},
	{number: 30, title: "a nested repository without a commit", build: func(w *world) {
		usual(w)
		w.nested("nest", false)
		w.skipped = []string{"nest"} // git's tree cannot name it; its files are recorded
	}, change: func(w *world) {
		w.write("nest/n.txt", "spoilt\n")
		w.write("nest/later/new.txt", "new\n")
		churn(w)
	}},
	{number: 31, title: "a nested repository cloned later stays, as the design says", build: usual, change: func(w *world) {
		churn(w)
		w.nested("cloned", true)
		w.write("cloned/unpushed.txt", "work\n")
		w.git("-C", "cloned", "add", "-A")
		w.git("-C", "cloned", "commit", "-q", "-m", "unpushed")
		w.kept = []string{"cloned"}
	}, want: func(then, now picture) picture { return then.with(now, "cloned") }},
	{number: 32, title: "a submodule with uncommitted work", build: func(w *world) {
		usual(w)
		w.submodule("sub")
		w.write("sub/s.txt", "uncommitted\n")
		w.write("sub/untracked.txt", "untracked\n")
	}, change: func(w *world) {
		w.git("-C", "sub", "checkout", "-q", "-f", ".")
		w.remove("sub/untracked.txt")
		w.write("sub/new.txt", "new\n")
	}},
}

// Files ignored then or now are never deleted, so what a restore leaves is the
// snapshot with those as they are.
var ignoreSituations = []situation{
	{number: 33, title: ".gitignore gains an entry", build: func(w *world) {
		usual(w)
		w.write(".gitignore", "*.tmp\n")
		w.write("notes.local", "version 1\n")
	}, change: func(w *world) {
		w.write(".gitignore", "*.tmp\n*.local\n")
		w.write("notes.local", "version 2\n")
	}},
	{number: 34, title: ".gitignore loses an entry", build: func(w *world) {
		usual(w)
		w.write(".gitignore", "local.env\ncache/\n")
		w.write("local.env", "then\n")
		w.write("cache/c", "then\n")
	}, change: func(w *world) {
		w.write(".gitignore", "")
		w.write("local.env", "now\n")
		w.kept = []string{"cache", "local.env"}
	}, want: func(then, now picture) picture { return then.with(now, "local.env", "cache") }},
	{number: 51, title: ".gitignore created later, and ignored files made later", build: usual, change: func(w *world) {
		w.write(".gitignore", "local.env\ndata/\n")
		ignoredLater(w)
	}, want: withIgnored},
	{number: 52, title: ".gitignore edited later, and ignored files made later", build: func(w *world) {
		usual(w)
		w.write(".gitignore", "*.tmp\n")
		w.commit("rules")
	}, change: func(w *world) {
		w.write(".gitignore", strings.Join([]string{"*.tmp", "local.env", "data/", ""}, "\n"))
		ignoredLater(w)
	}, want: withIgnored},
}

func ignoredLater(w *world) {
	w.Helper()
	w.write("local.env", "SECRET=1\n")
	w.write("data/set/1.csv", "1,2,3\n")
	w.must(os.Chmod(w.path("data/set"), 0o700))
}

func withIgnored(then, now picture) picture { return then.with(now, "local.env", "data") }
