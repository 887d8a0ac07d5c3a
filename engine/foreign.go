package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/capture"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/reach"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/git/foreign"
	"github.com/seed-82afce7a/rewind/git/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/ledger"
)

// importedFrom is what the commit says of where an import comes from.
func importedFrom(s *Snapshot) string {
	if !s.Foreign() {
		return ""
	}
	return s.Source.Kind + " " + s.Source.Commit.String()
}

// outsiders reads what git has and the store does not.
type outsiders struct {
	e     *Engine
	rules Rules
	umask tree.Mode
}

// outsiders prepares to read what git has beside the store.
func (e *Engine) outsiders(ctx context.Context) (*outsiders, error) {
	o := &outsiders{e: e, rules: capture.RulesOf(e.rules().Read(), e.alg), umask: capture.Umask(e.root)}
	return o, e.view(ctx, func(v *records.View) error {
		w, ok, err := v.Worktree()
		if ok {
			o.umask = w.Umask
		}
		return err
	})
}

// checkpoints returns those of other systems that were not imported, newest
// first. One that several refs keep is one snapshot with a point for each.
// Those that cannot be used are told to skipped, by their names.
func (o *outsiders) checkpoints(ctx context.Context, kinds []foreign.Kind, skipped func(Note)) ([]*Snapshot, error) {
	known, err := o.e.commits(ctx)
	if err != nil {
		return nil, err
	}
	var list []*Snapshot
	byCommit := map[oid.ID]*Snapshot{}
	for c, err := range foreign.All(ctx, o.e.repo, &foreign.Options{Kinds: kinds, Session: o.e.sessionFile(ctx)}) {
		switch {
		case err != nil:
			return nil, err
		case c.Err != nil:
			if skipped != nil {
				skipped(Note{Path: Path(c.Ref), Reason: c.Err.Error()})
			}
			continue
		case known[c.Commit]:
			continue
		}
		s := o.snapshot(c)
		if same, ok := byCommit[c.Commit]; ok {
			mergeRefs(same, s)
			continue
		}
		byCommit[c.Commit] = s
		list = append(list, s)
	}
	newestFirst(list)
	return list, nil
}

// commits returns the commits that the store has a record of.
func (e *Engine) commits(ctx context.Context) (known map[oid.ID]bool, err error) {
	known = map[oid.ID]bool{}
	err = e.view(ctx, func(v *records.View) (err error) {
		known, err = v.Commits()
		return err
	})
	return known, err
}

// snapshot makes a record of a checkpoint.
func (o *outsiders) snapshot(c foreign.Checkpoint) *Snapshot {
	g := &Gaps{GitOnly: true, FreshIndex: c.Gaps.FreshIndex, Incomplete: c.Gaps.Incomplete, Names: c.Gaps.Names}
	for _, p := range c.Gaps.Paths {
		g.Paths = append(g.Paths, Path(p))
	}
	return &Snapshot{
		ID: c.Commit, Tree: c.Tree, Umask: o.umask, Time: c.Time, Branch: c.Branch, Head: c.Head, Rules: o.rules,
		Points: []Point{{Label: c.Label, Session: c.Session, Entry: c.Entry, Trigger: c.Trigger, Time: c.Time}},
		Source: &Source{Kind: string(c.Kind), Ref: c.Ref, Commit: c.Commit}, Gaps: g,
	}
}

// mergeRefs adds to s what another ref says of the same commit. What either could
// not have contained, both could not.
func mergeRefs(s, t *Snapshot) {
	s.Points = append(s.Points, t.Points...)
	if t.Time.After(s.Time) {
		s.Time = t.Time
	}
	g, h := s.Gaps, t.Gaps
	g.FreshIndex, g.Incomplete = g.FreshIndex || h.FreshIndex, g.Incomplete || h.Incomplete
	if len(g.Names) == 0 {
		g.Names = h.Names
	}
	g.Paths = append(g.Paths, h.Paths...)
}

