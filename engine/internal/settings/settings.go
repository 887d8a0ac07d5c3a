// Package settings reads the rewind.* settings: from the environment, which wins,
// the repository's git configuration, and the user's own file. A setting that is
// unknown or malformed is named once and ignored; so is one of a repository that
// would make less safe what the user has set. It knows what a setting means
// for a path ([Settings.Policy]), and nothing of who asks.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// Settings are the rewind.* values in force. They do not change.
type Settings struct {
	Force          bool          // also protect what is almost surely a mistake
	Include        []string      // patterns of ignored files that are recorded all the same
	Ignored        string        // which other ignored files are: IgnoredSmall, IgnoredNone or IgnoredAll
	Exclude        []string      // patterns of files that are left out
	Secrets        []string      // patterns of untracked files that stay out of git objects
	MaxFileSize    int64         // bytes; 0: no limit
	GitMaxFileSize int64         // bytes; larger untracked files stay out of git objects; 0: no limit, and always without git
	LargeDir       int           // so many untracked files make a directory one that is left out; 0: no limit
	MaxSnapshots   int           // 0: no limit
	MaxAge         time.Duration // 0: no limit
	MaxStoreSize   int64         // bytes; 0: no limit
	ThinDays       int           // after today, keep one an hour for so many days, then one a day; 0: keep all
	PinLabeled     bool          // snapshots of labelled entries are never dropped
	ScanMode       string        // of whose sessions a prune may drop snapshots
	StartupBudget  time.Duration // how long a prune at the start of a program may look at sessions; 0: no limit
	WatchFrom      int           // with so many files a worktree is watched where that is possible; -1: never
	AgentDirs      []string      // directories of agents, beside those that are known anyway
	AutoPush       string        // the remote that snapshots are pushed to in the background; "": none
	RemoteSecrets  bool          // what git does not keep goes to remotes that are encrypted
	PushLimit      int64         // bytes a second that a push sends; 0: no limit
	Builtin        bool          // without git: leave out dependency and cache directories

	said     map[string][]Value // what sources say of each setting, by its key
	strange  []string           // settings that are unknown
	mu       sync.Mutex         // guards warnings
	warnings []string
}

// The scan modes. Both read every ledger that can be found, because what none
// of them refers to may go; ancestor-only spares what the session at hand and
// those it was forked from do not refer to.
const (
	ScanSessions  = "repo-sessions"
	ScanAncestors = "ancestor-only"
)

// watchFrom is the number of files that can be looked at in about the time that
// a watched snapshot takes besides.
const watchFrom = 2000

// watchValues: with "large" as with "auto", and a snapshot that looks at many files begins it.
var watchValues = []string{"auto", "large", "true", "false"}

// gitMaxFileSize is how large an untracked file may be to become a git object,
// unless a setting says otherwise. Git keeps each version of it whole.
const gitMaxFileSize = 16 << 20

// Sources are where settings are.
type Sources struct {
	File string              // the user's own, for all repositories and directories
	Git  *gitconf.Config     // the repository's; nil without git
	Env  func(string) string // the environment
}

// Load reads every source, the weakest first.
func Load(from Sources) *Settings {
	s := &Settings{Builtin: true, RemoteSecrets: true, ScanMode: ScanSessions, Ignored: IgnoredSmall, WatchFrom: watchFrom, GitMaxFileSize: gitMaxFileSize, said: map[string][]Value{}}
	user, err := gitconf.ReadFile(from.File, &gitconf.Options{Env: from.Env})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Warn(err.Error())
	}
	s.apply(user)
	set := map[string]bool{}
	for _, setting := range user.Settings() {
		if name := strings.TrimPrefix(setting.Name, "rewind."); known()[name] != nil {
			set[name] = true
		}
	}
	s.applyGit(from.Git, set)
	s.apply(environmentConfig(from.Env))
	if from.Git == nil {
		s.GitMaxFileSize, s.said["gitmaxfilesize"] = 0, []Value{{"0", "without git"}}
	}
	for _, name := range s.strange {
		s.Warn("unknown setting " + name)
	}
	return s
}

