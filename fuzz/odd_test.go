//go:build linux

package fuzz

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What follows is drawn in half of the worlds: repositories inside that are not
// what they say, or not where, index entries that cannot be on disk, names in
// another form, rule files in other places, and Git LFS.

// decomposed are names of which core.precomposeUnicode makes others, on macOS.
var decomposed = []string{"e\u0301", "a\u0308.txt", "\u00e4.txt", "o\u0302.o"}

// beOdd chooses once.
func (w *world) beOdd() {
	if w.one(2) {
		w.git("config", "core.precomposeUnicode", "true")
	}
	if _, err := exec.LookPath("git-lfs"); err == nil && w.one(6) {
		w.kind.LFS = true
		w.git("config", "lfs.repositoryformatversion", "0") // which git-lfs notes when it runs for the first time
		w.git("config", "filter.lfs.clean", "git-lfs clean -- %f")
		w.git("config", "filter.lfs.process", "git-lfs filter-process --skip")
		w.git("config", "filter.lfs.required", strconv.FormatBool(w.one(2)))
	}
}

// clonePartial makes the repository a partial clone with a sparse checkout: of what
// the other one has only the files at the top are here, and git fetches the others
// when it needs them. What that has is drawn apart.
func (w *world) clonePartial(tree string) {
	lib := *w
	lib.root, lib.tame, lib.rng = filepath.Join(w.dir, "lib"), true, rand.New(rand.NewPCG(w.seed, 5))
	w.must(os.Mkdir(lib.root, 0o755))
	lib.git("init", "-q", "--object-format="+w.kind.Format)
	lib.git("config", "uploadpack.allowFilter", "true")
	for range 2 {
		for range 6 {
			lib.write(lib.fileName(), lib.content())
		}
		lib.git("add", "-A")
		lib.git("commit", "-q", "--allow-empty", "-m", "of the other one")
	}
	w.unwanted = true
	w.root = w.dir
	w.git("clone", "-q", "--sparse", "--filter=blob:none", "file://"+lib.root, tree)
	w.root = tree
}

// oddities are what may be done then.
func (w *world) oddities() []func() {
	all := []func(){w.longEntry, w.linkInConflict, w.rulesElsewhere}
	if w.kind.Nested {
		all = append(all, w.nestElsewhere, w.copyNested, w.copyNested, w.leadAstray, w.leadAstray, w.spoilNested, w.linkToItself)
	}
	return all
}

