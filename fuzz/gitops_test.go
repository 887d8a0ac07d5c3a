//go:build linux

package fuzz

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// operate does one thing that a user does with git.
func (w *world) operate() {
	all := []func(){
		w.add, w.add, w.addOne, w.addOne, w.commit, w.commit, w.reset, w.rmCached, w.flags, w.flags, w.intend, w.unmerge, w.branch,
		w.config, w.indexForm, w.refresh, w.moveTracked, w.pack, w.gitlink, w.stash,
	}
	if w.kind.Nested {
		all = append(all, w.nest, w.nest, w.nestCommit, w.nestCommit, w.unnest)
	}
	if w.kind.Sparse {
		all = append(all, w.sparse, w.sparse)
	}
	if w.kind.Odd {
		all = append(all, w.oddities()...)
	}
	pick(w, all)()
	w.unblock()
}

// try runs git; what it says is of no interest, only what it leaves.
func (w *world) try(args ...string) {
	out, err := w.tryGit("", args...)
	if err != nil {
		w.note("git %q: %v %.120q", args, err, out)
		return
	}
	w.note("git %q", args)
}

func (w *world) add() { w.try("add", "-A", "--ignore-errors") }

func (w *world) addOne() {
	if p := w.some(isFile); p != "" {
		w.try("add", "-f", "--", p)
	}
}

func (w *world) commit() {
	if w.one(2) {
		w.try("commit", "-q", "-a", "-m", "all", "--allow-empty")
		return
	}
	w.try("commit", "-q", "-m", "some", "--allow-empty")
}

func (w *world) reset() {
	switch w.rng.IntN(4) {
	case 0:
		w.try("reset", "-q", "--hard")
	case 1:
		w.try("reset", "-q", "--soft", "HEAD~1")
	case 2:
		w.try("reset", "-q", "HEAD~1")
	default:
		w.try("reset", "-q")
	}
}

// tracked returns a path of the index, "" if it has none.
func (w *world) tracked() string {
	all, err := w.entries()
	if err != nil || len(all) == 0 {
		return ""
	}
	return pick(w, all).path
}

func (w *world) rmCached() {
	if p := w.tracked(); p != "" {
		w.try("rm", "-q", "--cached", "-f", "--", p)
	}
}

func (w *world) flags() {
	if p := w.tracked(); p != "" {
		w.unwanted = true
		w.try("update-index", pick(w, []string{"--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree",
			"--chmod=+x", "--chmod=-x", "--force-remove"}), "--", p)
	}
}

func (w *world) intend() {
	if p := w.some(isFile); p != "" {
		w.try("add", "-N", "-f", "--", p)
	}
}

// unmerge makes a conflict of a path.
func (w *world) unmerge() {
	p := w.tracked()
	if w.one(3) {
		p = w.fileName()
	}
	if p == "" || strings.Contains(p, ".git") || strings.Contains(p, "git~1") || strings.Contains(p, ".GIT") || strings.Contains(p, ".Git") {
		return
	}
	if w.inLink(p) {
		return // no merge leaves entries below a submodule
	}
	blob, _ := w.tryGit(w.content(), "hash-object", "-w", "--stdin")
	zero := strings.Repeat("0", len(blob))
	lines := "0 " + zero + " 0\t" + p + "\x00"
	for _, stage := range []string{"1", "2", "3"} {
		if !w.one(3) {
			lines += pick(w, []string{"100644", "100755", "120000"}) + " " + blob + " " + stage + "\t" + p + "\x00"
		}
	}
	out, err := w.tryGit(lines, "update-index", "-z", "--index-info")
	w.note("unmerge %q %v %s", p, err, out)
}

func (w *world) branch() {
	name := pick(w, []string{"one", "two", "three"})
	switch w.rng.IntN(4) {
	case 0:
		w.try("checkout", "-q", "-B", name)
	case 1:
		w.try("merge", "-q", "--no-edit", name)
	case 2:
		w.try("checkout", "-q", "-f", name)
	default:
		w.try("checkout", "-q", name)
	}
}

// config changes what of git's configuration bears on the tree.
func (w *world) config() {
	c := pick(w, [][2]string{
		{"core.autocrlf", "true"}, {"core.autocrlf", "input"}, {"core.autocrlf", "false"}, {"core.eol", "crlf"}, {"core.eol", "lf"},
		{"core.fileMode", "false"}, {"core.fileMode", "true"}, {"core.symlinks", "false"}, {"core.symlinks", "true"},
		{"core.protectNTFS", "false"}, {"core.protectNTFS", "true"}, {"core.safecrlf", "false"}, {"core.trustctime", "false"},
		{"core.checkStat", "minimal"}, {"core.checkStat", "default"}, {"core.untrackedCache", "true"}, {"core.untrackedCache", "false"},
	})
	w.try("config", c[0], c[1])
	w.reopen()
}

