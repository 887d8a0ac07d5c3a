//go:build !windows

package exact

import (
	"os"
	"path/filepath"
)

var nameSituations = []situation{
	{number: 5, title: "no user.name and user.email", build: func(w *world) {
		usual(w)
		w.git("config", "--unset", "user.name")
		w.git("config", "--unset", "user.email")
	}, change: churn},
	{number: 6, title: "an unborn HEAD", build: func(w *world) {
		w.init()
		w.write("a.txt", "alpha\n")
		w.write("dir/deep/c.txt", "gamma\n")
		w.write("untracked.txt", "x")
		w.git("add", "a.txt")
	}, change: churn},
	{number: 40, title: "a SHA-256 repository", build: func(w *world) {
		w.init("--object-format=sha256")
		w.write("a.txt", "alpha\n")
		w.write("dir/deep/c.txt", "gamma\n")
		w.commit("first")
		w.write("untracked.txt", "x")
	}, change: churn},
	{number: 45, title: "diff.relative and its like in the configuration", build: func(w *world) {
		usual(w)
		for _, s := range [][2]string{
			{"diff.relative", "true"}, {"diff.noprefix", "true"}, {"diff.external", "false"}, {"color.ui", "always"},
			{"core.quotePath", "true"}, {"status.relativePaths", "true"}, {"status.showUntrackedFiles", "no"},
			{"diff.renames", "copies"}, {"core.pager", "false"}, {"core.abbrev", "5"}, {"clean.requireForce", "true"},
			{"core.fsmonitor", "false"}, {"core.untrackedCache", "true"}, {"commit.gpgSign", "true"}, {"log.showSignature", "true"},
		} {
			w.git("config", s[0], s[1])
		}
		w.cwd = w.path("dir")
	}, change: churnKeepingDir},
}

var gitSituations = []situation{
	{number: 9, title: "a merge conflict in the index", build: func(w *world) {
		usual(w)
		w.commit("all")
		w.git("checkout", "-q", "-b", "theirs")
		w.write("a.txt", "theirs\n")
		w.commit("theirs")
		w.git("checkout", "-q", "main")
		w.write("a.txt", "ours\n")
		w.remove("tool.sh")
		w.commit("ours")
		if _, err := w.tryGit("merge", "theirs"); err == nil {
			w.Fatal("the merge was to conflict")
		}
	}, change: churn},
	{number: 10, title: "a file staged as new and then deleted", build: func(w *world) {
		usual(w)
		w.write("staged.txt", "x")
		w.git("add", "staged.txt")
		w.remove("staged.txt")
	}, change: churn},
	{number: 25, title: "intent to add", build: func(w *world) {
		usual(w)
		w.git("add", "-N", "untracked.txt")
	}, change: churn},
	{number: 26, title: "a skip-worktree file with a local override", build: func(w *world) {
		usual(w)
		w.git("update-index", "--skip-worktree", "a.txt")
		w.write("a.txt", "local override\n")
	}, change: churn},
	{number: 27, title: "an assume-unchanged file with a local override", build: func(w *world) {
		usual(w)
		w.git("update-index", "--assume-unchanged", "a.txt")
		w.write("a.txt", "local override\n")
	}, change: churn},
	{number: 28, title: "a sparse checkout", build: func(w *world) {
		usual(w)
		w.write("left/out/x.txt", "not wanted on disk\n")
		w.write("left/y.txt", "nor this\n")
		w.commit("more")
		w.git("sparse-checkout", "set", "dir")
	}, change: func(w *world) {
		w.write("a.txt", "changed\n")
		w.write("dir/b.txt", "changed\n")
		w.write("dir/new.txt", "new\n")
		w.remove("dir/deep")
	}},
	{number: 36, title: "the user commits after the checkpoint", build: usual, change: func(w *world) {
		churn(w)
		w.commit("of the user")
		w.write("a.txt", "and edits\n")
	}},
	{number: 37, title: "partial staging is kept", build: func(w *world) {
		usual(w)
		w.write("a.txt", "staged\n")
		w.git("add", "a.txt")
		w.write("a.txt", "staged\nand not\n")
	}, change: func(w *world) {
		churn(w)
		w.git("add", "new.txt")
	}},
	{number: 38, title: "a file staged later", build: usual, change: func(w *world) {
		w.write("later.txt", "x")
		w.git("add", "-A")
	}},
	{number: 39, title: "a linked worktree", build: func(w *world) {
		usual(w)
		main := w.root
		w.git("worktree", "add", "-q", "-b", "side", filepath.Join(w.base, "linked"))
		w.root = filepath.Join(w.base, "linked")
		w.alsoGit = []string{main}
		w.write("untracked.txt", "of the linked one\n")
	}, change: churn},
	{number: 44, title: "index.lock is held at the restore", build: usual, change: func(w *world) {
		churn(w)
		w.must(os.WriteFile(w.path(".git/index.lock"), nil, 0o644))
	}},
	{number: 47, title: "a detached HEAD that has moved", build: func(w *world) {
		usual(w)
		w.commit("second")
		w.git("checkout", "-q", "--detach")
	}, change: func(w *world) {
		w.git("checkout", "-q", "HEAD~1")
		w.write("a.txt", "elsewhere\n")
		w.commit("off the branch")
	}},
	{number: 48, title: "GIT_DIR in the environment", build: func(w *world) {
		usual(w)
		other := filepath.Join(w.base, "other")
		w.git("init", "-q", "-b", "main", other)
		w.identity(other)
		w.git("-C", other, "commit", "-q", "--allow-empty", "-m", "other")
		w.alsoGit = []string{other}
		w.env["GIT_DIR"] = filepath.Join(other, ".git")
		w.env["GIT_WORK_TREE"] = other
		w.env["GIT_INDEX_FILE"] = filepath.Join(other, ".git", "index")
		w.env["GIT_OBJECT_DIRECTORY"] = filepath.Join(other, ".git", "objects")
		w.env["GIT_COMMON_DIR"] = filepath.Join(other, ".git")
		w.env["GIT_PREFIX"] = "sub/"
	}, change: churn},
}
