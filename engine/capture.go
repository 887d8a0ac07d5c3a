package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/engine/rules"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// captureOptions say how the worktree is looked at.
type captureOptions struct {
	dry   bool     // keep nothing: ids and trees only
	force []string // ignored files that are captured all the same
}

// A capture is what one scan found: a snapshot that is not recorded yet.
type capture struct {
	e       *Engine
	time    time.Time
	state   tree.State
	skipped []Note
	nested  []NestedAt
	rules   Rules
	head    gitbridge.Head
	last    *Snapshot // the worktree's newest snapshot when the scan began
	result  *worktree.Result
	table   *stattable.Table
	index   *rules.Index     // nil before it is looked for
	broken  map[string]error // indexes that cannot be used, by the path of their ".git"
	stage   *cas.Stage       // nil when dry
	hand    *hand            // what the scan made and read

	trees     tree.Loader  // of the capture, of the store and of git; not to be shared
	mu        sync.Mutex   // guards nested during the scan
	close     func() error // ends the filters that the scan started
	rechecked bool         // the stat table was not trusted: what was missing was read again

	// How what it names is held; see hold.go.
	owed     records.Debt // what git lacked when the capture began
	adrift   bool         // the ref does not keep what it did
	sweeps   uint64       // of the store, when the capture began
	relied   []oid.ID     // objects that the store had before, and the stage does not have
	based    bool         // what the last snapshot has counts as held
	borrows  bool         // it rests on objects that HEAD keeps: git comes first
	kept     bool         // git keeps it before it is recorded
	held     string       // records.HeldByStore or records.HeldByGit
	way      *mirroring
	unkept   error  // why git could not come first
	recorded oid.ID // the snapshot that it became
}

// capture scans the worktree. Contents go into a stage of the store, which the
// caller commits; on a dry run nothing is kept. The caller discards the capture
// when he is done with it.
func (e *Engine) capture(ctx context.Context, opt captureOptions) (*capture, error) {
	c := &capture{e: e, time: e.now(), hand: newHand()}
	c.trees = e.objects.Trees(ctx, objects.Reading{Staged: c.hand.tree})
	if err := c.scan(ctx, opt); err != nil {
		c.discard()
		return nil, err
	}
	if e.seen != nil {
		e.seen()
	}
	return c, nil
}

func (c *capture) scan(ctx context.Context, opt captureOptions) error {
	// The table is large; it comes in while the rules and the store are read.
	table := make(chan *stattable.Table, 1)
	go func() { table <- stattable.Load(filepath.Join(c.e.table, tableFile)) }()
	c.expectIndex()
	w, err := c.prepare(ctx, opt)
	c.table = <-table
	if err != nil {
		return err
	}
	texts := c.e.rules().Read()
	c.rules = c.e.recordOf(texts)
	cfg, err := c.config(ctx, texts, w, opt)
	if err != nil {
		return err
	}
	c.result, err = worktree.Scan(ctx, cfg)
	for bad := (*rules.IndexError)(nil); errors.As(err, &bad) && c.broken[bad.DotGit] == nil; {
		c.result, err = c.withoutIndex(ctx, cfg, bad)
	}
	if c.close != nil {
		err = errors.Join(err, c.close())
	}
	if err != nil {
		return err
	}
	c.nested = slices.DeleteFunc(c.nested, func(n NestedAt) bool { // it was asked for plain directories too
		return !slices.Contains(c.result.Nested, string(n.Path))
	})
	c.state = c.result.State
	if c.state.Tree.IsZero() { // nothing at all: that too is a tree
		if c.state.Tree, err = cfg.Save.Tree(ctx, nil, oid.ID{}); err != nil {
			return err
		}
	}
	for _, dotGit := range slices.Sorted(maps.Keys(c.broken)) {
		c.skipped = append(c.skipped, Note{Path: Path(dotGit), Reason: fmt.Sprintf("recorded without it: %v", c.broken[dotGit])})
	}
	for _, s := range c.result.Skipped {
		c.skipped = append(c.skipped, Note{Path: Path(s.Path), Reason: s.Reason, Kept: s.Kept})
	}
	if c.stage == nil {
		return nil
	}
	if c.last == nil || !c.sameRules(c.last) {
		return keepRules(ctx, c.stage, texts)
	}
	return nil
}

