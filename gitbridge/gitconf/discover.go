package gitconf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/regular"
)

// ErrNotRepository is reported if neither the directory nor any above it, up to
// a ceiling or the edge of the file system, is a git repository.
var ErrNotRepository = errors.New("not a git repository")

// ErrBroken is reported for what claims to be a repository but cannot be used:
// a .git file that points to nothing, or an unknown object format. Git refuses
// it too.
var ErrBroken = errors.New("broken git repository")

// Discover finds the repository that a directory lies in, as git does: upwards,
// in each directory looking for .git, a directory or a file that points to one,
// and for a git directory itself (a bare repository, or the inside of a .git).
// It does not go up into a directory of GIT_CEILING_DIRECTORIES, nor across the
// edge of a file system unless GIT_DISCOVERY_ACROSS_FILESYSTEM is true.
//
// Its errors are [ErrNotRepository], [ErrBroken], [ErrSyntax] and [ErrValue]
// for the repository's configuration, and those of the file system.
func Discover(dir string, opt *Options) (*Layout, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if start, err = filepath.EvalSymlinks(start); err != nil {
		return nil, err
	}
	s := search{opt: opt, start: start}
	found, err := s.upwards()
	if err != nil {
		return nil, err
	}
	return s.layout(found)
}

// Nested returns the repository of a directory that lies inside the worktree of
// another: whose .git is in this very directory. As for git add it stays one
// wherever its own settings say that its worktree is, and if they say that it has
// none: a submodule that was moved or copied, or one with core.bare. So the
// Worktree of the answer is dir, and Bare is false. The environment is not
// obeyed. The errors are those of [Discover]; ErrNotRepository means that git
// takes the directory for an ordinary one, also where a .git file leads nowhere.
func Nested(dir string, opt *Options) (*Layout, error) {
	start, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	s := search{opt: opt, start: start}
	f, err := beside(start)
	if err == nil && f.gitDir == "" || errors.Is(err, ErrBroken) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotRepository)
	}
	if err != nil {
		return nil, err
	}
	l, err := s.layout(f)
	if err != nil {
		return nil, err
	}
	l.Worktree, l.Bare = start, false
	return l, nil
}

// A search is one discovery. What it finds is where the parts of a repository
// lie, before its settings are read.
type search struct {
	opt   *Options
	start string
}

type found struct {
	top     string // directory that has the .git; "" inside a git directory
	gitFile string // .git, if it is a file
	gitDir  string
	common  string
}

func (s *search) upwards() (found, error) {
	ceiling := s.ceiling()
	across, _ := parseBool(s.opt.env("GIT_DISCOVERY_ACROSS_FILESYSTEM"))
	device, err := deviceOf(s.start)
	if err != nil {
		return found{}, err
	}
	for dir := s.start; ; {
		f, err := look(dir)
		if err != nil { // whose it is, comes before what is wrong with it
			return f, cmp.Or(s.opt.judge().Owns(dir, filepath.Join(dir, ".git"), dir), err)
		}
		if f.gitDir != "" {
			return f, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir || parent == ceiling {
			break
		}
		if !across {
			if d, err := deviceOf(parent); err != nil || d != device {
				break
			}
		}
		dir = parent
	}
	return found{}, fmt.Errorf("%s: %w", s.start, ErrNotRepository)
}

// look looks into one directory; no git directory in the answer means that
// there is none.
func look(dir string) (found, error) {
	f, err := beside(dir)
	if err != nil || f.gitDir != "" {
		return f, err
	}
	if common, ok, _ := isGitDir(dir); ok {
		return found{gitDir: dir, common: common}, nil
	}
	return found{}, nil
}

// beside is look for the .git in a directory alone.
func beside(dir string) (found, error) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err != nil:
	case info.IsDir():
		common, ok, err := isGitDir(dotGit)
		if err != nil {
			return found{}, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if ok {
			return found{top: dir, gitDir: dotGit, common: common}, nil
		}
		if _, err := os.Lstat(filepath.Join(dotGit, "HEAD")); errors.Is(err, fs.ErrPermission) { // whether it is one is not known
			return found{}, fmt.Errorf("%w: %w", ErrBroken, err)
		}
	case info.Mode().IsRegular():
		target, err := ReadGitFile(dotGit)
		if err != nil {
			return found{}, err
		}
		common, ok, err := isGitDir(target)
		if !ok {
			return found{}, errors.Join(fmt.Errorf("%s points to %s: %w", dotGit, target, ErrBroken), err)
		}
		return found{top: dir, gitFile: dotGit, gitDir: target, common: common}, nil
	}
	return found{}, nil
}

