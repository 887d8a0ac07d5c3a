package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gitconf"
)

// settings are the rewind.* values in force: the environment wins over the
// repository's git configuration, which wins over the user's own file.
type settings struct {
	force        bool
	include      []string // patterns of ignored files that are recorded all the same
	exclude      []string // patterns of files that are left out
	secrets      []string // patterns of untracked files that stay out of git objects
	maxFileSize  int64    // bytes; 0: no limit
	largeDir     int      // so many untracked files make a directory one that is left out; 0: no limit
	maxSnapshots int      // 0: no limit
	maxAgeDays   int      // 0: no limit
	maxStoreSize int64    // bytes; 0: no limit
	thinDays     int      // after today, keep one an hour for so many days, then one a day; 0: keep all
	pinLabeled   bool     // snapshots of labelled entries are never dropped
	scanMode     string   // of whose sessions a prune may drop snapshots
	startupMs    int64    // how long a prune at the start of a program may look at sessions; 0: no limit
	agentDirs    []string // directories of agents, beside those that are known anyway
	builtin      bool     // without git: leave out dependency and cache directories
	warnings     []string // settings that are unknown or malformed, once each
}

// known lists every setting by its name in lower case, as git's configuration
// has names, and says how it is taken over.
var known = map[string]func(s *settings, c *gitconf.Config, name string) error{
	"force":        boolean(func(s *settings) *bool { return &s.force }),
	"builtin":      boolean(func(s *settings) *bool { return &s.builtin }),
	"include":      patterns(func(s *settings) *[]string { return &s.include }),
	"exclude":      patterns(func(s *settings) *[]string { return &s.exclude }),
	"secrets":      patterns(func(s *settings) *[]string { return &s.secrets }),
	"maxfilesize":  number(func(s *settings, n int64) { s.maxFileSize = n }),
	"largedir":     number(func(s *settings, n int64) { s.largeDir = whole(n) }),
	"maxsnapshots": number(func(s *settings, n int64) { s.maxSnapshots = whole(n) }),
	"maxagedays":   number(func(s *settings, n int64) { s.maxAgeDays = whole(n) }),
	"maxstoresize": number(func(s *settings, n int64) { s.maxStoreSize = n }),
	"thin":         number(func(s *settings, n int64) { s.thinDays = whole(n) }),

	"pinlabeledentries": boolean(func(s *settings) *bool { return &s.pinLabeled }),
	"scanmode":          scanModes,
	"startupbudgetms":   number(func(s *settings, n int64) { s.startupMs = n }),
	"agentdir":          patterns(func(s *settings) *[]string { return &s.agentDirs }),
}

// The scan modes. Both read every ledger that can be found, because what none
// of them refers to may go; ancestor-only spares what the session at hand and
// those it was forked from do not refer to.
const (
	scanSessions  = "repo-sessions"
	scanAncestors = "ancestor-only"
)

func scanModes(s *settings, c *gitconf.Config, name string) error {
	v, _ := c.String(name)
	if v != scanSessions && v != scanAncestors {
		return fmt.Errorf("%q is neither %s nor %s", v, scanSessions, scanAncestors)
	}
	s.scanMode = v
	return nil
}

// environment names the variable of each setting.
var environment = map[string]string{
	"REWIND_FORCE": "force", "REWIND_BUILTIN": "builtin", "REWIND_INCLUDE": "include", "REWIND_EXCLUDE": "exclude", "REWIND_SECRETS": "secrets",
	"REWIND_MAX_FILE_SIZE": "maxfilesize", "REWIND_LARGE_DIR": "largedir", "REWIND_MAX_SNAPSHOTS": "maxsnapshots", "REWIND_MAX_AGE_DAYS": "maxagedays",
	"REWIND_MAX_STORE_SIZE": "maxstoresize", "REWIND_THIN": "thin", "REWIND_PIN_LABELED_ENTRIES": "pinlabeledentries",
	"REWIND_SCAN_MODE": "scanmode", "REWIND_STARTUP_BUDGET_MS": "startupbudgetms", "REWIND_AGENT_DIR": "agentdir",
}

// loadSettings reads every source, the weakest first. A malformed or unknown
// setting is a warning; only a repository's configuration that cannot be read
// is an error, because git's own rules stand there too.
func (e *Engine) loadSettings() (*settings, error) {
	s := &settings{builtin: true, scanMode: scanSessions}
	opt := &gitconf.Options{Env: e.opt.Getenv}
	user, err := gitconf.ReadFile(e.userConfig(), opt)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.warn(err.Error())
	}
	s.apply(user)
	if e.repo != nil {
		if e.git, err = e.repo.Config(); err != nil {
			return nil, err
		}
		s.apply(e.git)
	}
	s.apply(e.environmentConfig())
	return s, nil
}

// environmentConfig gives the variables of the environment the form of a
// configuration.
func (e *Engine) environmentConfig() *gitconf.Config {
	var list []gitconf.Setting
	for variable, name := range environment {
		value := e.opt.Getenv(variable)
		if value == "" {
			continue
		}
		for _, v := range filepath.SplitList(value) {
			list = append(list, gitconf.Setting{Name: "rewind." + name, Value: v, Scope: gitconf.Command})
		}
	}
	return gitconf.NewConfig(list)
}

// userConfig is the user's own file, for all repositories and directories.
func (e *Engine) userConfig() string {
	if d := e.opt.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "rewind", "config")
	}
	return filepath.Join(e.home(), ".config", "rewind", "config")
}

// apply takes over the rewind.* settings of one source.
func (s *settings) apply(c *gitconf.Config) {
	done := map[string]bool{}
	for _, setting := range c.Settings() {
		name, ours := strings.CutPrefix(setting.Name, "rewind.")
		if !ours || done[name] {
			continue
		}
		done[name] = true
		take, ok := known[name]
		if !ok {
			s.warn("unknown setting " + setting.Name)
			continue
		}
		if err := take(s, c, setting.Name); err != nil {
			s.warn(fmt.Sprintf("setting %s is ignored: %v", setting.Name, err))
		}
	}
}

func (s *settings) warn(text string) {
	if !slices.Contains(s.warnings, text) {
		s.warnings = append(s.warnings, text)
	}
}

func boolean(field func(*settings) *bool) func(*settings, *gitconf.Config, string) error {
	return func(s *settings, c *gitconf.Config, name string) (err error) {
		*field(s), err = c.Bool(name, *field(s))
		return err
	}
}

func patterns(field func(*settings) *[]string) func(*settings, *gitconf.Config, string) error {
	return func(s *settings, c *gitconf.Config, name string) error {
		for _, v := range c.Strings(name) {
			if strings.ContainsAny(v, "\n\x00") {
				return fmt.Errorf("%q is not one line", v)
			}
			*field(s) = append(*field(s), v)
		}
		return nil
	}
}

func number(store func(*settings, int64)) func(*settings, *gitconf.Config, string) error {
	return func(s *settings, c *gitconf.Config, name string) error {
		n, err := c.Int(name, 0)
		if err == nil && n < 0 {
			err = fmt.Errorf("%d is negative", n)
		}
		if err == nil {
			store(s, n)
		}
		return err
	}
}

// whole keeps a large number large where an int has 32 bits.
func whole(n int64) int { return int(min(n, math.MaxInt)) }

// span is n units of time, or the longest there is: 292 years.
func span(n int64, unit time.Duration) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/unit))) * unit
}
