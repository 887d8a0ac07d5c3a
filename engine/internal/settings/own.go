package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// A repository's own configuration may be somebody else's work: it comes along
// in an archive. So it may not make less safe what the user himself has set.

// lessens has the settings by which something may be lost. Each function
// reports whether the value in then protects less than the one in now.
var lessens = map[string]func(now, then *Settings) bool{
	"pinlabeledentries": func(now, then *Settings) bool { return now.PinLabeled && !then.PinLabeled },
	"scanmode":          func(now, then *Settings) bool { return now.ScanMode == ScanAncestors && then.ScanMode != ScanAncestors },
	"maxfilesize":       func(now, then *Settings) bool { return lower(now.MaxFileSize, then.MaxFileSize) },
	"largedir":          func(now, then *Settings) bool { return lower(now.LargeDir, then.LargeDir) },
	"maxsnapshots":      func(now, then *Settings) bool { return lower(now.MaxSnapshots, then.MaxSnapshots) },
	"maxagedays":        func(now, then *Settings) bool { return lower(now.MaxAge, then.MaxAge) },
	"maxstoresize":      func(now, then *Settings) bool { return lower(now.MaxStoreSize, then.MaxStoreSize) },
	"watch":             func(now, then *Settings) bool { return now.WatchFrom < 0 && then.WatchFrom >= 0 },
	"remotesecrets":     func(now, then *Settings) bool { return !now.RemoteSecrets && then.RemoteSecrets },
	"thin":              func(now, then *Settings) bool { return lower(now.ThinDays, then.ThinDays) },
	"ignored": func(now, then *Settings) bool {
		return slices.Index(ignoredValues, then.Ignored) < slices.Index(ignoredValues, now.Ignored)
	},
}

// lower reports whether a limit is below another; 0 is none.
func lower[N ~int | ~int64](now, then N) bool { return then != 0 && (now == 0 || then < now) }

// applyGit takes over git's settings: the machine's and the user's, then those
// of the repository that lessen nothing, then those of the environment. The
// names are those that the user has set before.
func (s *Settings) applyGit(c *gitconf.Config, set map[string]bool) {
	var user, repository, environment []gitconf.Setting
	for _, setting := range c.Settings() {
		name, ours := strings.CutPrefix(setting.Name, "rewind.")
		switch {
		case !ours:
		case known()[name] == nil:
			s.unknown(setting.Name)
		case setting.Scope == gitconf.Local || setting.Scope == gitconf.Worktree:
			repository = append(repository, setting)
		case setting.Scope == gitconf.Command:
			environment = append(environment, setting)
		default:
			user, set[name] = append(user, setting), true
		}
	}
	s.apply(gitconf.NewConfig(user))
	s.apply(gitconf.NewConfig(s.harmless(repository, set)))
	s.apply(gitconf.NewConfig(environment))
}

// harmless returns those of a repository's own settings that count, and names
// the others.
func (s *Settings) harmless(list []gitconf.Setting, set map[string]bool) (out []gitconf.Setting) {
	all := gitconf.NewConfig(list)
	for _, setting := range list {
		name := strings.TrimPrefix(setting.Name, "rewind.")
		why := ""
		switch {
		case name == "force":
			why = "it counts only from your own configuration, the environment and the command line"
		case (name == "secrets" || name == "include") && strings.HasPrefix(setting.Value, "!"):
			why = "a repository may add patterns, and take none back"
		case set[name] && s.lessened(all, name):
			why = "it would keep less than your own configuration does"
		}
		if why == "" {
			out = append(out, setting)
			continue
		}
		s.Warn(fmt.Sprintf("setting %s in %s is ignored: %s", setting.Name, setting.File, why))
	}
	return out
}

// lessened reports whether a repository's value protects less than what is in
// force. One that is malformed does not: it is ignored anyway.
func (s *Settings) lessened(c *gitconf.Config, name string) bool {
	less, then := lessens[name], &Settings{}
	return less != nil && known()[name].take(then, c, "rewind."+name) == nil && less(s, then)
}
