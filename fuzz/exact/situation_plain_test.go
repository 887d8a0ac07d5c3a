//go:build !windows

package exact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

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

var plainSituations = []situation{
	{number: 1, title: "modify, add, delete", build: usual, change: churn},
	{number: 2, title: "rename of an untracked file", build: usual, change: func(w *world) {
		w.rename("untracked.txt", "renamed.txt")
	}},
	{number: 3, title: "rename of a tracked file", build: usual, change: func(w *world) {
		w.rename("a.txt", "moved/a.txt")
		w.git("mv", "dir/deep/c.txt", "dir/c.txt")
	}},
	{number: 4, title: "the session's directory is a subdirectory", build: func(w *world) {
		usual(w)
		w.cwd = w.path("dir")
	}, change: churnKeepingDir},
	{number: 7, title: "an empty tree at the checkpoint", build: func(w *world) {
		w.init()
	}, change: func(w *world) {
		w.write("only.txt", "x")
		w.write("in/a/dir.txt", "y")
	}},
	{number: 8, title: "not a git repository", build: func(w *world) {
		w.write("a.txt", "alpha\n")
		w.write("sub/b.txt", "beta\n")
		w.write(".gitignore", "*.log\n")
		w.mkdir("empty")
	}, change: func(w *world) {
		w.write("a.txt", "other\n")
		w.remove("sub", "empty")
		w.write("c.txt", "new\n")
	}},
	{number: 12, title: "odd names exist", build: func(w *world) {
		usual(w)
		for _, name := range oddNames {
			w.write(name, "then "+name)
		}
	}, change: func(w *world) {
		for _, name := range oddNames {
			w.write(name, "now "+name)
		}
	}},
	{number: 13, title: "odd names created later", build: usual, change: func(w *world) {
		for _, name := range oddNames {
			w.write(name, "now "+name)
			w.write("odd/"+name, "now "+name)
		}
	}},
	{number: 14, title: "a new file ..dots", build: usual, change: func(w *world) {
		w.write("..dots", "x")
		w.write("...", "y")
		w.write("..dir/z", "z")
	}},
	{number: 15, title: "a name that is not UTF-8", build: func(w *world) {
		usual(w)
		w.write("caf\xe9.txt", "latin 1")
	}, change: func(w *world) {
		w.remove("caf\xe9.txt")
		w.write("\xff\xfe/\x80.txt", "later")
	}},
	{number: 16, title: "a new symlink to the outside", build: usual, change: func(w *world) {
		w.link(w.outside, "way-out")
		w.link("../outside/treasure", "dir/way-out")
		w.link("nowhere", "dangling")
	}},
	{number: 17, title: "file and directory swapped", build: usual, change: func(w *world) {
		w.remove("a.txt", "dir")
		w.write("a.txt/inside/x", "a directory now\n")
		w.write("dir", "a file now\n")
	}},
	{number: 18, title: "a directory becomes a symlink to a directory outside", build: func(w *world) {
		usual(w)
		w.must(os.MkdirAll(filepath.Join(w.outside, "deep"), 0o755))
		for _, name := range []string{"b.txt", "deep/c.txt"} {
			w.must(os.WriteFile(filepath.Join(w.outside, name), []byte("outside\n"), 0o644))
		}
	}, change: func(w *world) {
		w.remove("dir")
		w.link(w.outside, "dir")
	}},
	{number: 35, title: "empty directories", build: func(w *world) {
		usual(w)
		w.mkdir("empty/one/two")
		w.mkdir("dir/three")
		w.must(os.Mkdir(w.path("private"), 0o700))
	}, change: func(w *world) {
		w.remove("empty", "dir/three", "private")
		w.mkdir("other/empty")
		w.chmod("dir", 0o750)
	}},
	{number: 41, title: "src/build/x.ts and a file .env", build: func(w *world) {
		usual(w)
		w.write("src/build/x.ts", "then")
		w.write("dist/y.js", "then")
		w.write("env/z.py", "then")
		w.write(".env", "SECRET=then")
	}, change: func(w *world) {
		w.write("src/build/x.ts", "now")
		w.write("env/z.py", "now")
		w.write(".env", "SECRET=now")
		w.remove("dist")
	}},
	{number: 42, title: "an untracked file of 11 MiB", build: func(w *world) {
		usual(w)
		w.write("big.bin", noise(11<<20, 1))
	}, change: func(w *world) {
		w.write("big.bin", noise(3<<20, 2)+noise(8<<20, 1))
	}},
	{number: 43, title: "an untracked directory of 210 files", build: func(w *world) {
		usual(w)
		for i := range 210 {
			w.write(fmt.Sprintf("many/%03d.txt", i), fmt.Sprint(i))
		}
	}, change: func(w *world) { w.remove("many") }},
	{number: 46, title: "hard links", build: func(w *world) {
		usual(w)
		w.must(os.Link(w.path("a.txt"), w.path("a-again.txt")))
		w.must(os.Link(w.path("a.txt"), w.path("dir/a-third.txt")))
	}, change: func(w *world) {
		w.write("a.txt", "written through all names\n")
		// Another name of a file of the worktree lies outside: a restore must
		// not write into it.
		w.must(os.Link(w.path("tool.sh"), filepath.Join(w.outside, "tool.sh")))
		w.write("tool.sh", "changed in both\n")
	}},
	{number: 49, title: "a rename of case alone", build: func(w *world) {
		usual(w)
		w.write("Readme.md", "tracked\n")
		w.write("Lib/x.go", "tracked\n")
		w.commit("case")
	}, change: func(w *world) {
		w.rename("Readme.md", "README.md")
		w.rename("Lib", "lib")
		w.rename("untracked.txt", "UNTRACKED.txt")
	}},
	{number: 50, title: "a pipe in the tree", build: func(w *world) {
		usual(w)
		w.must(syscall.Mkfifo(w.path("dir/pipe"), 0o644))
		w.write("dir/beside.txt", "then")
	}, change: func(w *world) {
		w.write("dir/beside.txt", "now")
		churnKeepingDir(w)
	}},
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