// withoutIndex scans again as if nothing had been added to one of git's indexes,
// the worktree's or a nested repository's, and names it: it cannot be read, or is of a
// format that only a newer git reads, and the worktree must not stay unprotected
// until somebody repairs it. What git tracks in spite of its own ignore rules is
// then left out, as is what a sparse checkout keeps from the disk.
func (c *capture) withoutIndex(ctx context.Context, cfg *worktree.Config, bad *rules.IndexError) (*worktree.Result, error) {
	if c.broken == nil {
		c.broken = map[string]error{}
	}
	c.broken[bad.DotGit], c.nested = bad, nil
	if c.broken[".git"] != nil {
		none := rules.NoIndex()
		cfg.Repo.Index, cfg.Repo.IndexStat = none.Read, none.Stat
	}
	return worktree.Scan(ctx, cfg)
}

// prepare reads what the store knows of the worktree, and opens a stage.
func (c *capture) prepare(ctx context.Context, opt captureOptions) (w records.Worktree, err error) {
	if !opt.dry {
		store, err := c.e.needStore()
		if err != nil {
			return w, err
		}
		c.stage = store.Stage()
	}
	known := false
	err = c.e.view(ctx, func(v *records.View) error {
		if w, known, err = v.Worktree(); err != nil {
			return err
		}
		c.sweeps = v.Sweeps()
		if c.owed, err = v.Debt(); err != nil {
			return err
		}
		c.last, err = v.Last()
		return err
	})
	if c.e.repo != nil && err == nil {
		// A process that lives long must see what git has packed meanwhile. A
		// broken HEAD is git's trouble: what it named is then not recorded.
		c.e.repo.Refresh()
		c.head, _ = c.e.repo.Head()
		c.adrift = !c.e.refStands(ctx, c.owed)
	}
	if err == nil && !known && !opt.dry {
		err = c.e.adopt(ctx)
	}
	if !known {
		w.Umask = chooseUmask(c.e.root)
	}
	return w, err
}

// config says how to scan.
func (c *capture) config(ctx context.Context, texts *rules.Texts, w records.Worktree, opt captureOptions) (*worktree.Config, error) {
	e := c.e
	c.rechecked = !c.bound(c.table) || c.last != nil && (c.adrift && c.last.Held != records.HeldByStore || c.last.Lost != "") || e.objects.Distrusts()
	policy, err := e.withoutLeftovers(ctx, opt.dry, e.conf.Policy())
	if err != nil {
		return nil, err
	}
	cfg := &worktree.Config{
		Root: e.root, Algorithm: e.alg, Umask: w.Umask,
		Table:   c.table,
		Recheck: c.rechecked,
		Has:     func(id oid.ID) bool { return e.objects.Has(ctx, id) },
		Load:    func(kind oid.Kind, id oid.ID) ([]byte, error) { return e.objects.Payload(ctx, kind, id) },
		Save:    c.saver(),
		Force:   opt.force,
		Nested:  c.nestedRepository(texts),
		Skip:    storeStat(e.dir),
		Policy:  policy,
		Room:    e.room(),
	}
	cfg.Repo.Ignore = texts.Chain(texts.Exclude)
	if e.opt.Progress != nil {
		cfg.Progress = func(n worktree.Counters) {
			e.opt.Progress(Progress{Step: "scan", Done: int(n.Stats), Bytes: n.ReadBytes})
		}
	}
	if e.repo == nil {
		return cfg, nil
	}
	git := e.rules()
	cfg.Settings, cfg.Sizes = git.Settings(), e.objects.Sizes
	shared, exact := e.repo.Shared()
	cfg.Readers = dirfd.ReadersOf(e.repo.Layout().Objects, tree.Mode(shared.Perm()), exact)
	cfg.Private = cfg.Readers.KeptOffPath(e.root)
	cfg.Repo.Attr, cfg.Repo.Clean = texts.Attributes(), git.Clean()
	cfg.Repo.Cone = git.Cone(cfg.Settings.FoldCase)
	cfg.Repo.AttrTree = git.AttrTree(func(name string) (oid.ID, error) { return e.repo.Tree(ctx, name) })
	cfg.Filter, c.close = git.Filters()
	if c.index == nil {
		x, err := rules.OpenIndex(e.repo.Layout(), "")
		if err != nil {
			return cfg, err
		}
		c.index = &x
	}
	cfg.Repo.Index, cfg.Repo.IndexStat = c.index.Read, c.index.Stat
	return cfg, nil
}