// lost returns the snapshots of ours that the store ref keeps and the store
// has no record of, newest first.
func (o *outsiders) lost(ctx context.Context) ([]*Snapshot, error) {
	known, err := o.e.commits(ctx)
	if err != nil {
		return nil, err
	}
	var list []*Snapshot
	for c, err := range o.e.repo.Snapshots(ctx) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			break // of a chain that is broken, what can be read counts
		}
		if c.Native && c.Err == nil && !known[c.ID] {
			known[c.ID] = true // a link may keep what another one keeps
			list = append(list, o.fromRef(ctx, c))
		}
	}
	return list, nil
}

// fromRef makes a record of a snapshot that the store ref keeps.
func (o *outsiders) fromRef(ctx context.Context, s gitbridge.StoreSnapshot) *Snapshot {
	if s.Native {
		return o.rebuild(ctx, s.ID, gitbridge.Commit{Tree: s.Tree, Overlay: s.Overlay, Time: s.Time, From: s.From})
	}
	return &Snapshot{
		ID: s.ID, Tree: s.Tree, Umask: o.umask, Time: s.Time, Rules: o.rules,
		Points: []Point{{Time: s.Time}},
		Source: &Source{Kind: string(foreign.Hook), Ref: gitbridge.StoreRef, Commit: s.ID},
		Gaps:   &Gaps{GitOnly: true, FreshIndex: true},
	}
}

// rebuild makes a record from the commit alone. The umask is the worktree's
// own, the rules are those of today; the overlay may be gone.
func (o *outsiders) rebuild(ctx context.Context, id oid.ID, c gitbridge.Commit) *Snapshot {
	s := &Snapshot{
		ID: id, Tree: c.Tree, Overlay: c.Overlay, Umask: o.umask, Time: c.Time, Rules: o.rules,
		Source: &Source{Kind: records.OwnKind, Ref: gitbridge.StoreRef, Commit: id},
	}
	if kind, commit, ok := strings.Cut(c.From, " "); ok {
		// What it could not have contained was in the record.
		s.Source.Kind, s.Gaps = "other", &Gaps{GitOnly: true, Incomplete: true}
		if k, err := foreign.ParseKind(kind); err == nil {
			s.Source.Kind = string(k)
		}
		if was, err := oid.Parse(commit); err == nil {
			s.Source.Commit = was
		}
		return s
	}
	if !s.Overlay.IsZero() && !o.e.whole(ctx, s) {
		s.Gaps = &Gaps{GitOnly: true, Overlay: s.Overlay}
		s.Overlay = oid.ID{}
	}
	return s
}

// whole reports whether everything that a snapshot's overlay needs is there.
func (e *Engine) whole(ctx context.Context, s *Snapshot) bool {
	for o, err := range e.reach(e.objects.Trees(ctx, objects.Reading{})).Overlay(s.Overlay) {
		if err != nil || !e.objects.Has(ctx, o.ID) {
			return false
		}
	}
	return true
}

