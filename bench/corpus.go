package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A stage is one copy of the corpus and everything that contenders keep of it.
type stage struct {
	binary string
	tree   string // the worktree; what the contenders protect
	state  string // a directory for whatever is kept outside of the worktree
	env    []string
	names  names
	peak   peak
	edits  int // makes every edit another one
}

// names are the files of a worktree.
type names struct {
	files int        // every file and link
	dirs  []dirNames // all of them, by directory
	old   []string   // small regular files that git has, for editing
}

// dirNames are the files and links of one directory.
type dirNames struct {
	path  string // relative to the worktree
	names []string
}

// newStage copies or generates the corpus below dir and commits it to git if
// it is no repository yet.
func newStage(ctx context.Context, o Options, dir string) (*stage, error) {
	st := &stage{binary: o.Binary, tree: filepath.Join(dir, "tree"), state: filepath.Join(dir, "state")}
	home := filepath.Join(dir, "home")
	for _, d := range []string{st.tree, st.state, home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	st.env = cleanEnv(home, st.state)
	var err error
	if o.Corpus == "" {
		err = generate(st.tree, o.Files, o.Seed)
	} else {
		err = copyTree(st.tree, o.Corpus)
	}
	if err != nil {
		return nil, err
	}
	if err := st.commit(ctx); err != nil {
		return nil, err
	}
	return st, st.list(ctx)
}

// cleanEnv is an environment in which only the corpus decides.
func cleanEnv(home, state string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "XDG_") && !strings.HasPrefix(v, "REWIND_") && !strings.HasPrefix(v, "HOME=") {
			env = append(env, v)
		}
	}
	return append(env, "HOME="+home, "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+state, "XDG_CONFIG_HOME="+home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+os.DevNull,
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost")
}

// commit makes the worktree a clean checkout, packed, with a fresh index.
func (st *stage) commit(ctx context.Context) error {
	steps := [][]string{{"init", "-q"}, {"config", "gc.auto", "0"}, {"add", "-A"},
		{"commit", "-q", "--no-verify", "--allow-empty", "-m", "corpus"}, {"repack", "-adq"}, {"update-index", "-q", "--refresh"}}
	if _, err := os.Stat(filepath.Join(st.tree, ".git", "HEAD")); err == nil {
		steps = [][]string{{"config", "gc.auto", "0"}, {"reset", "-q", "--hard"}, {"update-index", "-q", "--refresh"}}
	}
	for _, args := range steps {
		if _, err := st.git(ctx, args...); err != nil {
			return err
		}
	}
	dirty, err := st.git(ctx, "status", "--porcelain")
	if err == nil && dirty != "" {
		err = fmt.Errorf("the corpus is not a clean checkout: %.200s", dirty)
	}
	return err
}

// list fills the names of the stage.
func (st *stage) list(ctx context.Context) error {
	out, err := st.git(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return err
	}
	for _, line := range split0(out) {
		if _, name, _ := strings.Cut(line, "\t"); strings.HasPrefix(line, "100644") {
			if fi, err := os.Lstat(st.path(name)); err == nil && fi.Size() < 1<<20 {
				st.names.old = append(st.names.old, name)
			}
		}
	}
	if len(st.names.old) < 10 {
		return errors.New("the corpus has fewer than ten files to edit")
	}
	at := map[string]int{} // index into dirs
	return filepath.WalkDir(st.tree, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			rel, err := filepath.Rel(st.tree, path)
			at[path] = len(st.names.dirs)
			st.names.dirs = append(st.names.dirs, dirNames{path: rel})
			return err
		}
		in := &st.names.dirs[at[filepath.Dir(path)]]
		in.names = append(in.names, d.Name())
		st.names.files++
		return nil
	})
}

// path is where a name of the worktree is.
func (st *stage) path(name string) string { return filepath.Join(st.tree, filepath.FromSlash(name)) }

// count limits a number of files to change to half of those that there are.
func (st *stage) count(n int) int { return min(n, len(st.names.old)/2) }

// stored is how many bytes are allocated for git's and the contenders' state.
func (st *stage) stored() (int64, error) {
	var sum int64
	for _, root := range []string{filepath.Join(st.tree, ".git"), st.state} {
		err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if fi, err := d.Info(); err == nil {
				sum += allocated(fi)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// split0 splits git's -z output.
func split0(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}

// copyTree copies files, links and directories with their permissions; the
// directory to exists.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		fi, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Mkdir(target, fi.Mode().Perm()|0o700)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular():
			return nil // sockets, pipes and devices are in nobody's scope
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return firstError(os.WriteFile(target, data, 0o600), os.Chmod(target, fi.Mode().Perm()))
	})
}

// words make generated files compress about as well as source text does.
var words = strings.Fields(`func return if else for range struct type map string error nil int byte package import
	context value index buffer reader writer length offset header record entry table row key state lock`)

// generate writes n files of 0.2 to 20 KB, sixteen to a directory, the same for the same seed.
func generate(dir string, n int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		leaf := i / 16
		sub := filepath.Join(dir, fmt.Sprintf("part%02d", leaf%40), fmt.Sprintf("dir%04d", leaf))
		if i%16 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
		}
		var text []byte
		for size := 200 << random.IntN(7); len(text) < size; {
			text = append(append(text, words[random.IntN(len(words))]...), " \n\t("[random.IntN(4)])
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%05d.go", i)), text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.o\n/out/\n"), 0o644)
}

// corpusBytes is about how much room a copy needs.
func corpusBytes(o Options) int64 {
	if o.Corpus == "" {
		return int64(o.Files) * 12_000
	}
	var sum int64
	filepath.WalkDir(o.Corpus, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if fi, err := d.Info(); err == nil {
				sum += fi.Size() + 4096
			}
		}
		return nil
	})
	return sum
}
