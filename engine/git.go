package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/gitconf"
	"github.com/seed-82afce7a/rewind/internal/gitindex"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// scanSettings takes over what git's configuration says about looking at
// files. A malformed value counts as git's default and is a warning. By
// core.trustctime and core.checkStat git may be told to overlook edits: they
// are not obeyed, which may cost the first scan some reading.
func (e *Engine) scanSettings() worktree.Settings {
	flag := func(name string, otherwise bool) bool {
		v, err := e.git.Bool(name, otherwise)
		if err != nil {
			e.conf.warn(err.Error())
		}
		return v
	}
	s := worktree.Settings{
		NoFileMode: !flag("core.filemode", true),
		NoSymlinks: !flag("core.symlinks", true),
		FoldCase:   flag("core.ignorecase", false),
		AllowNTFS:  !flag("core.protectntfs", true),
		ProtectHFS: flag("core.protecthfs", false),
	}
	if flag("core.precomposeunicode", false) && runtime.GOOS == "darwin" { // git knows the setting nowhere else
		s.Compose = norm.NFC.String
	}
	return s
}

// cleanConfig takes over what git's configuration says about converting files.
func (e *Engine) cleanConfig() *attr.Config {
	c := &attr.Config{Filters: map[string]attr.Filter{}}
	if v, _ := e.git.String("core.autocrlf"); strings.EqualFold(v, "input") {
		c.AutoCRLF = attr.AutoInput
	} else if on, _ := e.git.Bool("core.autocrlf", false); on {
		c.AutoCRLF = attr.AutoTrue
	}
	switch v, _ := e.git.String("core.eol"); strings.ToLower(v) {
	case "lf":
		c.EOL = attr.EOLLF
	case "crlf":
		c.EOL = attr.EOLCRLF
	}
	if on, err := e.git.Bool("core.safecrlf", false); err == nil && on {
		c.SafeCRLF = true
	}
	for _, s := range e.git.Settings() {
		e.addFilter(c.Filters, s)
	}
	return c
}

// addFilter takes over one setting of a filter driver.
func (e *Engine) addFilter(filters map[string]attr.Filter, s gitconf.Setting) {
	rest, ok := strings.CutPrefix(s.Name, "filter.")
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return
	}
	name, key := rest[:dot], rest[dot+1:]
	f := filters[name]
	switch key {
	case "clean":
		f.Clean = s.Value
	case "process":
		f.Process = s.Value
	case "required":
		f.Required, _ = e.git.Bool(s.Name, false)
	default:
		return
	}
	filters[name] = f
}

// An index is git's index as it was found, to be decoded.
type index struct {
	read func() (*gitindex.Index, error)
	stat dirfd.Stat
	err  error
}

func (e *Engine) index() *index {
	x := &index{}
	x.read, x.stat, x.err = readIndex(e.repo.Layout(), "")
	return x
}

// expectIndex begins to decode git's index where there is no stat table: then it
// is needed for certain.
func (c *capture) expectIndex() {
	if c.e.repo == nil {
		return
	}
	if _, err := os.Lstat(filepath.Join(c.e.table, tableFile)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	c.index = c.e.index()
	if c.index.err == nil {
		c.index.read = sync.OnceValues(c.index.read)
		go c.index.read()
	}
}

// indexBytesMax bounds an index: some ten million entries.
const indexBytesMax = 1 << 30

// readIndex returns the function that decodes the index of the repository at a
// path below the worktree, and the stat data of its file (zero if there is none).
func readIndex(l *gitconf.Layout, at string) (func() (*gitindex.Index, error), dirfd.Stat, error) {
	dir, err := dirfd.Open(filepath.Dir(l.IndexFile))
	if err != nil {
		return nil, dirfd.Stat{}, err
	}
	defer dir.Close()
	st, err := dir.Lstat(filepath.Base(l.IndexFile))
	if os.IsNotExist(err) { // nothing was added yet
		return noIndex, dirfd.Stat{}, nil
	}
	if err != nil {
		return nil, dirfd.Stat{}, err
	}
	bad := func(err error) error {
		return &indexError{path.Join(at, ".git"), fmt.Errorf("git's index %s: %w", l.IndexFile, err)}
	}
	return func() (*gitindex.Index, error) {
		data, err := regular.Read(l.IndexFile, indexBytesMax)
		if err != nil {
			return nil, bad(err)
		}
		x, err := gitindex.Decode(data, &gitindex.Options{Algorithm: l.Algorithm, Mtime: st.Mtime, Shared: func(id oid.ID) ([]byte, error) {
			return regular.Read(filepath.Join(filepath.Dir(l.IndexFile), "sharedindex."+id.String()), indexBytesMax)
		}})
		if err != nil {
			return nil, bad(err)
		}
		return x, nil
	}, st, nil
}

// An indexError is an index that cannot be read or decoded.
type indexError struct {
	dotGit string // the path of the ".git" that it belongs to
	err    error
}

func (e *indexError) Error() string { return e.err.Error() }
func (e *indexError) Unwrap() error { return e.err }

// noIndex is the index of a repository to which nothing was added.
func noIndex() (*gitindex.Index, error) { return nil, nil }

// cone returns what a sparse checkout in cone mode wants on disk, nil where
// there is no such checkout.
func (e *Engine) cone(fold bool) *ignore.Cone {
	for _, name := range []string{"core.sparsecheckout", "core.sparsecheckoutcone"} {
		if on, err := e.git.Bool(name, false); err != nil || !on {
			return nil
		}
	}
	data, err := regular.Read(filepath.Join(e.repo.Layout().GitDir, "info", "sparse-checkout"), rulesMax)
	if err != nil {
		return nil
	}
	return ignore.ParseCone(data, &ignore.Options{FoldCase: fold})
}

// filterRunner runs the clean filters that the repository configures, if the
// repository belongs to the user: its configuration names programs. close ends
// what it started.
func (e *Engine) filterRunner() (run func(context.Context, attr.Filter, string, []byte) ([]byte, error), close func() error) {
	if !e.repo.Layout().Trusted() {
		return nil, func() error { return nil }
	}
	r := &attr.Runner{Dir: e.root, Env: e.filterEnv()}
	return r.Run, r.Close
}

// filterEnv is the environment without the variables by which an enclosing git
// command would lead a filter to another repository.
func (e *Engine) filterEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_CONFIG") {
			env = append(env, v)
		}
	}
	return env
}

// storeStat identifies the store's directory, which a scan never enters.
func storeStat(path string) dirfd.Stat {
	dir, err := dirfd.Open(path)
	if err != nil {
		return dirfd.Stat{}
	}
	defer dir.Close()
	st, err := dir.Stat()
	if err != nil && !os.IsNotExist(err) && err != fs.ErrPermission {
		return dirfd.Stat{}
	}
	return st
}