// beside returns all that git has beside the store, newest first; told asks
// the session ledgers what they say about it.
func (e *Engine) beside(ctx context.Context, told bool, skipped func(Note)) ([]*Snapshot, error) {
	if e.repo == nil {
		return nil, nil
	}
	o, err := e.outsiders(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := o.lost(ctx)
	if err != nil {
		return nil, err
	}
	others, err := o.checkpoints(ctx, nil, skipped)
	others = slices.DeleteFunc(others, func(s *Snapshot) bool { // an import of it is there
		return slices.ContainsFunc(lost, func(l *Snapshot) bool { return l.Source.Commit == s.ID })
	})
	if err == nil && told {
		err = o.bind(ctx, others)
	}
	list := append(lost, others...)
	newestFirst(list)
	return list, err
}

// orphans returns the snapshots of ours that the store ref keeps, if the store
// has no record of any.
func (e *Engine) orphans(ctx context.Context) ([]*Snapshot, error) {
	if e.repo == nil {
		return nil, nil
	}
	if empty, err := e.empty(ctx); err != nil || !empty {
		return nil, err
	}
	o, err := e.outsiders(ctx)
	if err != nil {
		return nil, err
	}
	list, err := o.lost(ctx)
	return slices.DeleteFunc(list, (*Snapshot).Foreign), err
}

// bind adds the conversation to snapshots of pi-rewind-hook, whose commits do not
// name it.
func (o *outsiders) bind(ctx context.Context, list []*Snapshot) error {
	var hooked []*Snapshot
	for _, s := range list {
		if s.Source.Kind == string(foreign.Hook) {
			hooked = append(hooked, s)
		}
	}
	return o.e.sessions().Bind(ctx, hooked)
}

// newestFirst sorts by time; what has the same time keeps its order.
func newestFirst(list []*Snapshot) {
	slices.SortStableFunc(list, func(a, b *Snapshot) int { return b.Time.Compare(a.Time) })
}

// beforeOutsider returns the checkpoint of the same system, conversation and
// branch that came before s.
func (e *Engine) beforeOutsider(ctx context.Context, s *Snapshot) (*Snapshot, error) {
	list, err := e.beside(ctx, false, nil)
	if err != nil {
		return nil, err
	}
	session := func(s *Snapshot) string {
		if len(s.Points) == 0 {
			return ""
		}
		return s.Points[0].Session
	}
	for _, t := range list {
		if t.Time.Before(s.Time) && t.Source.Kind == s.Source.Kind && t.Branch == s.Branch && session(t) == session(s) {
			return t, nil
		}
	}
	return nil, nil
}

// sessionFile returns the function that finds the file of a session among
// those of every agent's directory that is known. They are looked at when it
// is first asked.
func (e *Engine) sessionFile(ctx context.Context) func(id string) string {
	var files map[string]string
	return func(id string) string {
		if files == nil {
			files = map[string]string{}
			for f := range ledger.Discover(ctx, ledger.Places{AgentDirs: e.tallowHomes()}) {
				if f.Err == nil {
					files[f.Header.ID] = f.Path
				}
			}
		}
		return files[id]
	}
}

// tallowHomes are the directories that tallow keeps its sessions under.
func (e *Engine) tallowHomes() (dirs []string) {
	add := func(dir string) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(e.opt.Getenv("TALLOW_CODING_AGENT_DIR"))
	add(e.opt.Getenv("PI_CODING_AGENT_DIR"))
	add(filepath.Join(e.home(), ".tallow"))
	text, err := regular.Read(filepath.Join(e.home(), ".config", "tallow-work-dirs"), 1<<20)
	if err != nil {
		return dirs
	}
	for line := range strings.Lines(string(text)) { // directory:home
		if _, home, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			add(home)
		}
	}
	return dirs
}

// completes returns those of the snapshots of which everything is there: a
// record names only what is held.
func (e *Engine) completes(ctx context.Context, list []*Snapshot) (whole []*Snapshot, err error) {
	r := e.reach(e.objects.Trees(ctx, objects.Reading{Once: true}))
	for _, s := range list {
		if e.complete(ctx, r, s) == nil {
			whole = append(whole, s)
		} else {
			r = r.Anew() // what is missing must be missed again
		}
	}
	return whole, ctx.Err()
}

var errOutsider = errors.New("git has only a part of it")

// complete reports an object that a checkpoint needs and that is gone.
func (e *Engine) complete(ctx context.Context, r *reach.Walk, s *Snapshot) error {
	for o, err := range r.Snapshot(s) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", errOutsider, err)
		case o.Kind != oid.Commit && o.Path != "" && !e.objects.Has(ctx, o.ID):
			return fmt.Errorf("%w: %v %v (%s) is missing", errOutsider, o.Kind, o.ID, o.Path)
		}
	}
	return nil
}
