package gitconf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/wildmatch"
)

// Options say where the environment is. The zero value, and nil, are the
// recommended: the process's own environment. A repository chosen by GIT_DIR and the
// like is ignored: they are inherited by whatever git runs from a hook or an alias, where
// they may point to another repository than the directory given.
type Options struct {
	// Env looks up an environment variable, "" if it is not set; nil is
	// [os.Getenv]. The home directory, too, comes from it (HOME).
	Env func(name string) string
}

func (o *Options) env(name string) string {
	if o == nil || o.Env == nil {
		return os.Getenv(name)
	}
	return o.Env(name)
}

// home returns a user's home directory, the process's user's for "".
func (o *Options) home(name string) (string, error) {
	if name != "" {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.HomeDir, nil
	}
	if dir := o.env("HOME"); dir != "" {
		return dir, nil
	}
	if runtime.GOOS == "windows" { // a shell of git has set HOME, no other
		for _, dir := range []string{o.env("HOMEDRIVE") + o.env("HOMEPATH"), o.env("USERPROFILE")} {
			if filepath.IsAbs(dir) {
				return dir, nil
			}
		}
	}
	if o == nil || o.Env == nil {
		return os.UserHomeDir()
	}
	return "", errors.New("no home directory")
}

const (
	includeDepthMax = 10       // git's
	configBytesMax  = 64 << 20 // a larger one is no configuration; and of all that is read together
	settingsMax     = 1 << 20  // of all files together
	includesMax     = 1 << 12  // ten files that include one another ten times are read a thousand million times
)

// A loader collects settings in the order in which git reads them.
type loader struct {
	opt      *Options
	layout   *Layout // nil outside a repository
	branch   func() string
	settings []Setting
	depth    int
	included int  // files
	bytes    int  // of all files
	any      bool // conditions of includes are not asked: each may hold
	remotes  remotes
}

// ReadFile reads one file of git's syntax and what it includes; includes under
// a condition about a repository are left out. A missing file is
// [fs.ErrNotExist].
func ReadFile(path string, opt *Options) (*Config, error) {
	l := loader{opt: opt}
	if err := l.file(path, Global); err != nil {
		return nil, err
	}
	return newConfig(l.settings, opt), nil
}

// userConfig reads what git reads outside of any repository: the machine's,
// the user's and the environment's settings. Nobody who merely made a
// repository can change them.
func userConfig(opt *Options) (*Config, error) {
	l := loader{opt: opt}
	if err := l.user(); err != nil {
		return nil, err
	}
	if err := l.environment(); err != nil {
		return nil, err
	}
	return newConfig(l.settings, opt), nil
}

// Config reads all settings in force in the repository: the machine's, the
// user's, the repository's, the worktree's, the environment's. It reads the
// files anew at each call.
func (l *Layout) Config() (*Config, error) { return l.ConfigOn(l.branch) }

// ConfigOn is [Layout.Config] for whoever knows better which branch is checked
// out, "" for none: where refs are not files that is not known here. It is asked
// for only if a condition depends on it.
func (l *Layout) ConfigOn(branch func() string) (*Config, error) {
	return l.load(&loader{opt: l.opt, layout: l, branch: branch})
}

// Everything reads the settings that could be in force: also those that are
// included under conditions, whether they hold or not. Which of two settings of
// one name wins does not follow from it.
func (l *Layout) Everything() (*Config, error) {
	return l.load(&loader{opt: l.opt, layout: l, any: true})
}

func (l *Layout) load(r *loader) (*Config, error) {
	if err := r.user(); err != nil {
		return nil, err
	}
	if err := r.optional(filepath.Join(l.CommonDir, "config"), Local); err != nil {
		return nil, err
	}
	if l.worktreeConfig {
		if err := r.optional(filepath.Join(l.GitDir, "config.worktree"), Worktree); err != nil {
			return nil, err
		}
	}
	if err := r.environment(); err != nil {
		return nil, err
	}
	return newConfig(r.settings, l.opt), nil
}