// ceiling returns the nearest of GIT_CEILING_DIRECTORIES above the start. An
// empty entry says that those behind it contain no symbolic links.
func (s *search) ceiling() string {
	list := s.opt.env("GIT_CEILING_DIRECTORIES")
	if list == "" {
		return ""
	}
	best, literal := "", false
	for _, c := range filepath.SplitList(list) {
		switch {
		case c == "":
			literal = true
			continue
		case !filepath.IsAbs(c):
			continue
		case !literal:
			c = resolve(c)
		}
		c = filepath.Clean(c)
		if len(c) > len(best) && strings.HasPrefix(s.start, strings.TrimSuffix(c, string(filepath.Separator))+string(filepath.Separator)) {
			best = c
		}
	}
	return best
}

// ReadGitFile returns the git directory to which a .git leads that is a file: "gitdir: "
// and a path, relative to where the file lies. What is none is [ErrBroken].
func ReadGitFile(path string) (string, error) {
	data, err := regular.Read(path, gitFileBytesMax)
	if refused(err) {
		return "", fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(string(data), "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	if !ok || target == "" || strings.IndexByte(target, 0) >= 0 {
		return "", fmt.Errorf("%s: %w: no \"gitdir: PATH\"", path, ErrBroken)
	}
	return resolve(Inside(filepath.Dir(path), filepath.FromSlash(target))), nil
}

// isGitDir reports whether a directory is a git directory, by git's three
// signs: a HEAD that could be one, objects and refs. The last two lie in the
// common directory, which is returned. The error names a file that cannot be
// read because it is a pipe or a giant.
func isGitDir(dir string) (common string, ok bool, err error) {
	if ok, err := validHead(filepath.Join(dir, "HEAD")); err != nil || !ok {
		return "", false, err
	}
	common, err = commonDir(dir)
	if err != nil {
		return "", false, onlyRefused(err)
	}
	for _, sub := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, sub)); err != nil || !info.IsDir() {
			return "", false, nil
		}
	}
	return common, true, nil
}

// commonDir follows the file commondir of a linked worktree's git directory.
func commonDir(gitDir string) (string, error) {
	data, err := regular.Read(filepath.Join(gitDir, "commondir"), pathBytesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	target := strings.TrimRight(string(data), "\r\n")
	if target == "" || strings.IndexByte(target, 0) >= 0 {
		return "", fmt.Errorf("%s: %w: empty commondir", gitDir, ErrBroken)
	}
	if gitDir, err = filepath.EvalSymlinks(gitDir); err != nil { // what is above a link is not what is above its target
		return "", err
	}
	return filepath.EvalSymlinks(Inside(gitDir, filepath.FromSlash(target)))
}

// validHead reports whether a file could be a HEAD: a link into refs, a
// symbolic ref into refs, or an object id.
func validHead(path string) (bool, error) {
	if target, err := os.Readlink(path); err == nil {
		return strings.HasPrefix(target, "refs/"), nil
	}
	data, err := regular.Read(path, pathBytesMax)
	if err != nil {
		return false, onlyRefused(err)
	}
	text := string(data)
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t\r\n"), "refs/"), nil
	}
	hex := 0
	for hex < len(text) && strings.IndexByte("0123456789abcdefABCDEF", text[hex]) >= 0 {
		hex++
	}
	return hex >= 40, nil
}

// Bounds of files that have one path or name, far above any real one.
const (
	gitFileBytesMax = 1 << 20
	pathBytesMax    = 1 << 16
)

// refused reports whether a file was not read because of what it is.
func refused(err error) bool {
	return errors.Is(err, regular.ErrIrregular) || errors.Is(err, regular.ErrLarge)
}

// onlyRefused returns the errors of [refused].
func onlyRefused(err error) error {
	if refused(err) {
		return err
	}
	return nil
}

// Inside makes a path absolute that is relative to a directory.
func Inside(dir, path string) string {
	if path = onDrive(dir, path); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// onDrive gives a path that begins with a slash the drive of a directory, as git has it
// where there are drives. Any other is as it was.
func onDrive(dir, path string) string {
	if path != "" && os.IsPathSeparator(path[0]) && !filepath.IsAbs(path) {
		return filepath.VolumeName(dir) + path
	}
	return path
}
