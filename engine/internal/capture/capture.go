// Package capture makes of a worktree a state: it scans, stages what it reads in
// the store, and tells what it found and what it left out.
//
// A capture has three phases, each with a type of its own. [Opened] has begun to
// read what a scan needs and knows nothing yet. [Seen] is what a scan found; it
// does not change any more, and cannot be recorded. [Staged] is a Seen whose
// contents and trees are in a stage of the store, and will be durable with its
// commit. What outlives all of them is [Memory].
//
// Nothing is recorded here, and nothing of the worktree or of git is changed.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/rules"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// A Place is the worktree that is captured, and where its rules and objects are.
type Place struct {
	Root      string
	StatTable string // the file of the stat table
	Store     string // the directory of the store, which no scan enters
	Rules     *rules.Source
	Objects   *objects.Objects

	Table *stattable.Table         // in memory, instead of the one in the file; may be nil
	Only  func() *worktree.Changes // says before the scan where to look, on that table; nil, or returns it: everywhere
}

// How says how the worktree is looked at.
type How struct {
	Umask  tree.Mode
	Policy worktree.Policy // of the settings; may be nil
	Leave  map[string]bool // temporary files of ours, which are left out
	Force  []string        // ignored files that are captured all the same

	// Elsewhere are files and links whose contents another machine has alone. They are left out as long as nothing is in
	// their place: who has them may restore what is recorded here, and nobody meant to delete them.
	Elsewhere []records.Note

	// OverLimit says why the store takes in no new content of a size, "" if it does; may be nil.
	OverLimit func(size int64) string

	// Bound is asked about the store and the snapshot that the stat table was
	// saved with. It reports whether all that the rows of the table name is
	// still there. If not, the scan reads again what is missing.
	Bound    func(store string, snapshot oid.ID) bool
	Last     *records.Snapshot       // the worktree's last, of whose rules the store has the texts; may be nil
	Progress func(worktree.Counters) // may be nil
}

// An Opened is a capture that has not looked yet. [Opened.Look], [Opened.Stage] or
// [Opened.Close] ends it.
type Opened struct {
	place     Place
	statTable chan *stattable.Table
	index     *rules.Index // nil: not looked for yet
}

// Open begins to read the stat table, which is large, and git's index where
// there is no stat table: then it is needed for certain.
func Open(p Place) *Opened {
	o := &Opened{place: p, statTable: make(chan *stattable.Table, 1)}
	if p.Table != nil {
		o.statTable <- p.Table
		return o
	}
	go func() { o.statTable <- stattable.Load(p.StatTable) }()
	o.expectIndex()
	return o
}

// expectIndex begins to decode git's index where there is no stat table: then it
// is needed for certain.
func (o *Opened) expectIndex() {
	if o.place.Objects.Git == nil {
		return
	}
	if _, err := os.Lstat(o.place.StatTable); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if x, err := rules.OpenIndex(o.place.Rules.Layout, ""); err == nil {
		x.Read = sync.OnceValues(x.Read)
		o.index = &x
		go x.Read()
	}
}

// Close ends a capture that never looked.
func (o *Opened) Close() { (<-o.statTable).Close() }

// Look scans and keeps nothing: ids and trees only.
func (o *Opened) Look(ctx context.Context, how How) (*Seen, error) {
	return o.run(ctx, how, nil)
}

// Stage scans, and puts what it reads into a stage of the store. It takes the
// stage over, also where it fails.
func (o *Opened) Stage(ctx context.Context, how How, stage *cas.Stage) (*Staged, error) {
	seen, err := o.run(ctx, how, stage)
	if err != nil {
		stage.Discard()
		return nil, err
	}
	return &Staged{Seen: seen, Stage: stage}, nil
}

// forget does without a table in memory that the store does not agree with any more:
// another process has recorded something since.
func (o *Opened) forget(how *How) {
	if o.place.Table == nil {
		return
	}
	if bound := o.place.Table.Bound(); how.Bound(bound.Store, bound.Snapshot) {
		return
	}
	if o.place.Only != nil {
		o.place.Only() // what the watcher tells after the scan it does not tell again
	}
	o.place.Table, o.place.Only = nil, nil
	(<-o.statTable).Close()
	o.statTable <- stattable.Load(o.place.StatTable)
}

// A capture is what is under way between Opened and Seen.
type capture struct {
	Place
	how   How
	stage *cas.Stage // nil: nothing is kept
	seen  *Seen
	close func() error // ends the filters that were started

	nested nestedOnes
	broken map[string]error // indexes that cannot be used, by the path of their ".git"
	again  bool             // it is the second look of one capture: all rows are of the first, or as good
}

func (o *Opened) run(ctx context.Context, how How, stage *cas.Stage) (*Seen, error) {
	o.forget(&how)
	c := &capture{Place: o.place, how: how, stage: stage, broken: map[string]error{}}
	c.seen = &Seen{Memory: newMemory(o.place.room(how)), Forced: how.Force, statTable: <-o.statTable, place: o.place, how: how}
	if err := c.run(ctx, o.index); err != nil {
		c.seen.Close()
		return nil, err
	}
	return c.seen, nil
}

