package verb

import (
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// An Initialize says which worktree the requests that follow are of.
type Initialize struct {
	Protocol int    `json:"protocol" help:"the highest version that the client speaks (default: 1)"`
	Dir      string `json:"dir" help:"the worktree is the one to which this directory belongs, as with -C (default: that of -C, or the one in which the server was started)"`
	Client   string `json:"client" help:"who asks: for people who read what was exchanged"`
	Force    bool   `json:"force" help:"also protect \"/\", the home directory, or a directory above the store"`
	NoGit    bool   `json:"noGit" help:"leave git out even inside a repository"`
}

// A Snapshot says how a snapshot is to be taken.
type Snapshot struct {
	Label      string  `json:"label" flag:"message,m" help:"a <label> for the snapshot"`
	Session    string  `json:"session" flag:"" help:"the <id> of the conversation it belongs to"`
	Entry      string  `json:"entry" flag:"" help:"the <id> of the conversation's entry"`
	Trigger    string  `json:"trigger" flag:"" help:"what caused it, in a <word>: turn, prompt, tool, …"`
	DeadlineMs float64 `json:"deadlineMs" help:"give up after so many milliseconds, recording nothing"`
}

// Options are the same for the engine.
func (p *Snapshot) Options() engine.SnapshotOptions {
	return engine.SnapshotOptions{Label: p.Label, Session: p.Session, Entry: p.Entry, Trigger: p.Trigger}
}

// A Restore says what is to be restored.
type Restore struct {
	ID       string   `json:"id" need:"" help:"the snapshot"`
	Paths    []string `json:"paths" help:"only these files and directories"`
	Ignored  bool     `json:"ignored" flag:"" help:"restore ignored files too that are there and differ, not only those that are gone"`
	KeepMine bool     `json:"keepMine" flag:"keep-mine" help:"keep what changed since the last snapshot of an agent's turn, merged with what is restored"`
	Markers  bool     `json:"markers" flag:"" help:"write both versions of what cannot be merged, between markers, in place of leaving the file as it is"`
}

// Op is the same for the engine, but for the snapshot.
func (p *Restore) Op() engine.Op {
	return engine.Op{Paths: p.Paths, Ignored: p.Ignored, KeepMine: p.KeepMine, Markers: p.Markers}
}

// A Merge says what is to be merged into the present.
type Merge struct {
	IDs     []string `json:"ids" need:"" help:"each an id, or a range FROM..TO"`
	Paths   []string `json:"paths" help:"only these files and directories"`
	Ignored bool     `json:"ignored" flag:"" help:"ignored files too that are there and differ, not only those that are gone"`
	Markers bool     `json:"markers" flag:"" help:"write both versions of what cannot be merged, between markers, in place of leaving the file as it is"`
}

// Op is the same for the engine, but for the ranges.
func (p *Merge) Op(verb string) engine.Op {
	return engine.Op{Verb: verb, Paths: p.Paths, Ignored: p.Ignored, Markers: p.Markers}
}

// A patched plan tells of lines as well.
type patched struct {
	Patch    bool `json:"patch" help:"also what it would do to each file, line by line"`
	MaxBytes int  `json:"maxBytes" help:"cut the patch at a line's end after so many bytes"`
}

// What was agreed to is a plan.
type agreed struct {
	Plan string `json:"plan" help:"what the plan that was shown has as plan: where anything else would be done nothing is changed (error 11)"`
}

// An undoing may say where it is to lead.
type undoing struct {
	ID string `json:"id" help:"a whole one: where it would lead to another snapshot nothing is changed (error 1)"`
	agreed
}

type reading struct {
	ID       string `json:"id" need:"" help:"a snapshot"`
	Path     string `json:"path" help:"a file or link, by this very name"`
	PathB64  []byte `json:"pathB64" help:"its bytes in base64, in place of path: for a name that is not UTF-8"`
	Offset   int    `json:"offset" help:"leave out so many bytes, to go on"`
	MaxBytes int    `json:"maxBytes" help:"give at most so many bytes (default, and most: 8 MiB)"`
}

// A List says which snapshots are listed.
type List struct {
	All     bool     `json:"all" flag:"" help:"of every worktree that shares the store, with undo snapshots by their ids, and the checkpoints of other systems"`
	Session string   `json:"session" flag:"" help:"only those of the conversation with this <id>"`
	Trigger string   `json:"trigger" flag:"" help:"only those that this <word> caused: turn, prompt, …"`
	Grep    string   `json:"grep" flag:"" help:"only those of which a label or prompt has this <text>"`
	Since   string   `json:"since" flag:"" help:"only those from this <time> on: \"2 hours ago\", yesterday, 2026-11-21"`
	Until   string   `json:"until" flag:"" help:"only those up to this <time>"`
	Paths   []string `json:"paths" help:"only those that changed something there"`
	Limit   int      `json:"limit" flag:"limit,n" help:"at most <N> lines of snapshots; 0: all"`
	Older   string   `json:"older" help:"an id: only those recorded before it, to go on with a list"`
	Changes bool     `json:"changes" help:"with what each one changed"`
}

// Listing is the same for the engine.
func (p *List) Listing() show.Listing {
	return show.Listing{Since: p.Since, Until: p.Until, Opt: engine.ListOptions{
		All: p.All, Changes: p.Changes, Session: p.Session, Trigger: p.Trigger, Grep: p.Grep, Paths: p.Paths, Limit: p.Limit,
	}}
}

// A Log says of which path the snapshots are listed.
type Log struct {
	Path  string `json:"path" need:"" help:"a file or directory, by this very name"`
	Limit int    `json:"limit" flag:"limit,n" help:"at most <N> snapshots; 0: all"`
}

type identified struct {
	ID string `json:"id" need:"" help:"the snapshot"`
}

type diffing struct {
	From     string   `json:"from" help:"a snapshot (default: where the files stand; with to, @)"`
	To       string   `json:"to" help:"a snapshot (default: the files as they are now)"`
	Paths    []string `json:"paths" help:"only these files and directories"`
	Format   string   `json:"format" help:"names (default), stat or patch"`
	MaxBytes int      `json:"maxBytes" help:"cut the patch at a line's end after so many bytes"`
}

type blaming struct {
	Path  string `json:"path" need:"" help:"a text file, no pattern"`
	ID    string `json:"id" help:"a snapshot (default: the file as it is now)"`
	First int    `json:"first" help:"the number of the first line, from 1 on"`
	Last  int    `json:"last" help:"the number of the last line"`
}

type existing struct {
	IDs []string `json:"ids" need:"" help:"whole ones"`
}

type pointing struct {
	File    string   `json:"file" need:"" help:"a session file of Pi"`
	Leaf    string   `json:"leaf" help:"an entry of it (default: its end)"`
	Entries []string `json:"entries" help:"of these, also what the sessions say that it was forked from"`
}

type pinning struct {
	ID     string `json:"id" help:"the snapshot that gets the name"`
	Name   string `json:"name" need:"" help:"no prune drops a snapshot that has one"`
	Remove bool   `json:"remove" help:"take the name away"`
}

type labelling struct {
	ID     string `json:"id" need:"" help:"the snapshot"`
	Label  string `json:"label" need:"" help:"the text"`
	Remove bool   `json:"remove" help:"take it away"`
}

// A Prune says beyond which limits snapshots are dropped.
type Prune struct {
	MaxSnapshots int     `json:"maxSnapshots" flag:"max-snapshots" help:"keep at most <N> of each worktree (default: the setting rewind.maxSnapshots)"`
	MaxAgeDays   float64 `json:"maxAgeDays" help:"drop what nobody referred to for so many days (default: the setting rewind.maxAgeDays)"`
	Session      string  `json:"session" flag:"" help:"the conversation at hand, for rewind.scanMode ancestor-only, by its <id>"`
	Startup      bool    `json:"startup" flag:"" help:"give up when rewind.startupBudgetMs is over"`
	DryRun       bool    `json:"dryRun" flag:"dry-run" help:"tell what would go and why the rest stays, and change nothing"`
}

// Options are the same for the engine.
func (p *Prune) Options() (*engine.PruneOptions, error) {
	if p.MaxSnapshots < 0 || p.MaxAgeDays < 0 {
		return nil, exit.Usagef("limits cannot be negative")
	}
	return &engine.PruneOptions{MaxSnapshots: p.MaxSnapshots, MaxAge: cli.Duration(p.MaxAgeDays, 24*time.Hour), Session: p.Session, DryRun: p.DryRun, Startup: p.Startup}, nil
}
