//go:build linux

package fuzz

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A kind is what of a repository is chosen once.
type kind struct {
	Format   string // sha1 or sha256
	Layout   string // plain, linked, separate, submodule
	Version  int    // of the index
	Split    bool
	Case     bool // core.ignoreCase
	Twins    bool // names that differ by case only
	Filters  bool
	Encoding bool
	Nested   bool
	Sparse   bool
	Odd      bool // see odd_test.go
	Partial  bool // see [world.clonePartial]
	LFS      bool
	Open     bool // see private_test.go
}

// build makes the repository and its first files.
func (w *world) build() {
	k := &w.kind
	k.Format = pick(w, []string{"sha1", "sha1", "sha1", "sha256"})
	k.Layout = pick(w, []string{"plain", "plain", "plain", "linked", "separate"})
	k.Version = pick(w, []int{2, 3, 4})
	k.Split, k.Case = w.one(6), w.one(6)
	k.Twins = !k.Case || w.one(2)
	k.Filters, k.Encoding, k.Nested, k.Sparse = w.one(8), w.one(5), w.one(4), w.one(4)
	w.root = filepath.Join(w.dir, "tree")
	w.layout()
	w.configure(fmt.Sprintf("[index]\nversion = %d\n[core]\nsplitIndex = %v\nignoreCase = %v\nfsync = none\n"+
		"[advice]\ndetachedHead = false\n[gc]\nauto = 0\n[maintenance]\nauto = false\n", k.Version, k.Split, k.Case))
	if k.Filters {
		w.git("config", "filter.up.clean", "tr a-z A-Z")
		w.git("config", "filter.bad.clean", "false")
		w.git("config", "filter.need.clean", `d=$(cat; echo x); case "$d" in *FAIL*) exit 1;; esac; printf %s "${d%x}" | tr a b`)
		w.git("config", "filter.need.required", "true")
		command, err := filterCommand()
		w.must(err)
		for _, name := range []string{"proc", "must"} {
			w.git("config", "filter."+name+".process", command)
		}
		w.git("config", "filter.must.required", "true")
	}
	if k.Odd {
		w.beOdd()
	}
	for range 3 + w.rng.IntN(12) {
		w.edit()
	}
	if w.one(2) {
		_, _ = w.tryGit("", "add", "-A", "--ignore-errors")
		_, _ = w.tryGit("", "commit", "-qm", "first")
	}
}

// layout runs git init, in one of the ways in which a worktree finds its
// repository.
func (w *world) layout() {
	init := func(dir string, more ...string) {
		w.must(os.MkdirAll(dir, 0o755))
		w.root = dir
		w.git(append([]string{"init", "-q", "--object-format=" + w.kind.Format}, more...)...)
	}
	tree := w.root
	switch w.kind.Layout {
	case "linked":
		init(filepath.Join(w.dir, "main"))
		w.git("commit", "-q", "--allow-empty", "-m", "root")
		w.git("worktree", "add", "-q", tree)
		w.root = tree
	case "separate": // as a submodule has it: a file .git, and core.worktree
		init(tree, "--separate-git-dir="+filepath.Join(w.dir, "repo"))
		w.git("config", "core.worktree", "../tree")
	default:
		if w.kind.Partial {
			w.clonePartial(tree)
			break
		}
		init(tree)
	}
	dirs := strings.Split(w.git("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"), "\n")
	w.gitDir, w.common = dirs[0], dirs[1]
}

// configure adds lines to the repository's configuration.
func (w *world) configure(lines string) {
	f, err := os.OpenFile(filepath.Join(w.common, "config"), os.O_APPEND|os.O_WRONLY, 0)
	w.must(err)
	_, err = f.WriteString(lines)
	w.must(errors.Join(err, f.Close()))
}