// indexForm writes the index in another form.
func (w *world) indexForm() {
	switch w.rng.IntN(6) {
	case 0:
		w.try("update-index", "--split-index")
	case 1:
		w.try("update-index", "--no-split-index")
	case 2:
		w.skipHash()
	default:
		w.try("update-index", "--force-write-index", "--index-version="+pick(w, []string{"2", "3", "4"}))
	}
}

// skipHash writes zeros for the checksum, as newer versions of git do when
// index.skipHash asks them to.
func (w *world) skipHash() {
	file := filepath.Join(w.gitDir, "index")
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "link\x00") {
		return // a shared index is found by its checksum
	}
	n := w.hashSize()
	copy(data[len(data)-n:], make([]byte, n))
	w.note("skipHash")
	w.must(os.WriteFile(file+".new", data, 0o644))
	w.must(os.Rename(file+".new", file))
}

func (w *world) hashSize() int {
	if w.kind.Format == "sha256" {
		return 32
	}
	return 20
}

func (w *world) refresh() {
	w.try(pick(w, [][]string{{"status"}, {"update-index", "-q", "--refresh"}, {"update-index", "-q", "--really-refresh"}, {"diff", "--stat"}})...)
}

func (w *world) moveTracked() {
	if p := w.tracked(); p != "" {
		to := w.fileName()
		if w.gitDirOf(w.path(p+"/.git")) == w.gitDir {
			return // git would write down that the outer worktree is there
		}
		w.clear(filepath.Dir(to))
		_ = os.MkdirAll(filepath.Dir(w.path(to)), 0o755)
		w.try("mv", "-f", "--", p, to)
	}
}

func (w *world) pack() {
	if w.one(3) {
		w.try("repack", "-q", "-a", "-d")
		w.try("pack-refs", "--all")
	}
}

// gitlink puts a submodule into the index that is not checked out.
func (w *world) gitlink() {
	name := w.dirName() + pick(w, dirNames)
	if slices.ContainsFunc(w.indexed(), func(l listed) bool { return l.stage != 0 }) {
		return // git would put it beside the conflict
	}
	w.try("update-index", "--add", "--replace", "--cacheinfo", "160000,"+strings.Repeat("12", w.hashSize())+","+name)
	if w.one(2) {
		w.clear(name)
		w.must(os.MkdirAll(w.path(name), 0o755))
	}
}

func (w *world) stash() {
	if w.one(2) {
		w.try("stash", "-q", "-u")
		return
	}
	w.try("stash", "pop", "-q")
}

// nest makes a repository inside the worktree, or something that looks like one.
func (w *world) nest() {
	name := w.dirName() + pick(w, []string{"sub", "d", "a"})
	w.clear(name)
	w.must(os.MkdirAll(w.path(name), 0o755))
	w.nested = true
	switch w.rng.IntN(6) {
	case 0:
		w.note("no repository %q", name)
		_ = os.Mkdir(w.path(name+"/.git"), 0o755)
	case 1:
		w.note("gitdir: nowhere %q", name)
		_ = os.WriteFile(w.path(name+"/.git"), []byte("gitdir: nowhere\n"), 0o644)
	default:
		w.initIn(name)
		w.write(name+"/"+pick(w, fileNames), w.content())
	}
}

// initIn makes a repository of a directory, but not where its ".git" leads to the
// repository around it: git would let that one have its files there.
func (w *world) initIn(name string) {
	if at := w.gitDirOf(w.path(name + "/.git")); at == w.gitDir || at == w.common {
		return
	}
	w.try("init", "-q", "--object-format="+w.kind.Format, w.path(name))
}

// inner returns a directory that has a .git, "" if there is none.
func (w *world) inner() string {
	return w.some(func(p string) bool {
		_, err := os.Lstat(w.path(p + ".git"))
		return isDir(p) && err == nil
	})
}

func (w *world) nestCommit() {
	if p := w.inner(); p != "" {
		if w.one(2) {
			w.try("-C", p, "add", "-A")
		}
		w.try("-C", p, "commit", "-q", "--allow-empty", "-m", pick(w, []string{"x", "y", "z"}))
	}
}

func (w *world) unnest() {
	if p := w.inner(); p != "" {
		w.note("remove %q", p+".git")
		w.must(os.RemoveAll(w.path(p + ".git")))
	}
}

func (w *world) sparse() {
	w.unwanted = true
	switch w.rng.IntN(6) {
	case 0:
		w.try("sparse-checkout", "disable")
	case 1:
		w.try("sparse-checkout", "set", "--no-cone", pick(w, []string{"/a", "*.txt", "/d/", "!/out"}), pick(w, []string{"/in/", "f", "*.c"}))
	case 2:
		w.try("sparse-checkout", "set", "--cone", "--sparse-index", pick(w, dirNames))
	case 3:
		w.try("sparse-checkout", "reapply")
	default:
		w.try("sparse-checkout", "set", "--cone", "--no-sparse-index", pick(w, dirNames), pick(w, dirNames))
	}
	w.reopen()
}