// longEntry puts a file into the index whose name no file system takes.
func (w *world) longEntry() {
	long := strings.Repeat("long", 64) + strconv.Itoa(w.rng.IntN(2))
	name := w.dirName() + long
	if w.one(3) {
		name = w.dirName() + long + "/" + pick(w, fileNames)
	}
	if w.inLink(name) {
		return // no merge leaves entries below a submodule
	}
	blob, err := w.tryGit(w.content(), "hash-object", "-w", "--stdin")
	w.must(err)
	w.try("update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
}

// linkInConflict makes a conflict of a submodule, of a name below which no other
// operation puts anything into the index: no merge leaves that.
func (w *world) linkInConflict() {
	name := w.dirName() + "module"
	if w.inLink(name) {
		return
	}
	lines := "0 " + strings.Repeat("0", 2*w.hashSize()) + " 0\t" + name + "\x00"
	for _, stage := range []string{"1", "2", "3"} {
		if !w.one(3) {
			lines += "160000 " + strings.Repeat("1"+stage, w.hashSize()) + " " + stage + "\t" + name + "\x00"
		}
	}
	out, err := w.tryGit(lines, "update-index", "-z", "--index-info")
	w.note("submodule in conflict %q %v %s", name, err, out)
	if w.one(2) {
		w.clear(name)
		w.must(os.MkdirAll(w.path(name), 0o755))
	}
	if w.kind.Nested && w.one(2) {
		w.nested = true
		w.initIn(name)
	}
}

// rulesElsewhere says where the user's own rule files are.
func (w *world) rulesElsewhere() {
	c := pick(w, []string{"core.excludesFile", "core.attributesFile"})
	// Nothing that can be a pipe: git would wait for whoever writes to it.
	value := pick(w, []string{"", "../rules", "a/../../rules", "~/rules", "nowhere", w.dir + "/rules", "../home/.config/git/ignore"})
	w.outside++
	w.must(os.WriteFile(filepath.Join(w.dir, "rules"), []byte(w.ignoreRules()), 0o644))
	w.try("config", c, value)
	w.reopen()
}

// nestElsewhere makes a repository as a submodule has it: its git directory is in
// the outer one, and says where its files are.
func (w *world) nestElsewhere() {
	name := w.dirName() + pick(w, []string{"sub", "d", "a"})
	w.nested = true
	w.clear(name)
	w.must(os.MkdirAll(w.path(name), 0o755))
	if _, err := os.Lstat(w.path(name + "/.git")); err == nil {
		return
	}
	module := filepath.Join(w.common, "modules", strconv.Itoa(len(w.log)))
	w.must(os.MkdirAll(filepath.Dir(module), 0o755))
	w.try("init", "-q", "--object-format="+w.kind.Format, "--separate-git-dir="+module, w.path(name))
	w.try("--git-dir="+module, "config", "core.worktree", w.path(name))
	w.write(name+"/"+pick(w, fileNames), w.content())
	if w.one(2) {
		w.try("-C", name, "add", "-A")
		w.try("-C", name, "commit", "-q", "--allow-empty", "-m", "x")
	}
}

// copyNested copies a repository inside with its ".git".
func (w *world) copyNested() {
	p, to := strings.TrimSuffix(w.inner(), "/"), w.dirName()+pick(w, []string{"sub", "d", "copy"})
	if p == "" || strings.HasPrefix(to+"/", p+"/") {
		return
	}
	if _, err := os.Lstat(w.path(to)); err == nil {
		return
	}
	w.clear(filepath.Dir(to))
	if _, err := os.Lstat(w.path(p)); err != nil {
		return // it was in the way
	}
	w.must(os.MkdirAll(filepath.Dir(w.path(to)), 0o755))
	w.note("copy %q %q", p, to)
	out, err := exec.Command("cp", "-a", w.path(p), w.path(to)).CombinedOutput()
	if err != nil {
		w.fail("cp: %v %s", err, out)
	}
}

// leadAstray lets the settings of a repository inside say that its files are
// elsewhere, or that it has none.
func (w *world) leadAstray() {
	c := pick(w, [][]string{{"core.bare", "true"}, {"core.bare", "false"}, {"core.worktree", "../nowhere"}, {"core.worktree", w.root}, {"--unset-all", "core.worktree"}})
	if config := w.innerConfig(); config != "" {
		w.try(append([]string{"config", "--file", config}, c...)...)
	}
}

// innerConfig is the configuration of a repository inside, "" if there is none.
func (w *world) innerConfig() string {
	p := w.inner()
	if p == "" {
		return ""
	}
	at := w.gitDirOf(w.path(p + ".git"))
	if at == "" || at == w.gitDir || at == w.common {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(at, "config")); err != nil {
		return ""
	}
	return filepath.Join(at, "config")
}

// spoilNested makes a repository inside one that git cannot read, or heals it.
func (w *world) spoilNested() {
	config := w.innerConfig()
	if config == "" {
		return
	}
	switch w.rng.IntN(6) {
	case 0:
		w.try("config", "--file", config, "extensions.unheard", "of")
		w.try("config", "--file", config, "core.repositoryFormatVersion", "1")
	case 1:
		w.try("config", "--file", config, "core.repositoryFormatVersion", "9")
	case 2:
		head := filepath.Join(filepath.Dir(config), "refs", "heads", "master")
		w.note("spoil %q", head)
		_ = os.WriteFile(head, []byte("no id\n"), 0o644)
	case 3:
		w.note("spoil %q", config)
		w.must(os.WriteFile(config, []byte("[bad\n"), 0o644))
	default:
		w.note("heal %q", config)
		format := "[core]\n\trepositoryformatversion = 0\n"
		if w.kind.Format == "sha256" {
			format = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
		}
		w.must(os.WriteFile(config, []byte(format), 0o644))
	}
}

// linkToItself puts a ".git" into a directory that is a link to the repository
// around it, or a file that leads there.
func (w *world) linkToItself() {
	name := w.dirName() + "self" // no other operation makes a submodule of this name: git add would ask itself without end what was edited in it
	w.clear(name)
	w.must(os.MkdirAll(w.path(name), 0o755))
	if _, err := os.Lstat(w.path(name + "/.git")); err == nil {
		return
	}
	w.nested = true
	w.note("link to itself %q", name)
	if w.one(4) {
		w.must(os.WriteFile(w.path(name+"/.git"), []byte("gitdir: "+w.gitDir+"\n"), 0o644))
		return
	}
	w.write(name+"/"+pick(w, fileNames), w.content())
	w.must(os.Symlink(w.gitDir, w.path(name+"/.git")))
}

// endIfGitAsksItself ends a world in which git status has no end: the index has a
// submodule whose ".git" leads to the repository around it, which says itself where
// its files are. To ask what was edited in the submodule git asks what was edited
// around it, and so on.
func (w *world) endIfGitAsksItself() {
	w.t.Helper()
	if w.kind.Layout != "separate" || !w.nested {
		return
	}
	for _, l := range w.indexed() {
		if l.isLink() && w.gitDirOf(w.path(l.path+"/.git")) == w.gitDir {
			w.t.Skipf("seed %d ends at step %d, for git status calls itself without end in %q, which leads to the repository around it", w.seed, len(w.log), l.path)
		}
	}
}

// leaveTooLong takes conflicts out of an index that git add neither resolves nor
// fails at: their names are too long to be looked at. It takes entries out where a link
// is in the place of their directory: git asks where the link leads whether they are
// there, and leaves them alone if it is told neither that they are nor that they are
// not, because the name is too long, the link leads to itself, or nobody may look. What
// is not wanted on disk stays all the same.
func (w *world) leaveTooLong(rest *removal) {
	rest.drop(".", func(l listed) bool {
		_, err := os.Lstat(w.path(l.path))
		unknown := err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
		return l.stage != 0 && errors.Is(err, syscall.ENAMETOOLONG) || unknown && !l.unwanted && w.belowLink(l.path)
	})
}

// belowLink reports whether a link is in the place of a directory above a path.
func (w *world) belowLink(p string) bool {
	for at := filepath.Dir(p); at != "."; at = filepath.Dir(at) {
		if st, err := os.Lstat(w.path(at)); err == nil && st.Mode().Type() == os.ModeSymlink {
			return true
		}
	}
	return false
}

// whose is the path inside that git means: it may name the git directory, which
// is that of a copy too.
func (w *world) whose(named string, but []string) string {
	if !filepath.IsAbs(named) {
		return named
	}
	var found string
	_ = filepath.WalkDir(w.root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != ".git" || filepath.Dir(p) == w.root {
			return nil
		}
		rel := filepath.Dir(p)[len(w.root)+1:]
		if w.gitDirOf(p) == named && !slices.Contains(but, rel) && found == "" {
			found = rel
		}
		return nil
	})
	return found
}

// gitDirOf is where a ".git" leads.
func (w *world) gitDirOf(dotGit string) string {
	at, err := filepath.EvalSymlinks(dotGit)
	if err != nil {
		return ""
	}
	data, err := os.ReadFile(at)
	if err != nil {
		return at
	}
	dir := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir: "))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(at), dir)
	}
	return dir
}
