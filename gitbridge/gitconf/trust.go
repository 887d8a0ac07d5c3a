package gitconf

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/trust"
)

// judge holds what was found against its owners before anything of it is read.
func (s *search) judge(f found) error {
	j := s.opt.judge()
	return j.Owns(f.name(), f.gitFile, f.top, f.gitDir, f.common, filepath.Join(f.common, "objects"))
}

// judgeWorktree does the same for a worktree that core.worktree puts elsewhere:
// an exception may name it, or the repository.
func (s *search) judgeWorktree(l *Layout) error {
	f := l.found
	if l.Worktree == f.top {
		return nil
	}
	j := s.opt.judge()
	if j.Owns(f.name(), l.Worktree) == nil {
		return nil
	}
	return j.Owns(l.Worktree, l.Worktree)
}

// name is what a repository is called in safe.directory.
func (f *found) name() string { return cmp.Or(f.top, f.gitDir) }

// Owns reports whether what we keep in the git directory is the user's own, as
// [trust.Judge] does; an exception for the repository is one for this too.
func (l *Layout) Owns(paths ...string) error {
	j := l.opt.judge()
	return j.Owns(l.found.name(), paths...)
}

func (o *Options) judge() *trust.Judge {
	return &trust.Judge{Env: o.env, Allowed: func(name string) bool { return isSafe(name, o) }}
}

// isSafe reports whether the user's own settings, the machine's or the
// environment's name a directory in safe.directory. No repository has a say.
func isSafe(name string, opt *Options) (safe bool) {
	c, err := userConfig(opt)
	if err != nil {
		return false
	}
	for _, dir := range c.Strings("safe.directory") {
		switch {
		case dir == "":
			safe = false // forgets what came before
		case dir == "*":
			safe = true
		default:
			safe = safe || names(dir, name, opt)
		}
	}
	return safe
}

// names reports whether a value of safe.directory, a path or a path with "/*"
// for everything below it, names a directory.
func names(value, dir string, opt *Options) bool {
	path, err := expand(value, opt.home)
	if err != nil {
		return false
	}
	path, below := strings.CutSuffix(filepath.ToSlash(path), "/*")
	path, dir = filepath.ToSlash(resolve(path)), filepath.ToSlash(dir)
	if below {
		return strings.HasPrefix(dir, strings.TrimSuffix(path, "/")+"/")
	}
	return path == dir
}
