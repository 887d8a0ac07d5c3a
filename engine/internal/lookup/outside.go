package lookup

import (
	"context"
	"iter"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/foreign"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An Outside reads what git has and the store has no record of: snapshots of ours of
// which the record is lost, and the checkpoints of other systems. It makes records of
// them, as far as their commits tell: [records.Limits] say what they could not have
// contained, and the rules and the umask are those of today. It is opened for one
// request, and lists the checkpoints for single ids only once.
type Outside struct {
	Repo  *gitbridge.Repo
	View  func(context.Context, func(*records.View) error) error
	Rules records.Rules // in force today
	Umask tree.Mode     // of the worktree, if the store does not know it

	// Whole reports whether everything that an overlay needs is there.
	Whole func(ctx context.Context, overlay oid.ID) bool

	// Conversations adds to snapshots of pi-rewind-hook, whose commits do not name
	// it, the conversation.
	Conversations func(ctx context.Context, list []*records.Snapshot) error

	Getenv func(string) string
	Home   string

	alg    oid.Algorithm
	single map[oid.ID]*records.Snapshot // the checkpoints, for find; nil until they were looked for
}

// Open prepares to read.
func (r *Outside) Open(ctx context.Context) (*Outside, error) {
	r.alg = r.Repo.Layout().Algorithm
	return r, r.View(ctx, func(v *records.View) error {
		w, ok, err := v.Worktree()
		if ok {
			r.Umask = w.Umask
		}
		return err
	})
}

// find returns the snapshot that git has under an id, nil if it has none.
func (r *Outside) find(ctx context.Context, id oid.ID) (s *records.Snapshot, err error) {
	if kind, payload, err := r.Repo.Read(id); err == nil && kind == oid.Commit {
		if c, err := gitbridge.DecodeSnapshot(payload, r.alg); err == nil {
			return r.rebuild(ctx, id, c), nil
		}
	}
	if c, ok := foreign.HookSnapshot(r.Repo, id); ok { // a ledger names many of them
		return r.snapshot(c), nil
	}
	if r.single == nil {
		list, err := r.Checkpoints(ctx, nil, nil)
		if err != nil {
			return nil, err
		}
		r.single = make(map[oid.ID]*records.Snapshot, len(list))
		for _, s := range list {
			r.single[s.ID] = s
		}
	}
	return r.single[id], nil
}

// all returns everything. Told asks the session ledgers what they say
// about it. Refs that are no checkpoints after all are told to skipped, which may
// be nil.
func (r *Outside) all(ctx context.Context, told bool, skipped func(records.Note)) ([]*records.Snapshot, error) {
	lost, err := r.Lost(ctx)
	if err != nil {
		return nil, err
	}
	others, err := r.Checkpoints(ctx, nil, skipped)
	others = unimported(others, slices.Values(lost))
	if err == nil && told {
		err = r.Bind(ctx, others)
	}
	return append(lost, others...), err
}

// unimported leaves out the checkpoints of which one of the lost snapshots is an
// import. Each of those is asked once, however many checkpoints there are.
func unimported(checkpoints []*records.Snapshot, lost iter.Seq[*records.Snapshot]) []*records.Snapshot {
	imports := map[oid.ID]bool{}
	for l := range lost {
		imports[l.Source.Commit] = true
	}
	return slices.DeleteFunc(checkpoints, func(s *records.Snapshot) bool { return imports[s.ID] })
}

// Lost returns the snapshots of ours that the store ref keeps and the store has no
// record of, newest first.
func (r *Outside) Lost(ctx context.Context) ([]*records.Snapshot, error) {
	known, err := r.commits(ctx)
	if err != nil {
		return nil, err
	}
	var list []*records.Snapshot
	for c, err := range r.Repo.Snapshots(ctx) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			break // of a chain that is broken, what can be read counts
		}
		if c.Native && c.Err == nil && !known[c.ID] {
			known[c.ID] = true // two commits of the chain may keep the same
			list = append(list, r.Kept(ctx, c))
		}
	}
	return list, nil
}

// Checkpoints returns those of other systems that were not imported, newest first.
// One that several refs keep is one snapshot with a point for each. Those that
// cannot be used are told to skipped, by their names; it may be nil.
func (r *Outside) Checkpoints(ctx context.Context, kinds []foreign.Kind, skipped func(records.Note)) ([]*records.Snapshot, error) {
	known, err := r.commits(ctx)
	if err != nil {
		return nil, err
	}
	var list []*records.Snapshot
	byCommit := map[oid.ID]*records.Snapshot{}
	for c, err := range foreign.All(ctx, r.Repo, &foreign.Options{Kinds: kinds, Session: r.sessionFile(ctx)}) {
		switch {
		case err != nil:
			return nil, err
		case c.Err != nil:
			if skipped != nil {
				skipped(records.Note{Path: records.Path(c.Ref), Reason: c.Err.Error()})
			}
			continue
		case known[c.Commit]:
			continue
		}
		s := r.snapshot(c)
		if same, ok := byCommit[c.Commit]; ok {
			mergeRefs(same, s)
			continue
		}
		byCommit[c.Commit] = s
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b *records.Snapshot) int { return b.Time.Compare(a.Time) })
	return list, nil
}

// commits returns the commits that the store has a record of.
func (r *Outside) commits(ctx context.Context) (known map[oid.ID]bool, err error) {
	if known, err = records.Read(ctx, r.View, (*records.View).Commits); known == nil {
		known = map[oid.ID]bool{}
	}
	return known, err
}

// Bind adds the conversation to those of the snapshots whose commits do not name
// it.
func (r *Outside) Bind(ctx context.Context, list []*records.Snapshot) error {
	var hooked []*records.Snapshot
	for _, s := range list {
		if s.Source.Kind == string(foreign.Hook) {
			hooked = append(hooked, s)
		}
	}
	return r.Conversations(ctx, hooked)
}
