package bench

import (
	"context"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// A contender is one that can take part.
type contender struct {
	key, name string
	records   string   // what of a directory it keeps, exactly, and what it does not do
	needs     string   // the program that it cannot do without
	version   []string // the command that says which it is
	make      func(l *lane) system
	look      func(ctx context.Context, l *lane) (seen int, err error) // of those that record nothing
	there     func(ctx context.Context) (why string)                   // "": it can run here; nil: asked of needs alone
	resident  bool                                                     // a process that lives from one turn to the next
	noGit     bool                                                     // it needs no .git
	before    bool                                                     // an earlier rewind: Options.Before
	verbs     func() []string                                          // that it has, of the workloads watched-…
	keeps     func(own bool) *keeps                                    // how it keeps what it has elsewhere; nil: it does not
	told      report.Contender                                         // filled when it is chosen
}

const (
	allFiles = "every file but ignored ones, with permissions, links, empty directories; small ignored files beside; durable when it answers; its restore takes an undo snapshot, deletes what was made since, checks each file"
	gitFiles = "what git would add: files that are not ignored, with the executable bit, and links; no empty directories; nothing waits for the disk"
)

// contenders lists them all. Rewind comes first, so that the others are compared with it.
var contenders = []contender{
	{key: "rewind", name: "rewind", records: "a new process each time, which looks at every file. Records " + allFiles, make: process(false), keeps: func(own bool) *keeps { return pushes(false, own) }},
	{key: "rewind-nogit", name: "rewind --no-git", records: "the same, in its own store alone", make: process(true), noGit: true, keeps: func(own bool) *keeps { return pushes(true, own) }},
	{key: "rewind-serve", name: "rewind serve", records: "a request to a process that lives on and looks at every file. Records as rewind", make: serve(false, false), resident: true},
	{key: "rewind-serve-nogit", name: "rewind serve --no-git", records: "the same, in its own store alone", make: serve(true, false), resident: true, noGit: true},
	{key: "rewind-watched", name: "rewind serve, watched", records: "a request to a process that lives on and looks where the kernel told of a change. Records as rewind", make: serve(false, true), resident: true, there: watchable, verbs: everyVerb},
	{key: "rewind-watched-nogit", name: "rewind serve --no-git, watched", records: "the same, in its own store alone", make: serve(true, true), resident: true, noGit: true, there: watchable},
	{key: "rewind-beside-watch", name: "rewind, beside rewind watch", records: "a new process each time, which asks another one that was told of changes. Records as rewind", make: besideWatch, resident: true, there: watchable, verbs: everyVerb},
	{key: "before-watched", name: "before: rewind serve, watched", records: "the program of --before, as rewind-watched", make: serve(false, true), resident: true, there: watchable, before: true, verbs: everyVerb},
	{key: "before-beside-watch", name: "before: rewind, beside rewind watch", records: "the program of --before, as rewind-beside-watch", make: besideWatch, resident: true, there: watchable, before: true, verbs: everyVerb},
	{key: "opencode", name: "OpenCode", records: "the git commands of OpenCode 1.18: " + gitFiles + "; its restore records the present first", needs: "git", make: opencode, verbs: func() []string { return []string{"snapshot", "diff", "restore", "undo"} }},
	{key: "pi-rewind", name: "pi-rewind", records: "the git commands of pi-rewind 0.5: " + gitFiles + "; its restore records the present first, and resets branch and index", needs: "git", make: piRewind},
	{key: "pi-rewind-hook", name: "pi-rewind-hook", records: "the git commands of pi-rewind-hook 1.8, which reads every file each time: " + gitFiles + "; its restore records the present first", needs: "git", make: hook},
	{key: "zed", name: "Zed", records: "the git commands of Zed's checkpoints: tracked files, and untracked ones below 2 MB that are no binaries or media (that list is left out here); no ref holds the commit; its restore keeps no undo and leaves new files", needs: "git", make: zed},
	{key: "cline", name: "Cline", records: "the git commands of Cline's SDK: git stash create, and untracked files as a third parent; its restore stashes the present, resets the branch, cleans, and applies", needs: "git", make: cline},
	{key: "git-stash", name: "git stash create", records: "tracked files alone; restores by git restore, without undo", needs: "git", make: stash, verbs: func() []string { return []string{"snapshot", "diff", "restore"} }},
	{key: "restic", name: "restic", records: "every file but .git, ignored ones too, with owners, times and extended attributes, encrypted; its restore writes every file, takes no undo, leaves new files", needs: "restic", version: []string{"restic", "version"}, make: restic, noGit: true, keeps: backups},
	{key: "borg", name: "borg", records: "every file but .git, ignored ones too, with owners, times and extended attributes; its restore writes every file, takes no undo, leaves new files", needs: "borg", version: []string{"borg", "--version"}, make: borg, noGit: true},
	{key: "git-status", name: "git status", records: "nothing: it looks at every file", needs: "git", look: gitStatus("--no-optional-locks")},
	{key: "git-status-uc", name: "git status, untracked cache", records: "nothing: it looks at every tracked file, and lists only directories that changed", needs: "git", look: gitStatus("-c", "core.untrackedCache=true")},
	{key: "list-lstat", name: "list and lstat", records: "nothing: bare system calls by two threads in the process of the benchmark; no scan without a watcher can take less", look: floor, there: hasFloors},
}

// Contenders lists the keys of the contenders.
func Contenders() []string {
	var list []string
	for _, c := range contenders {
		list = append(list, c.key)
	}
	return list
}

// ours reports whether a contender is rewind.
func (c contender) ours() bool { return c.key == "rewind" || strings.HasPrefix(c.key, "rewind-") }

// contenders gives those that were asked for and can run, and those that cannot.
func (o Options) contenders(ctx context.Context) (chosen, absent []contender) {
	for _, c := range contenders {
		if o.Contenders != nil && !slices.Contains(o.Contenders, c.key) || c.ours() && o.Binary == "" || c.before && o.Before == "" {
			continue
		}
		c.told = report.Contender{Name: c.name, Records: c.records}
		if c.told.Absent = c.absent(ctx); c.told.Absent != "" {
			absent = append(absent, c)
			continue
		}
		if c.ours() {
			c.told.Version = o.Version
		}
		if c.version != nil {
			if out, err := exec.CommandContext(ctx, c.version[0], c.version[1:]...).Output(); err == nil {
				c.told.Version, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
			}
		}
		chosen = append(chosen, c)
	}
	return chosen, absent
}

// absent says why a contender cannot run here.
func (c contender) absent(ctx context.Context) string {
	if c.needs != "" {
		if _, err := exec.LookPath(c.needs); err != nil {
			return c.needs + " is not installed"
		}
	}
	if c.there != nil {
		return c.there(ctx)
	}
	return ""
}

// watchable says why nothing can be watched here.
func watchable(context.Context) string {
	if runtime.GOOS != "linux" {
		return "rewind watches on Linux alone"
	}
	return ""
}

// hasFloors says why the bare system calls are not tried here.
func hasFloors(context.Context) string {
	if runtime.GOOS != "linux" {
		return "known for Linux alone"
	}
	return ""
}

// A system records a worktree and puts a recorded state back.
type system interface {
	// forget removes whatever the system keeps of the worktree.
	forget(ctx context.Context, l *lane) error
	// snapshot records the worktree and gives the name of what it recorded.
	snapshot(ctx context.Context, l *lane) (id string, err error)
	// restore puts a recorded state back.
	restore(ctx context.Context, l *lane, id string) error
	// content gives the bytes that a snapshot holds of a file, or [errors.ErrUnsupported].
	// Some are read after each turn; all are, once, by a restore.
	content(ctx context.Context, l *lane, id, name string) ([]byte, error)
}

// A resident is a system with a process that lives from one turn to the next.
type resident interface {
	// wake lets the process run, and rest halts it while others have their turns.
	wake()
	rest()
	// ready makes sure that the next snapshot is what the contender stands for.
	ready(ctx context.Context, l *lane) error
	end()
}
