package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/capture"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/foreign"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ImportKinds returns the names of the systems whose checkpoints can be
// imported, and in whose format a snapshot can be written.
func ImportKinds() (names []string) {
	for _, k := range foreign.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// Import takes over the checkpoints of other systems: each becomes a snapshot
// of ours, with the same tree and time, which our ref keeps, so that it stays
// when they drop theirs. Nothing of theirs is changed. Doing it again imports
// what came since. With from, only those of this system, one of [ImportKinds]; an
// unknown one is [ErrRefused]. A dry run tells what would be imported, and writes
// nothing.
//
// An imported snapshot is listed beside those of all worktrees, and never is
// the last one ("@") of any.
func (e *Engine) Import(ctx context.Context, from string, dry bool) (*Housekeeping, error) {
	var kinds []foreign.Kind
	if from != "" {
		k, err := foreign.ParseKind(from)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		kinds = []foreign.Kind{k}
	}
	out := &Housekeeping{}
	if e.repo == nil {
		return out, nil
	}
	if !dry {
		var err error
		if out.Recovered, err = e.recoverNow(ctx); err != nil {
			return nil, err
		}
	}
	o, err := e.outside(ctx)
	if err != nil {
		return nil, err
	}
	skip := func(n Note) { out.Left = append(out.Left, n) }
	list, err := o.Checkpoints(ctx, kinds, skip)
	if err != nil {
		return nil, err
	}
	if err := o.Bind(ctx, list); err != nil {
		return nil, err
	}
	out.Imported, err = e.completes(ctx, list, func(s *Snapshot, err error) {
		skip(Note{Path: Path(s.Source.Ref), Reason: err.Error()})
	})
	if err != nil {
		return nil, err
	}
	if dry || len(out.Imported) == 0 {
		return out, nil
	}
	if err := e.takeOver(ctx, out); err != nil {
		return nil, err
	}
	out.Bridge = e.mirror.Bridge(ctx)
	return out, nil
}

// takeOver makes snapshots of the checkpoints, the oldest first, and records
// them in one transaction when our ref keeps them all: their contents stay in
// git, where until then only the refs of the other systems keep them. Their
// commits follow from the checkpoints alone, so that doing it twice makes
// nothing new.
func (e *Engine) takeOver(ctx context.Context, out *Housekeeping) error {
	store, err := e.needStore(ctx)
	if err != nil {
		return err
	}
	if err := e.adopt(ctx); err != nil {
		return err
	}
	stage := store.Stage()
	defer stage.Discard()
	if err := capture.KeepRules(ctx, stage, e.rules().Read()); err != nil {
		return err
	}
	var made []*Snapshot
	for _, s := range slices.Backward(out.Imported) {
		payload := e.importCommit(s)
		if _, err := gitbridge.DecodeSnapshot(payload, e.alg); err != nil { // a time beyond the calendar
			out.Left = append(out.Left, Note{Path: Path(s.Source.Ref), Reason: err.Error()})
			continue
		}
		if s.ID, err = stage.Put(ctx, oid.Commit, payload, oid.ID{}); err != nil {
			return objects.StoreError(err)
		}
		made = append(made, s)
	}
	out.Imported = nil
	if err := stage.Flush(ctx); err != nil {
		return objects.StoreError(err)
	}
	if made, err = e.keepImports(ctx, made, out); err != nil {
		return err
	}
	return objects.StoreError(stage.Commit(ctx, e.changing(func(u *records.Update) error {
		for _, s := range made {
			known, err := u.Find(s.ID)
			if err != nil {
				return err
			}
			if known != nil && !guessed(known) { // another process was first
				continue
			}
			if err := u.Record(s, false); err != nil {
				return err
			}
			out.Imported = append([]*Snapshot{s}, out.Imported...)
		}
		return nil
	})))
}

// guessed reports whether a record of an import was made from its commit alone.
func guessed(s *Snapshot) bool {
	return s.Foreign() && s.Limits != nil && s.Limits.Incomplete && s.Source.Ref == gitbridge.StoreRef
}

// importCommit encodes the commit of a checkpoint that becomes ours.
func (e *Engine) importCommit(s *Snapshot) []byte {
	c := gitbridge.Commit{Tree: s.Tree, Time: s.Time, Identity: e.signer(s.Source.Commit), From: lookup.Origin(s)}
	return gitbridge.EncodeSnapshot(c, e.alg)
}

// keepImports makes the ref keep snapshots, durably, and returns those whose own
// refs were there until it did.
func (e *Engine) keepImports(ctx context.Context, made []*Snapshot, out *Housekeeping) (kept []*Snapshot, err error) {
	before, err := e.refs(ctx)
	if err != nil {
		return nil, err
	}
	for i, s := range made {
		_, err := e.repo.Bridge(ctx, gitbridge.Job{
			Snapshot: s.ID,
			Commit:   e.importCommit(s),
			Load:     func(id oid.ID) (oid.Kind, []byte, error) { return e.objects.Read(ctx, id) },
			Durable:  i == len(made)-1, // of what is written before it nothing is left out
		})
		if err != nil {
			return nil, fmt.Errorf("nothing was imported: %w", err)
		}
	}
	after, err := e.refs(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range made {
		if before[s.Source.Ref] == after[s.Source.Ref] {
			kept = append(kept, s)
			continue
		}
		out.Left = append(out.Left, Note{Path: Path(s.Source.Ref), Reason: "it moved while it was imported; import again"})
		if err := e.mirror.LetGo(ctx, s.ID); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// refs returns what all refs point to that are not ours.
func (e *Engine) refs(ctx context.Context) (map[string]oid.ID, error) {
	at := map[string]oid.ID{}
	list, err := e.repo.Refs(ctx, "refs/")
	if err != nil && len(list) == 0 {
		return nil, err
	}
	for _, r := range list { // those that are broken keep nothing
		if r.Name != gitbridge.StoreRef {
			at[r.Name] = r.ID
		}
	}
	return at, nil
}

// signer is who a checkpoint is by.
func (e *Engine) signer(commit oid.ID) string {
	if c, err := e.repo.ReadCommit(commit); err == nil {
		return c.Identity
	}
	return e.identity()
}

// adopt gives a store without any record, which was deleted and is new again,
// records of the snapshots that the store ref keeps, if all of them is there. It looks
// again if the store was swept meanwhile: what no record named may have gone.
func (e *Engine) adopt(ctx context.Context) error {
	for tries := 1; e.repo != nil; tries++ {
		if err := e.adoptWhole(ctx); !errors.Is(err, cas.ErrSwept) || tries == sweptTries {
			return err
		}
	}
	return nil
}

func (e *Engine) adoptWhole(ctx context.Context) error {
	var empty bool
	var sweeps uint64
	err := e.view(ctx, func(v *records.View) error {
		empty, sweeps = v.Empty(), v.Sweeps()
		return nil
	})
	if err != nil || !empty {
		return err
	}
	o, err := e.outside(ctx)
	if err != nil {
		return err
	}
	list, err := o.Lost(ctx)
	if err != nil {
		return err
	}
	if list, err = e.completes(ctx, list, func(*Snapshot, error) {}); err != nil || len(list) == 0 {
		return err
	}
	stage := e.atHand().Stage()
	defer stage.Discard()
	if err := capture.KeepRules(ctx, stage, e.rules().Read()); err != nil {
		return err
	}
	return objects.StoreError(stage.Commit(ctx, e.changing(func(u *records.Update) error {
		if !u.Empty() {
			return nil // another process was first
		}
		if u.Sweeps() != sweeps {
			return fmt.Errorf("what is taken over: %w", cas.ErrSwept)
		}
		for i := len(list) - 1; i >= 0; i-- {
			if err := u.Record(list[i], false); err != nil {
				return err
			}
		}
		return nil
	})))
}

// completes returns those of the snapshots of which everything is there, and tells of the
// others why not: a record names only what is held.
func (e *Engine) completes(ctx context.Context, list []*Snapshot, not func(*Snapshot, error)) (whole []*Snapshot, err error) {
	r := e.reach(e.objects.Trees(ctx, objects.Reading{Once: true}))
	for _, s := range list {
		if err := r.Whole(ctx, s, e.there(ctx)); err == nil {
			whole = append(whole, s)
		} else {
			not(s, err)
		}
	}
	return whole, ctx.Err()
}

// ownIdentity signs snapshots where git names nobody.
const ownIdentity = "rewind <rewind@localhost>"

// identity is who a snapshot's commit is by.
func (e *Engine) identity() string {
	if e.repo == nil {
		return ownIdentity
	}
	return e.repo.Identity()
}
