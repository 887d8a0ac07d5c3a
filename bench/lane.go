package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A stage is the corpus on one file system, and the copies of it.
type stage struct {
	o      Options
	dir    string
	kind   string // of the file system
	names  names
	want   picture // of a clean checkout; nil until it is asked for
	chosen []contender
	lanes  []*lane
	living []resident // the systems that have a process
}

// A place is a directory on a file system that the report names.
type place struct {
	dir  string
	kind string
	undo func() error // nil: nothing to undo
}

// imageBytes is the size of the file system made for a corpus of some bytes: the
// peers leave thousands of small files for each round. The file is sparse.
func imageBytes(corpus int64, rounds int) int64 { return 4*corpus + int64(rounds+4)<<28 }

// A lane is one contender's copy of the corpus and everything that it keeps.
type lane struct {
	contender  contender
	system     system // nil for those that only look
	binary     string
	tree       string // the worktree; what the contender protects
	home       string // of the user who runs it
	state      string // a directory for whatever is kept outside of the worktree
	scratch    string // for what lives only while a command runs
	env        []string
	names      *names
	read       memory // of the files that were compared
	peak       peak
	primed     bool // the system has recorded something since it was made to forget
	edits      int  // makes every edit another one
	harmed     int  // files that the last harm took
	large      int64
	repository string     // where it keeps what it has elsewhere, while that is what is measured
	counts     func() int // how many requests there were of anybody; nil: nobody is asked
	was        string     // the branch of before, while others are checked out
	branches   [2]string  // two commits
	branch     int        // which of them is checked out
}

// names are the files of a worktree.
type names struct {
	files int        // every file and link
	dirs  []dirNames // all of them, by directory
	old   []string   // small regular files that git has, for editing
	links []string
}

// dirNames are the files and links of one directory.
type dirNames struct {
	path  string // relative to the worktree
	names []string
}

// newStage copies or generates the corpus and commits it to git if it is no
// repository yet.
func newStage(ctx context.Context, o Options, where place, chosen []contender) (*stage, error) {
	st := &stage{o: o, dir: where.dir, kind: where.kind, chosen: chosen}
	if err := os.MkdirAll(where.dir, 0o755); err != nil {
		return nil, err
	}
	copies := 1 + lanesOf(chosen)
	need := copies * corpusBytes(o)
	if has, err := durable.Free(where.dir); err == nil && has < need {
		return nil, fmt.Errorf("%d copies need some %d MB, and only %d are free: choose fewer contenders, or another directory", copies, need>>20, has>>20)
	}
	if o.Corpus == "" {
		o.Progress(fmt.Sprintf("making %d files on %s", o.Files, where.kind))
	} else {
		o.Progress("copying the corpus to " + where.kind)
	}
	l, err := st.emptyLane("corpus")
	if err != nil {
		return nil, err
	}
	if o.Corpus == "" {
		err = generate(ctx, l.tree, o)
	} else {
		err = copyTree(ctx, l.tree, o.Corpus)
	}
	if err = firstError(err, l.commit(ctx, o.Corpus == "")); err != nil {
		return nil, err
	}
	st.names, err = l.list(ctx)
	return st, err
}

// emptyLane makes the directories of a lane.
func (st *stage) emptyLane(name string) (*lane, error) {
	dir := filepath.Join(st.dir, name)
	l := &lane{binary: st.o.Binary, tree: filepath.Join(dir, "tree"), state: filepath.Join(dir, "state"), scratch: filepath.Join(dir, "tmp"), names: &st.names, read: memory{}, large: st.o.large}
	l.home = filepath.Join(dir, "home")
	run := filepath.Join(dir, "run")
	for _, d := range []string{l.tree, l.state, l.scratch, l.home, run} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	l.env = cleanEnv(l.home, l.state, "XDG_RUNTIME_DIR="+run, "TMPDIR="+l.scratch)
	return l, os.Chmod(l.tree, 0o755)
}

// lane is the key of a contender's lane.
func (c contender) lane() string {
	if c.look != nil && c.needs == "" || c.key == "git-status" {
		return "looks"
	}
	return c.key
}

// lanesOf is how many lanes contenders need.
func lanesOf(chosen []contender) int64 {
	keys := map[string]bool{}
	for _, c := range chosen {
		keys[c.lane()] = true
	}
	return int64(len(keys))
}

// lane gives the lane of a contender, and makes it when it is first asked for.
// Those that only look, and write nothing, are one another's guests.
func (st *stage) lane(ctx context.Context, c contender) (*lane, error) {
	key := c.lane()
	for _, l := range st.lanes {
		if l.contender.key == key {
			return l, nil
		}
	}
	st.o.Progress(fmt.Sprintf("copying %d files for %s", st.names.files, c.name))
	l, err := st.emptyLane(fmt.Sprintf("%02d", len(st.lanes)))
	if err != nil {
		return nil, err
	}
	l.contender = c
	l.contender.key = key
	if c.before {
		l.binary = st.o.Before
	}
	if err := copyTree(ctx, l.tree, filepath.Join(st.dir, "corpus", "tree")); err != nil {
		return nil, err
	}
	// The copied index knows the files by other inodes. A reset would write each anew.
	if _, err := l.git(ctx, "update-index", "-q", "--refresh"); err != nil {
		return nil, err
	}
	if c.makes() {
		l.system = st.system(c, l)
	}
	st.lanes = append(st.lanes, l)
	return l, nil
}

// system makes that of a contender, in a lane.
func (st *stage) system(c contender, l *lane) system {
	made := c.make(l)
	if r, ok := made.(resident); ok {
		st.living = append(st.living, r)
	}
	return made
}