// environmentConfig gives the variables of the environment the form of a
// configuration.
func environmentConfig(env func(string) string) *gitconf.Config {
	var list []gitconf.Setting
	for key, k := range known() {
		for _, v := range filepath.SplitList(env(k.variable())) {
			list = append(list, gitconf.Setting{Name: "rewind." + key, Value: v, Scope: gitconf.Command})
		}
	}
	return gitconf.NewConfig(list)
}

// apply takes over the rewind.* settings of one source.
func (s *Settings) apply(c *gitconf.Config) {
	done := map[string]bool{}
	for _, setting := range c.Settings() {
		name, ours := strings.CutPrefix(setting.Name, "rewind.")
		if !ours || done[name] {
			continue
		}
		k := known()[name]
		if k == nil {
			s.unknown(setting.Name)
			continue
		}
		done[name] = true
		if err := k.take(s, c, setting.Name); err != nil {
			s.Warn(fmt.Sprintf("setting %s is ignored: %v", setting.Name, err))
		} else {
			s.say(k, name, c)
		}
	}
}

// unknown notes a setting that nobody knows. It is named behind what is wrong with the
// others: a file may have a million of them.
func (s *Settings) unknown(name string) {
	if len(s.strange) <= warningsMax && !slices.Contains(s.strange, name) {
		s.strange = append(s.strange, name)
	}
}

// warningsMax is how many sentences are kept.
const warningsMax = 100

// Warn keeps a sentence about a setting, once.
func (s *Settings) Warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.warnings) == warningsMax:
		s.warnings = append(s.warnings, "there is more to say of settings")
	case len(s.warnings) < warningsMax && !slices.Contains(s.warnings, text):
		s.warnings = append(s.warnings, text)
	}
}

// Warnings returns one sentence for each setting that is unknown or malformed.
func (s *Settings) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}

func boolean(field func(*Settings) *bool) func(*Settings, *gitconf.Config, string) error {
	return func(s *Settings, c *gitconf.Config, name string) (err error) {
		*field(s), err = c.Bool(name, *field(s))
		return err
	}
}

// What the patterns of one setting in one source may be; see
// [wildmatch.WeightMax], which no three sources reach with it.
const (
	patternsMax     = 4096
	patternBytesMax = 256 << 10
)

func patterns(field func(*Settings) *[]string) func(*Settings, *gitconf.Config, string) error {
	return func(s *Settings, c *gitconf.Config, name string) error {
		values, bytes := c.Strings(name), 0
		for _, v := range values {
			bytes += len(v)
		}
		if len(values) > patternsMax || bytes > patternBytesMax {
			return fmt.Errorf("it has more than %d patterns, or %d KiB of them", patternsMax, patternBytesMax>>10)
		}
		for _, v := range values {
			if strings.ContainsAny(v, "\n\x00") {
				return fmt.Errorf("%q is not one line", v)
			}
			*field(s) = append(*field(s), v)
		}
		return nil
	}
}

func number(store func(*Settings, int64)) func(*Settings, *gitconf.Config, string) error {
	return func(s *Settings, c *gitconf.Config, name string) error {
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

// NoRemote is rewind.autoPush where nothing is pushed by itself.
const NoRemote = "none"

// remote takes over the name of a remote.
func remote(s *Settings, c *gitconf.Config, name string) error {
	v, _ := c.String(name)
	if strings.ContainsFunc(v, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) || len(v) > 100 {
		return fmt.Errorf("%.100q is no name of a remote", v)
	}
	if s.AutoPush = v; v == NoRemote {
		s.AutoPush = ""
	}
	return nil
}

// oneOf takes over a word that is one of several.
func oneOf(store func(*Settings, string), words ...string) func(*Settings, *gitconf.Config, string) error {
	return func(s *Settings, c *gitconf.Config, name string) error {
		v, _ := c.String(name)
		if !slices.Contains(words, v) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(words, ", "))
		}
		store(s, v)
		return nil
	}
}

// whole keeps a large number large where an int has 32 bits.
func whole(n int64) int { return int(min(n, math.MaxInt)) }

// times is n units of time, or the longest there is: 292 years.
func times(n int64, unit time.Duration) time.Duration {
	return time.Duration(min(n, int64(math.MaxInt64/unit))) * unit
}
