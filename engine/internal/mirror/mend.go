package mirror

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// mend makes git whole again. It writes objects of the snapshots that git lacks and
// the store has. If the chain of the ref does not keep all snapshots, it makes the
// chain anew. If both git and the store are proven to lack an object of a snapshot,
// the snapshot is marked as lost, with the reason, and left out of the chain: with
// it git would call the chain corrupt. A lost snapshot that is whole again loses
// the mark. An object that cannot be read now may be there: then nothing is
// changed.
func (m *Mirror) mend(ctx context.Context) error {
	_, err := m.mendWith(ctx, m.git().Has)
	return err
}

// mendWith is mend with a way to ask whether git has an object, whole. Put is how
// many it has put back.
func (m *Mirror) mendWith(ctx context.Context, has func(oid.ID) bool) (put int, err error) {
	if err := m.complete(); err != nil {
		return 0, err
	}
	all, err := records.Read(ctx, m.View, (*records.View).Snapshots)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	w := &mending{has: has, load: m.Objects.Trees(ctx, objects.Reading{Once: true}), known: map[oid.ID]string{}, alg: m.Objects.Algorithm}
	w.look = m.git().Look
	w.read = func(id oid.ID) error { return m.View(ctx, func(v *records.View) error { return v.ReadBack(id) }) }
	why, lost := map[oid.ID]string{}, map[oid.ID]bool{}
	var whole []oid.ID
	for _, s := range slices.Backward(all) {
		w.promised = m.git().Promised(s.Tree, s.Overlay, w.load)
		reason := w.snapshot(s)
		if err := errors.Join(ctx.Err(), w.err); err != nil {
			return 0, err
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
	if err := m.complete(); err != nil { // an index may have failed meanwhile
		return 0, err
	}
	if err := m.setLost(ctx, why); err != nil {
		return 0, err
	}
	release, err := m.git().Put(ctx, w.write, m.Objects.Source(ctx, w.write))
	if err != nil {
		return 0, fmt.Errorf("bring back what git lost: %w", err)
	}
	defer release()
	return len(w.write), m.git().Rebuild(ctx, whole, lost)
}

// complete tells why git may have what it does not show.
func (m *Mirror) complete() error {
	if err := m.git().Complete(); err != nil {
		return fmt.Errorf("git's objects cannot all be read: %w", err)
	}
	return nil
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
func (m *mending) snapshot(s *records.Snapshot) string {
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
			below = m.tree(path.Join(at, entry.Name), entry.ID)
		default:
			below = m.object(tree.Need{ID: entry.ID, Kind: oid.Blob, Path: path.Join(at, entry.Name)})
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