// bound reports whether everything that the table's rows name is kept: it
// agrees with a snapshot that the store has.
func (c *capture) bound(t *stattable.Table) bool {
	store := c.e.opened()
	b := t.Bound()
	return store != nil && c.last != nil && b.Store == storeName(store) && b.Snapshot == c.last.ID
}

// relies holds that what the capture took over unread is still kept: the
// snapshot that the stat table agrees with, and what the store had. A prune or
// purge may have come in between.
func (c *capture) relies(v *records.View) error {
	if v.Sweeps() != c.sweeps {
		for _, id := range c.relied {
			if !v.Has(id) {
				return fmt.Errorf("%w: object %v", cas.ErrSwept, id)
			}
		}
	}
	if c.last == nil || c.rechecked && !c.based {
		return nil
	}
	s, err := v.Find(c.last.ID)
	if err == nil && (s == nil || s.ID != c.last.ID) {
		err = fmt.Errorf("%w: snapshot %v was pruned during the scan", cas.ErrSwept, c.last.ID)
	}
	return err
}

// storeName is the store's random id as the stat table has it.
func storeName(s *cas.Store) string {
	id := s.ID()
	return hex.EncodeToString(id[:])
}

// usualUmasks are tried in this order; where none explains the root
// directory's permissions, the first is taken.
var usualUmasks = []tree.Mode{022, 002, 077, 027, 007}

// chooseUmask finds the umask that explains the root directory's permissions.
func chooseUmask(root string) tree.Mode {
	if info, err := os.Stat(root); err == nil {
		for _, u := range usualUmasks {
			if tree.Mode(info.Mode().Perm()) == 0777&^u {
				return u
			}
		}
	}
	return usualUmasks[0]
}

// snapshot makes the record of the capture, without an id.
func (c *capture) snapshot() *Snapshot {
	return &Snapshot{
		Tree: c.state.Tree, Overlay: c.state.Overlay, Umask: c.state.Umask, Time: c.time, Where: c.e.key,
		Branch: c.head.Branch, Head: c.head.Commit, Rules: c.rules, Skipped: c.skipped, Nested: c.nested, Held: c.held,
	}
}

// discard drops what was staged and is not committed, and lets go of the stat
// table. The second call does nothing.
func (c *capture) discard() {
	if c.stage != nil {
		c.stage.Discard()
	}
	if c.table != nil {
		c.table.Close()
	}
}

// object returns an object of the capture, of the store, or of git.
func (c *capture) object(ctx context.Context, id oid.ID) (oid.Kind, []byte, error) {
	if kind, p, ok := c.hand.object(id); ok {
		return kind, p, nil
	}
	return c.e.objects.Read(ctx, id)
}

// saveTable keeps what the scan saw for the next one; afterwards the capture
// does not tell any more what it saw at a path. That is a cache: failing
// to write it costs time, so only a caller's own cancellation is an error.
func (c *capture) saveTable(id oid.ID) error {
	_ = durable.MakeDir(c.e.table) // a linked worktree's is not where the store is; without it nothing can be written
	err := c.result.SaveTable(storeName(c.e.opened()), id)
	if errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (c *capture) unstable() []Note {
	var out []Note
	for _, p := range c.result.Unstable {
		out = append(out, Note{Path: Path(p), Reason: "it kept changing while it was read; its last whole state was kept"})
	}
	return out
}

// files is how many paths the scan found.
func (c *capture) files() int { return int(c.result.Counters.Stats) }

// sameRules reports whether the rules outside the tree are those of a snapshot.
func (c *capture) sameRules(s *Snapshot) bool {
	mine, its := &c.rules, &s.Rules
	return mine.Function == its.Function && mine.Fold == its.Fold && mine.Exclude == its.Exclude &&
		slices.Equal(mine.Ignore, its.Ignore) && slices.Equal(c.nested, s.Nested)
}

// unchanged reports whether a snapshot has what the capture found, and could have
// had the same: what its rules ignored, a restore of it would keep.
func (c *capture) unchanged(s *Snapshot) bool {
	if s == nil || s.Lost != "" || s.State() != c.state || !c.sameRules(s) {
		return false
	}
	if s.SkippedIn.IsZero() {
		return slices.Equal(s.Skipped, c.skipped)
	}
	var mine Snapshot
	mine.Skipped = c.skipped
	err := mine.PackSkipped(func(list []byte) (oid.ID, error) { return c.e.alg.Sum(oid.Blob, list), nil })
	return err == nil && mine.SkippedIn == s.SkippedIn
}
