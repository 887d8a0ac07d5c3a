package settings

import (
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// A setting is what there is to know of one.
type setting struct {
	name     string   // as people write it, without "rewind."
	words    []string // what it may be; nil: a number, or patterns
	many     bool     // it may have several values, and those of all sources count
	fallback string   // what it is where nobody sets it
	means    string   // in a line, as docs/cli.md has it too
	take     func(s *Settings, c *gitconf.Config, name string) error
}

var yesNo = []string{"true", "false"}

// list has every setting, in the order in which people are told of them.
func list() []setting {
	return []setting{
		{name: "ignored", words: ignoredValues, fallback: IgnoredSmall, means: "which ignored files are recorded, in the store alone: small ones, none, or all",
			take: oneOf(func(s *Settings, v string) { s.Ignored = v }, ignoredValues...)},
		{name: "include", many: true, means: "patterns (gitignore syntax) of ignored files that are recorded whatever rewind.ignored says, and restored like any other; never in git",
			take: patterns(func(s *Settings) *[]string { return &s.Include })},
		{name: "exclude", many: true, means: "patterns of files that are left out: named as skipped, never deleted",
			take: patterns(func(s *Settings) *[]string { return &s.Exclude })},
		{name: "secrets", many: true, means: "patterns of untracked files that are recorded, but kept out of git objects; builtin stands for the usual names of keys and passwords",
			take: patterns(func(s *Settings) *[]string { return &s.Secrets })},
		{name: "maxFileSize", fallback: "0", means: "larger untracked files are left out: named as skipped, never deleted (10m, 1g; 0: no limit)",
			take: number(func(s *Settings, n int64) { s.MaxFileSize = n })},
		{name: "gitMaxFileSize", fallback: "16m", means: "larger untracked files are recorded in the store alone, and kept out of git objects (0: no limit)",
			take: number(func(s *Settings, n int64) { s.GitMaxFileSize = n })},
		{name: "largeDir", fallback: "0", means: "a directory that directly holds so many untracked files is named as skipped, with what is untracked below it; nothing there is deleted (0: no limit)",
			take: number(func(s *Settings, n int64) { s.LargeDir = whole(n) })},
		{name: "builtin", words: yesNo, fallback: "true", means: "without git: leave out node_modules, .venv, __pycache__ and their like",
			take: boolean(func(s *Settings) *bool { return &s.Builtin })},
		{name: "watch", words: watchValues, fallback: "auto", means: "whether a worktree is watched, so that commands look only where something changed",
			take: oneOf(func(s *Settings, v string) {
				s.WatchFrom = map[string]int{"auto": watchFrom, "large": watchFrom, "true": 0, "false": -1}[v]
			}, watchValues...)},
		{name: "autoPush", words: []string{NoRemote, "NAME"}, fallback: NoRemote, means: "the remote that a process in the background pushes snapshots to, some seconds after they were recorded",
			take: remote},
		{name: "pushLimit", fallback: "0", means: "bytes that pushes send in a second, such as 500k (0: no limit)",
			take: number(func(s *Settings, n int64) { s.PushLimit = n })},
		{name: "remoteSecrets", words: yesNo, fallback: "true", means: "whether ignored files, secrets and what else git does not keep go to a remote that is encrypted; false: they stay on this machine, and undo history with them",
			take: boolean(func(s *Settings) *bool { return &s.RemoteSecrets })},
		{name: "maxSnapshots", fallback: "0", means: "prune keeps at most so many snapshots of each worktree; pinned ones do not count (0: no limit)",
			take: number(func(s *Settings, n int64) { s.MaxSnapshots = whole(n) })},
		{name: "maxAgeDays", fallback: "0", means: "prune drops what nothing referred to for so many days (0: no limit)",
			take: number(func(s *Settings, n int64) { s.MaxAge = times(n, 24*time.Hour) })},
		{name: "thin", fallback: "0", means: "prune keeps all of today, then the newest of each hour for so many days, then the newest of each day (0: all)",
			take: number(func(s *Settings, n int64) { s.ThinDays = whole(n) })},
		{name: "maxStoreSize", fallback: "0", means: "prune drops the oldest until the store's file is no larger; a snapshot that finds no room leaves new untracked contents out: named as skipped, never deleted (0: no limit)",
			take: number(func(s *Settings, n int64) { s.MaxStoreSize = n })},
		{name: "pinLabeledEntries", words: yesNo, fallback: "false", means: "prune keeps the snapshots of labelled entries",
			take: boolean(func(s *Settings) *bool { return &s.PinLabeled })},
		{name: "scanMode", words: []string{ScanSessions, ScanAncestors}, fallback: ScanSessions, means: "of whose sessions a prune may drop snapshots; with ancestor-only prune --session drops only what that session and those it was forked from refer to",
			take: oneOf(func(s *Settings, v string) { s.ScanMode = v }, ScanSessions, ScanAncestors)},
		{name: "startupBudgetMs", fallback: "0", means: "prune --startup gives up, dropping nothing, when reading sessions takes longer (0: no limit)",
			take: number(func(s *Settings, n int64) { s.StartupBudget = times(n, time.Millisecond) })},
		{name: "agentDir", many: true, means: "more directories of agents whose sessions prune reads; the usual ones are known",
			take: patterns(func(s *Settings) *[]string { return &s.AgentDirs })},
		{name: "force", words: yesNo, fallback: "false", means: "as --force; not from a repository's own configuration",
			take: boolean(func(s *Settings) *bool { return &s.Force })},
	}
}

// known has every setting under its key: its name in lower case, as git's configuration
// has names.
var known = sync.OnceValue(func() map[string]*setting {
	out := map[string]*setting{}
	for _, k := range list() {
		out[strings.ToLower(k.name)] = &k
	}
	return out
})

// variable is its name in the environment: maxFileSize is REWIND_MAX_FILE_SIZE.
func (k *setting) variable() string {
	out := "REWIND_"
	for _, r := range k.name {
		if unicode.IsUpper(r) {
			out += "_"
		}
		out += string(unicode.ToUpper(r))
	}
	return out
}
