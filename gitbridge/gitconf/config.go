// Package gitconf reads git's configuration files and finds repositories,
// without the git program.
//
// It promises git's own answers: syntax, order of files, includes, the shape of
// values, the rules of discovery and of ownership (safe.directory). The tests
// ask git. It writes nothing, runs nothing, and believes no file: what git
// would refuse is an error that names the file and the line.
//
// It does not know what the settings mean, beyond those that say where a
// repository's parts lie, and it reads no objects and no refs except HEAD.
package gitconf

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrValue is reported for a setting whose value is not of the type that was
// asked for; the error's text names the setting, its file and its line.
var ErrValue = errors.New("bad value in configuration")

// A Config is a list of settings. It is read-only and may be shared. A nil or
// zero Config has no settings.
//
// Names are given as "section.key" or "section.subsection.key"; section and key
// in any case. The last setting of a name wins.
type Config struct {
	settings []Setting
	home     func(user string) (string, error)
}

// NewConfig returns a Config of settings that come from elsewhere than a file,
// the weakest first. Their names are in the form of [Setting].
func NewConfig(settings []Setting) *Config { return newConfig(settings, nil) }

func newConfig(settings []Setting, o *Options) *Config {
	return &Config{settings, o.home}
}

// Settings returns all settings in the order in which git reads them, those of
// included files right behind the setting that included them. The caller must
// not change the slice.
func (c *Config) Settings() []Setting {
	if c == nil {
		return nil
	}
	return c.settings
}

// decides returns the setting that decides a name.
func (c *Config) decides(name string) (s Setting, ok bool) {
	for s := range c.all(name) {
		return *s, true
	}
	return s, false
}

// all gives the settings of a name, the last first.
func (c *Config) all(name string) iter.Seq[*Setting] {
	return func(yield func(*Setting) bool) {
		name, _ := canonical(name)
		for i := len(c.Settings()) - 1; i >= 0; i-- {
			if s := &c.settings[i]; s.Name == name && !yield(s) {
				return
			}
		}
	}
}

// String returns the value of a setting, "" for a bare name; ok is false if it
// is not set.
func (c *Config) String(name string) (value string, ok bool) {
	s, ok := c.decides(name)
	return s.Value, ok
}

// Strings returns all values of a name in order.
func (c *Config) Strings(name string) []string {
	var out []string
	for s := range c.all(name) {
		out = append(out, s.Value)
	}
	slices.Reverse(out)
	return out
}

// Bool returns the value of a yes-or-no setting: true, yes, on, a number that
// is not 0 and a bare name are true; false, no, off, 0 and the empty value are
// false. If it is not set, otherwise is returned; if it is neither, otherwise
// with [ErrValue].
func (c *Config) Bool(name string, otherwise bool) (bool, error) {
	s, ok := c.decides(name)
	if !ok {
		return otherwise, nil
	}
	if s.Bare {
		return true, nil
	}
	if v, ok := parseBool(s.Value); ok {
		return v, nil
	}
	return otherwise, s.fault("no boolean")
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off", "":
		return false, true
	}
	n, ok := parseInt(s)
	return n != 0, ok
}

// Int returns the value of a setting that is a number, with an optional suffix
// k, m or g that multiplies by powers of 1024. If it is not set, otherwise is
// returned; if it is no number of 64 bits, otherwise with [ErrValue].
func (c *Config) Int(name string, otherwise int64) (int64, error) {
	s, ok := c.decides(name)
	if !ok {
		return otherwise, nil
	}
	if n, ok := parseInt(s.Value); ok && !s.Bare {
		return n, nil
	}
	return otherwise, s.fault("no number")
}

// parseInt reads C's notation of numbers (0x hexadecimal, 0 octal), not Go's.
func parseInt(s string) (int64, bool) {
	s = strings.TrimLeft(s, " \t\n\r\v\f")
	shift := 0
	if s != "" {
		switch lower(s[len(s)-1]) {
		case 'k':
			shift = 10
		case 'm':
			shift = 20
		case 'g':
			shift = 30
		}
	}
	if shift > 0 {
		s = s[:len(s)-1]
	}
	if strings.ContainsAny(s, "_oO") || strings.HasPrefix(strings.ToLower(strings.TrimLeft(s, "+-")), "0b") {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n<<shift>>shift != n {
		return 0, false
	}
	return n << shift, true
}

// optional begins a path that counts as not written where there is no such file.
const optional = ":(optional)"

// Path returns the value of a setting that is a path, with "~/" and "~user/"
// put in full; one that is relative is relative to a directory, which for git is
// the top of the worktree. A value ":(optional)PATH" whose file is missing counts
// as not written. ok is false if the setting is not set; set to nothing the path
// is "".
func (c *Config) Path(name, dir string) (path string, ok bool, err error) {
	return c.path(name, dir, func(Scope) bool { return true })
}

// SharedPath is [Config.Path] for any repository: settings of this one do not count.
func (c *Config) SharedPath(name, dir string) (path string, ok bool, err error) {
	return c.path(name, dir, func(s Scope) bool { return s != Local && s != Worktree })
}

func (c *Config) path(name, dir string, counts func(Scope) bool) (path string, ok bool, err error) {
	for s := range c.all(name) {
		if !counts(s.Scope) {
			continue
		}
		if s.Bare {
			return "", false, s.fault("no path")
		}
		value, may := strings.CutPrefix(s.Value, optional)
		if path, err = expand(value, c.home); err != nil {
			return "", false, s.fault(err.Error())
		}
		if path = onDrive(dir, path); path != "" && !filepath.IsAbs(path) {
			path = dir + string(filepath.Separator) + path // not cleaned: "a/.." is nothing where there is no a
		}
		if may {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		return path, true, nil
	}
	return "", false, nil
}

// expand puts a home directory in place of "~" or "~user".
func expand(path string, home func(user string) (string, error)) (string, error) {
	if strings.HasPrefix(path, "%(prefix)/") {
		return "", errors.New("%(prefix) is known only to git")
	}
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	user, rest := path[1:], ""
	if i := strings.IndexByte(path, '/'); i > 0 {
		user, rest = path[1:i], path[i:]
	}
	dir, err := home(user)
	if err != nil {
		return "", err
	}
	return dir + rest, nil
}

func (s *Setting) fault(why string) error {
	where := "environment"
	if s.File != "" {
		where = fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return fmt.Errorf("%s: %w: %s = %q: %s", where, ErrValue, s.Name, s.Value, why)
}
