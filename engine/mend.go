package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/objects"
	"github.com/seed-82afce7a/rewind/engine/records"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// mend makes git whole again: it writes what git lacks of the snapshots and the
// store has, and makes the chain of the ref anew where it does not keep them
// all. A snapshot of which both are proven to lack something is marked as lost,
// with the reason, and left out of the chain, which git would call corrupt with
// it; one that is whole again is not marked any more. What merely cannot be read
// now proves nothing: then nothing is changed.
func (e *Engine) mend(ctx context.Context) error {
	return e.mendWith(ctx, e.repo.Has)
}

// mendWith does so for what has reports of git's objects.
func (e *Engine) mendWith(ctx context.Context, has func(oid.ID) bool) error {
	if err := e.repo.Complete(); err != nil {
		return fmt.Errorf("git's objects cannot all be read: %w", err)
	}
	all, err := e.stored(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	m := &mending{has: has, load: e.objects.Trees(ctx, objects.Reading{Once: true}), known: map[oid.ID]string{}, alg: e.alg}
	m.look = e.repo.Look
	m.read = func(id oid.ID) error { return e.view(ctx, func(v *records.View) error { return v.ReadBack(id) }) }
	why, lost := map[oid.ID]string{}, map[oid.ID]bool{}
	var whole []oid.ID
	for _, s := range slices.Backward(all) {
		m.promised = e.promised(s, m.load)
		reason := m.snapshot(s)
		if err := errors.Join(ctx.Err(), m.err); err != nil {
			return err
		}
		if reason == "" {
			whole = append(whole, s.ID)
		} else {
			lost[s.ID] = true
		}
		if reason != s.Lost {
			why[s.ID] = reason
		}
	}
	if err := e.setLost(ctx, why); err != nil {
		return err
	}
	release, err := e.repo.Put(ctx, m.write, e.objects.Source(ctx, m.write))
	if err != nil {
		return fmt.Errorf("bring back what git lost: %w", err)
	}
	defer release()
	return e.repo.Rebuild(ctx, whole, lost)
}

// A mending looks for the objects of snapshots.
type mending struct {
	alg   oid.Algorithm
	has   func(oid.ID) bool  // git, at first sight
	look  func(oid.ID) error // git, surely
	read  func(oid.ID) error // the store
	load  tree.Loader
	known map[oid.ID]string // objects that were looked at → why they are not whole, "" if they are
	write []oid.ID          // what git lacks and the store has
	err   error             // what could not be looked at

	promised func(oid.ID) bool // of the snapshot that is looked at
	left     int               // counts what is nowhere and need not be
}

// snapshot tells why a snapshot is not whole, "" if it is.
func (m *mending) snapshot(s *Snapshot) string {
	reason := m.tree("", s.Tree)
	if reason == "" {
		reason = m.object(tree.Need{ID: s.ID, Kind: oid.Commit})
	}
	return reason
}

// tree looks at a tree and all that is below it.
func (m *mending) tree(at string, id oid.ID) (reason string) {
	if reason, ok := m.known[id]; ok || id == m.alg.Sum(oid.Tree, nil) {
		return reason
	}
	left := m.left
	defer func() {
		if m.left == left { // else the next snapshot may have had on disk what is missing
			m.known[id] = reason
		}
	}()
	payload, err := m.load(id)
	if err != nil && m.promised(id) {
		m.left++
		return ""
	}
	if err != nil {
		return m.proof(fmt.Sprintf("the directory %q", at), err)
	}
	entries, err := tree.Decode(payload, m.alg)
	if err != nil {
		return fmt.Sprintf("the directory %q is damaged: %v", at, err)
	}
	for _, entry := range entries {
		below := ""
		switch {
		case entry.Mode.Type() == tree.Nested:
		case entry.Mode.IsDir():
			below = m.tree(join(at, entry.Name), entry.ID)
		default:
			below = m.object(tree.Need{ID: entry.ID, Kind: oid.Blob, Path: join(at, entry.Name)})
		}
		if reason == "" {
			reason = below
		}
	}
	if own := m.object(tree.Need{ID: id, Kind: oid.Tree, Path: at}); reason == "" {
		reason = own
	}
	return reason
}

// object looks at one object.
func (m *mending) object(n tree.Need) (reason string) {
	if n.Kind != oid.Tree { // of a tree the note is made when all below it was looked at
		if reason, ok := m.known[n.ID]; ok {
			return reason
		}
		left := m.left
		defer func() {
			if m.left == left {
				m.known[n.ID] = reason
			}
		}()
	}
	if m.has(n.ID) {
		return ""
	}
	what := fmt.Sprintf("%q", n.Path)
	if n.Kind == oid.Commit {
		what = "its commit"
	}
	err := m.look(n.ID)
	if err != nil && !errors.Is(err, gitodb.ErrNotFound) && !errors.Is(err, gitodb.ErrCorrupt) {
		return m.proof(what, err)
	}
	if err := m.read(n.ID); err != nil {
		if n.Kind != oid.Commit && m.promised(n.ID) {
			m.left++
			return ""
		}
		return m.proof(what, err)
	}
	m.write = append(m.write, n.ID)
	return ""
}

// proof tells why something is gone, if the error proves that; else it ends the
// mending.
func (m *mending) proof(what string, err error) string {
	for _, sure := range []error{cas.ErrNotFound, cas.ErrCorrupt, gitodb.ErrNotFound, gitodb.ErrCorrupt} {
		if errors.Is(err, sure) {
			return fmt.Sprintf("%s is gone: %v", what, err)
		}
	}
	m.err = fmt.Errorf("%s cannot be looked at: %w", what, err)
	return m.err.Error()
}

// syncGit makes git whole, as every snapshot does by itself for what is pending
// and for a ref that was lost: it reads back every object of ours that git has,
// puts right what is not as it should be, and brings in what is missing. A
// damaged copy in a pack stays there beside the good one: that is [ErrDamaged].
// It does nothing without git.
func (e *Engine) syncGit(ctx context.Context) error {
	if e.repo == nil || e.opened() == nil {
		return nil
	}
	if err := e.dropPurged(ctx); err != nil {
		return err
	}
	load := func(id oid.ID) (oid.Kind, []byte, error) { return e.objects.Read(ctx, id) }
	if err := e.repo.Heal(ctx, load); err != nil {
		return err
	}
	var inPacks []oid.ID
	if err := e.mendWith(ctx, e.sound(ctx, &inPacks)); err != nil {
		return err
	}
	if err := e.bridge(ctx); err != nil {
		return err
	}
	if err := e.repo.Fold(ctx); err != nil || len(inPacks) == 0 {
		return err
	}
	return fmt.Errorf("%w: git has %d damaged objects in packs, %v among them; good copies are beside them now, and git fsck names the packs", ErrDamaged, len(inPacks), inPacks[0])
}

// sound returns a function that reports whether git has an object, whole. It
// reads those that the store has too, for only they can be put right; what git
// alone has is for git fsck. Those that are damaged in a pack are listed.
func (e *Engine) sound(ctx context.Context, inPacks *[]oid.ID) func(oid.ID) bool {
	return func(id oid.ID) bool {
		if !e.repo.Has(id) {
			return false
		}
		ours := false
		if err := e.view(ctx, func(v *records.View) error { ours = v.Has(id); return nil }); err != nil || !ours {
			return true
		}
		o, err := e.repo.Stream(id)
		if err == nil {
			h := e.alg.NewHasher(o.Kind, o.Size)
			_, err = io.Copy(h, o.Data)
			if errors.Join(err, o.Data.Close()) == nil && h.Sum() == id {
				return true
			}
		}
		e.repo.Refresh()
		if _, _, err := e.repo.Read(id); err == nil { // git has moved it meanwhile
			return true
		}
		if !e.repo.HasLoose(id) {
			*inPacks = append(*inPacks, id)
		}
		return false
	}
}

// dropPurged finds snapshots that the ref keeps although a purge gave them other
// ids: who brought them into git died before he could notice.
func (e *Engine) dropPurged(ctx context.Context) error {
	var kept, purged []oid.ID
	for s, err := range e.repo.Snapshots(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			break
		}
		kept = append(kept, s.ID)
	}
	err := e.view(ctx, func(v *records.View) error {
		for _, id := range kept {
			if !v.Renamed(id).IsZero() {
				purged = append(purged, id)
			}
		}
		return nil
	})
	if err != nil || len(purged) == 0 {
		return err
	}
	return e.update(ctx, func(u *records.Update) error { return u.LetGo(purged...) })
}

// stored returns every snapshot that the store has a record of, newest first.
func (e *Engine) stored(ctx context.Context) (all []*Snapshot, err error) {
	err = e.view(ctx, func(v *records.View) error {
		for s, err := range v.Snapshots() {
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}