// user reads the machine's and the user's files.
func (l *loader) user() error {
	env := l.opt.env
	if none, ok := parseBool(env("GIT_CONFIG_NOSYSTEM")); !ok || !none {
		path := env("GIT_CONFIG_SYSTEM")
		if path == "" {
			path = SystemFile("gitconfig", l.opt)
		}
		if err := l.optional(path, System); err != nil {
			return err
		}
	}
	var files []string
	if path := env("GIT_CONFIG_GLOBAL"); path != "" {
		files = []string{path}
	} else {
		home, err := l.opt.home("")
		if xdg := env("XDG_CONFIG_HOME"); xdg != "" {
			files = append(files, filepath.Join(xdg, "git", "config"))
		} else if err == nil {
			files = append(files, filepath.Join(home, ".config", "git", "config"))
		}
		if err == nil {
			files = append(files, filepath.Join(home, ".gitconfig"))
		}
	}
	for _, path := range files {
		// As in git, files of a home that may not be read count as missing.
		if err := l.optional(path, Global); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// environment reads the settings that are passed down in GIT_CONFIG_COUNT,
// GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n. GIT_CONFIG_PARAMETERS, in which git
// passes its -c options to its own children, is not documented and not read.
func (l *loader) environment() error {
	count := l.opt.env("GIT_CONFIG_COUNT")
	if count == "" {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return fmt.Errorf("environment: %w: GIT_CONFIG_COUNT = %q", ErrValue, count)
	}
	for i := range n {
		key := l.opt.env("GIT_CONFIG_KEY_" + strconv.Itoa(i))
		name, ok := canonical(key)
		if !ok {
			return fmt.Errorf("environment: %w: GIT_CONFIG_KEY_%d = %q", ErrValue, i, key)
		}
		s := Setting{Name: name, Value: l.opt.env("GIT_CONFIG_VALUE_" + strconv.Itoa(i)), Scope: Command}
		if err := l.add(s); err != nil {
			return err
		}
	}
	return nil
}

// optional reads a file that need not exist.
func (l *loader) optional(path string, scope Scope) error {
	err := l.file(path, scope)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

func (l *loader) file(path string, scope Scope) error {
	data, err := readSmall(path)
	if err != nil {
		return err
	}
	if l.bytes += len(data); l.bytes > configBytesMax {
		return fmt.Errorf("%s: %w: more than %d bytes with the files before it", path, ErrSyntax, configBytesMax)
	}
	settings, err := parse(data, path, scope)
	if err != nil {
		return err
	}
	l.settings = slices.Grow(l.settings, len(settings))
	for i := range settings {
		if err := l.add(settings[i]); err != nil {
			return err
		}
	}
	return nil
}

// readSmall reads a whole file, but not without end, and never waits.
func readSmall(path string) ([]byte, error) {
	data, err := regular.Read(path, configBytesMax)
	switch {
	case errors.Is(err, regular.ErrLarge):
		return nil, fmt.Errorf("%s: %w: larger than %d bytes", path, ErrSyntax, configBytesMax)
	case errors.Is(err, regular.ErrIrregular) && isNull(path):
		return nil, nil // how an empty configuration is asked for
	}
	return data, err
}

func isNull(path string) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && os.SameFile(st, null)
}

// add keeps a setting and, if it is an include, reads what it includes.
func (l *loader) add(s Setting) error {
	if len(l.settings) == settingsMax {
		return s.fault(fmt.Sprintf("more than %d settings", settingsMax))
	}
	if err := l.remotes.check(&s); err != nil {
		return err
	}
	l.settings = append(l.settings, s)
	rest, isInclude := strings.CutPrefix(s.Name, "include")
	if !isInclude {
		return nil
	}
	if rest != ".path" {
		condition, ok := strings.CutPrefix(rest, "if.")
		if !ok {
			return nil
		}
		if condition, ok = strings.CutSuffix(condition, ".path"); !ok {
			return nil
		}
		if holds, err := l.holds(condition, &s); err != nil || !holds {
			return err
		}
		l.remotes.under++
		defer func() { l.remotes.under-- }()
	}
	if s.Bare {
		return s.fault("no path")
	}
	path, err := expand(s.Value, l.opt.home)
	if err != nil {
		return s.fault(err.Error())
	}
	if path = onDrive(s.File, path); !filepath.IsAbs(path) {
		if s.File == "" {
			return s.fault("relative to nothing")
		}
		path = filepath.Join(filepath.Dir(s.File), path)
	}
	if l.depth++; l.depth > includeDepthMax {
		return s.fault("included too deep")
	}
	if l.included++; l.included > includesMax {
		return s.fault(fmt.Sprintf("more than %d files are included", includesMax))
	}
	err = l.optional(path, s.Scope)
	l.depth--
	return err
}

// holds reports whether the condition of an includeIf holds. One that is not known
// does not.
func (l *loader) holds(condition string, s *Setting) (bool, error) {
	if l.any || l.layout == nil {
		return l.any, nil
	}
	kind, pattern, ok := strings.Cut(condition, ":")
	if !ok {
		return false, nil
	}
	switch kind {
	case "gitdir":
		return l.liesIn(l.layout.GitDir, pattern, s, wildmatch.Exact), nil
	case "gitdir/i":
		return l.liesIn(l.layout.GitDir, pattern, s, wildmatch.Fold), nil
	case "worktree":
		return l.liesIn(l.layout.Worktree, pattern, s, wildmatch.Exact), nil
	case "worktree/i":
		return l.liesIn(l.layout.Worktree, pattern, s, wildmatch.Fold), nil
	case "onbranch":
		branch := l.branch()
		return branch != "" && wildmatch.Compile(below(pattern), wildmatch.Exact).Match([]byte(branch)), nil
	case "hasconfig":
		return l.hasRemote(pattern)
	}
	return false, nil
}

// below makes a pattern that ends in a slash match everything below.
func below(pattern string) string {
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return pattern
}

// liesIn compares the git directory, or the top of the worktree ("" if there is
// none), with a pattern. What "./" stands for is compared literally, without
// wildcards.
func (l *loader) liesIn(what, pattern string, s *Setting, c wildmatch.Case) bool {
	if what == "" {
		return false
	}
	pattern, err := expand(pattern, l.realHome)
	if err != nil {
		return false
	}
	literal := ""
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		file, err := filepath.EvalSymlinks(s.File)
		if err != nil {
			return false
		}
		literal, pattern = filepath.ToSlash(filepath.Dir(file))+"/", rest
	} else if !filepath.IsAbs(onDrive(what, pattern)) {
		pattern = "**/" + pattern
	}
	glob := wildmatch.Compile(below(literal + pattern)[len(literal):], c)
	for _, dir := range []string{resolve(what), what} {
		dir = filepath.ToSlash(dir)
		if len(dir) < len(literal) {
			continue
		}
		head, tail := dir[:len(literal)], dir[len(literal):]
		if head == literal && glob.Match([]byte(tail)) {
			return true
		}
	}
	return false
}

func (l *loader) realHome(user string) (string, error) {
	dir, err := l.opt.home(user)
	return filepath.ToSlash(resolve(dir)), err // a backslash would quote
}

// resolve follows symbolic links where that can be done.
func resolve(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}
