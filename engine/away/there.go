package away

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// look is todo after a look at what is there now.
func (r *Remotes) look(ctx context.Context, s *Session, k *known) (work, error) {
	if err := s.listed(ctx, k); err != nil {
		return work{}, err
	}
	w, err := r.todo(ctx, k, r.AtHome)
	if err == nil {
		w.out.Looked = true
	}
	return w, err
}

// listed compares what is known with the snapshots that are there: it lists them, and reads those that are new.
func (s *Session) listed(ctx context.Context, k *known) error {
	names, err := s.repo.SnapshotFiles(ctx)
	if err != nil {
		return err
	}
	there := map[restic.ID]bool{}
	var fresh []restic.ID
	for _, id := range names {
		there[id] = true
		if _, ok := k.files[id]; !ok {
			fresh = append(fresh, id)
		}
	}
	for id := range k.files {
		if !there[id] {
			delete(k.files, id)
			k.row('g', id[:])
		}
	}
	list, err := s.repo.ReadSnapshots(ctx, fresh, func(error) {})
	if err != nil {
		return err
	}
	for _, snap := range list {
		f := file{tree: snap.Tree, tags: tagsHash(snap.Tags)}
		if d := distant(snap); d != nil {
			f.of, f.full = d.Of, d.full
		}
		k.addFile(snap.ID, f)
	}
	return nil
}

// tagsHash is by what two snapshots of one id are told apart, on whatever machine they were pushed.
func tagsHash(tags []string) restic.ID {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.HasPrefix(t, worktreeTag) })
	slices.Sort(tags)
	return sha256.Sum256([]byte(strings.Join(tags, "\x00")))
}

// copies are the files of each snapshot of ours that is there; with atHome also those that lack what stays here.
func (k *known) copies(atHome bool) map[oid.ID][]file {
	out := map[oid.ID][]file{}
	for _, f := range k.files {
		if !f.of.IsZero() {
			out[f.of] = append(out[f.of], f)
		}
		if atHome && !f.full.IsZero() {
			out[f.full] = append(out[f.full], f)
		}
	}
	return out
}

// check reads the trees of copies that are there, and forgets that those snapshots were pushed that are not whole. Of
// those that others have brought it notes that they were. Names are the files of the index; all says that one of them is gone.
func (s *Session) check(ctx context.Context, k *known, w work, names []restic.ID, all bool) error {
	copies := w.copies
	var roots []restic.ID
	add := func(id oid.ID) {
		for _, f := range copies[id] {
			roots = append(roots, f.tree)
		}
	}
	for _, e := range w.others {
		add(e.s.ID)
	}
	if all {
		for id := range k.pushed {
			add(id)
		}
	}
	a, err := s.repo.Reach(ctx, roots, nil)
	if err != nil {
		return err
	}
	whole := func(id oid.ID) bool {
		return len(copies[id]) == 0 || slices.ContainsFunc(copies[id], func(f file) bool { return a.Whole(f.tree) })
	}
	if all {
		k.doubt(names, whole, func(c content) bool { return has(s.repo, c) })
	}
	for _, e := range w.others {
		if whole(e.s.ID) {
			k.addPushed(e.s.ID, e.hash)
		}
	}
	k.addIndex(names)
	return nil
}