func (c *capture) run(ctx context.Context, index *rules.Index) error {
	c.seen.Trees = c.seen.Memory.reading(c.Objects.Trees(ctx, objects.Reading{Staged: c.seen.Memory.Tree, GitFirst: true}))
	texts := c.Rules.Read()
	c.seen.Rules = RulesOf(texts, c.Objects.Algorithm)
	cfg := c.config(ctx, texts)
	if c.Objects.Git != nil {
		if err := c.configGit(ctx, cfg, texts, index); err != nil {
			return errors.Join(err, c.end())
		}
	}
	result, err := worktree.Scan(ctx, cfg)
	for bad := (*rules.IndexError)(nil); errors.As(err, &bad) && c.broken[bad.DotGit] == nil; {
		result, err = c.withoutIndex(ctx, cfg, bad)
	}
	if err = errors.Join(err, c.end()); err != nil {
		return err
	}
	if err := c.fill(ctx, result, cfg.Save); err != nil || c.stage == nil {
		return err
	}
	if c.how.Last == nil || !c.seen.sameRules(c.how.Last) {
		if err := KeepRules(ctx, c.stage, texts); err != nil {
			return err
		}
	}
	c.stage.Early(ctx) // while it is found out what holds the rest
	return nil
}

// end ends the filters that were started.
func (c *capture) end() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

// fill completes what was seen by the result of the scan.
func (c *capture) fill(ctx context.Context, r *worktree.Result, save worktree.Saver) (err error) {
	s := c.seen
	s.Result, s.State = r, r.State
	if s.State.Tree.IsZero() { // nothing at all: that too is a tree
		if s.State.Tree, err = save.Tree(ctx, nil, oid.ID{}); err != nil {
			return err
		}
	}
	s.Nested = c.nested.among(r.Nested)
	for _, dotGit := range slices.Sorted(maps.Keys(c.broken)) {
		s.Skipped = append(s.Skipped, records.Note{Path: records.Path(dotGit), Reason: fmt.Sprintf("recorded without it: %v", c.broken[dotGit])})
	}
	for _, n := range r.Skipped {
		s.Skipped = append(s.Skipped, records.Note{Path: records.Path(n.Path), Reason: n.Reason, Kept: n.Kept})
	}
	if len(c.how.Elsewhere) == 0 {
		return nil
	}
	seen := tree.Finder{State: s.State, Algorithm: c.Objects.Algorithm, Load: s.Trees}
	s.Skipped = append(s.Skipped, elsewhere(c.how.Elsewhere, s.Skipped, seen.Lookup)...)
	return nil
}

// withoutIndex scans again as if nothing had been added to one of git's indexes,
// the worktree's or a nested repository's, and names it: it cannot be read, or is of a
// format that only a newer git reads, and the worktree must not stay unprotected
// until somebody repairs it. What git tracks in spite of its own ignore rules is
// then left out, as is what a sparse checkout keeps from the disk.
func (c *capture) withoutIndex(ctx context.Context, cfg *worktree.Config, bad *rules.IndexError) (*worktree.Result, error) {
	c.broken[bad.DotGit] = bad
	c.nested.forget()
	if c.broken[".git"] != nil {
		none := rules.NoIndex()
		cfg.Repo.Index, cfg.Repo.IndexStat = none.Read, none.Stat
	}
	return worktree.Scan(ctx, cfg)
}

// config says how to scan.
func (c *capture) config(ctx context.Context, texts *rules.Texts) *worktree.Config {
	if bound := c.seen.statTable.Bound(); !c.again {
		c.seen.Rechecked = !c.how.Bound(bound.Store, bound.Snapshot)
	}
	cfg := &worktree.Config{
		Root: c.Root, Algorithm: c.Objects.Algorithm, Umask: c.how.Umask,
		StatTable: c.seen.statTable,
		Recheck:   c.seen.Rechecked && !c.again,
		Has:       func(id oid.ID) bool { return c.Objects.Has(ctx, id) },
		Load:      func(kind oid.Kind, id oid.ID) ([]byte, error) { return c.Objects.Payload(ctx, kind, id) },
		Save:      &saver{objects: c.Objects, stage: c.stage, memory: c.seen.Memory},
		Leave:     c.how.Leave,
		Force:     c.how.Force,
		Nested:    c.nestedRepository(texts),
		Policy:    c.how.Policy,
		OverLimit: c.how.OverLimit,
		Progress:  c.how.Progress,
	}
	cfg.Skip, _ = dirfd.StatDir(c.Store) // what is not there is not met
	if c.Only != nil {
		cfg.Only = c.Only()
	}
	cfg.Repo.Ignore = texts.Chain(texts.Exclude)
	return cfg
}

// configGit says how to scan a worktree of git.
func (c *capture) configGit(ctx context.Context, cfg *worktree.Config, texts *rules.Texts, index *rules.Index) error {
	cfg.Settings, cfg.Sizes = c.Rules.Settings(), c.Objects.Sizes
	cfg.Readers = dirfd.ReadersOf(c.Rules.Layout.Objects)
	if c.Objects.Git.SymlinkedObjects() { // where a link leads to may be exchanged after any look at it
		cfg.Readers = dirfd.Everybody()
	}
	cfg.Private = cfg.Readers.KeptOffPath(c.Root)
	cfg.Repo.Attr, cfg.Repo.Clean = texts.Attributes(), c.Rules.Clean()
	cfg.Repo.Cone = c.Rules.Cone(cfg.Settings.FoldCase)
	cfg.Repo.AttrTree = c.Rules.AttrTree(func(name string) (oid.ID, error) { return c.Objects.Git.Tree(ctx, name) })
	cfg.Filter, c.close = c.Rules.Filters()
	if index == nil {
		x, err := rules.OpenIndex(c.Rules.Layout, "")
		if err != nil {
			return err
		}
		index = &x
	}
	cfg.Repo.Index, cfg.Repo.IndexStat = index.Read, index.Stat
	return nil
}