// close ends whatever still runs.
func (st *stage) close() {
	for _, r := range st.living {
		r.end()
	}
}

// picture gives that of a clean checkout.
func (st *stage) picture(ctx context.Context) (picture, error) {
	if st.want != nil {
		return st.want, ctx.Err()
	}
	p, err := takePicture(filepath.Join(st.dir, "corpus", "tree"), nil)
	st.want = p
	return p, err
}

// cleanEnv is an environment in which only the corpus decides.
func cleanEnv(home, state string, more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc([]string{"GIT_", "XDG_", "REWIND_", "RESTIC_", "BORG_", "AWS_"}, func(p string) bool { return strings.HasPrefix(name, p) }) && name != "HOME" && name != "TMPDIR" {
			env = append(env, v)
		}
	}
	env = append(env, "HOME="+home, "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+state, "XDG_CONFIG_HOME="+home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+os.DevNull,
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost")
	return slices.Clip(append(env, more...)) // four sessions at once add to it
}

// commit makes the worktree a clean checkout, packed, with a fresh index.
func (l *lane) commit(ctx context.Context, generated bool) error {
	s := script{ctx: ctx, l: l}
	if !absent(filepath.Join(l.tree, ".git", "HEAD")) {
		s.git("config", "gc.auto", "0")
		s.git("reset", "-q", "--hard")
	} else {
		adds, repack := [][]string{{"add", "-A"}}, "-adq"
		if generated {
			adds, repack = l.addPacked(), "-dq"
		}
		s.git("init", "-q")
		s.git("config", "gc.auto", "0")
		for _, args := range adds {
			s.git(args...)
		}
		s.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "corpus")
		s.git("repack", repack)
	}
	s.git("update-index", "-q", "--refresh")
	if dirty := s.git("status", "--porcelain"); dirty != "" {
		return fmt.Errorf("the corpus is not a clean checkout: %.200s", dirty)
	}
	return s.err
}

// addPacked are the commands that add what was generated. A file above the threshold
// goes into a pack at once: no objects of a file each are made, and no deltas are
// looked for. For each file git goes through all that the same command has packed so
// far, so each part has a command of its own.
func (l *lane) addPacked() (adds [][]string) {
	entries, err := os.ReadDir(l.tree)
	if err != nil {
		return [][]string{{"add", "-A"}} // which will say what is wrong
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			adds = append(adds, []string{"-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "add", "-A", "--", e.Name()})
		}
	}
	return adds
}

// clean makes the worktree a clean checkout again.
func (l *lane) clean(ctx context.Context) error {
	s := script{ctx: ctx, l: l}
	s.git("reset", "-q", "--hard")
	s.git("clean", "-fdq")
	return s.err
}

// list gives the names in the worktree.
func (l *lane) list(ctx context.Context) (n names, err error) {
	out, err := l.git(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return n, err
	}
	for _, line := range split0(out) {
		_, name, _ := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(line, "120000"):
			n.links = append(n.links, name)
		case strings.HasPrefix(line, "100644") && !strings.HasPrefix(filepath.Base(name), ".git"): // a file with rules changes more than itself
			if fi, err := os.Lstat(l.path(name)); err == nil && fi.Size() < 1<<20 {
				n.old = append(n.old, name)
			}
		}
	}
	if len(n.old) < 10 {
		return n, errors.New("the corpus has fewer than ten files to edit")
	}
	at := map[string]int{} // index into dirs
	return n, filepath.WalkDir(l.tree, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			rel, err := filepath.Rel(l.tree, path)
			at[path] = len(n.dirs)
			n.dirs = append(n.dirs, dirNames{path: rel})
			return err
		}
		in := &n.dirs[at[filepath.Dir(path)]]
		in.names = append(in.names, d.Name())
		n.files++
		return nil
	})
}

// path is where a name of the worktree is.
func (l *lane) path(name string) string { return filepath.Join(l.tree, filepath.FromSlash(name)) }

// wake lets what lives between the turns run, and rest halts it.
func (l *lane) wake() {
	if r, ok := l.system.(resident); ok {
		r.wake()
	}
}

func (l *lane) rest() {
	if r, ok := l.system.(resident); ok {
		r.rest()
	}
}

// forget makes the system forget the worktree.
func (l *lane) forget(ctx context.Context) error { return l.system.forget(ctx, l) }

// prime makes sure that the system has recorded the worktree, and is ready.
func (l *lane) prime(ctx context.Context) error {
	if !l.primed {
		if _, err := l.system.snapshot(ctx, l); err != nil {
			return err
		}
		l.primed = true
	}
	if r, ok := l.system.(resident); ok {
		return r.ready(ctx, l)
	}
	return nil
}

// A tally is what lies in directories.
type tally struct {
	allocated, bytes int64 // of directories too; of files alone
	files            int
}

// tally looks at git's and the contender's state, or at its repository, if that is what is measured.
func (l *lane) tally() (t tally, err error) {
	roots := []string{filepath.Join(l.tree, ".git"), l.state}
	if l.repository != "" {
		roots = []string{l.repository}
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return nil // it has just gone
			}
			t.allocated += allocated(fi)
			if !fi.IsDir() {
				t.bytes, t.files = t.bytes+fi.Size(), t.files+1
			}
			return nil
		})
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// requests is how many were made by anybody.
func (l *lane) requests() int {
	if l.counts == nil {
		return 0
	}
	return l.counts()
}

// stored is how many bytes are allocated there.
func (l *lane) stored() (int64, error) {
	t, err := l.tally()
	return t.allocated, err
}

// split0 splits git's -z output.
func split0(out string) []string {
	return slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
}
