package away

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// pushTries is how often a push begins anew when another one was faster.
const pushTries = 5

// pushGit is [Remotes.Push] for a git remote. The lock of the session is held.
func (r *Remotes) pushGit(ctx context.Context, s *Session, k *known) (*Pushed, error) {
	g := s.git
	var err error
	if g.own, err = r.ref(ctx); err != nil {
		return nil, err
	}
	for tries := 1; ; tries++ {
		base, err := r.baseGit(ctx, s, k)
		if err != nil {
			return nil, err
		}
		w, err := r.todo(ctx, k, true)
		if err != nil {
			return nil, err
		}
		w.out.Looked = true
		if len(w.send) == 0 {
			return w.out, k.save()
		}
		err = r.sendGit(ctx, s, k, gitBase{base, base}, w)
		if !errors.Is(err, gitbridge.ErrMovedThere) || tries == pushTries {
			return w.out, errors.Join(err, k.save())
		}
	}
}

// baseGit returns the commit that our ref names there, and corrects what is known by it.
func (r *Remotes) baseGit(ctx context.Context, s *Session, k *known) (base oid.ID, err error) {
	g := s.git
	there, err := gitbridge.ListRemote(ctx, s.cache, g.remote.URL)
	if err != nil {
		return oid.ID{}, err
	}
	here, err := g.remote.Tips(ctx)
	if err != nil {
		return oid.ID{}, err
	}
	base = there[g.own]
	switch {
	case base == here[g.own]:
		return base, nil
	case base.IsZero(): // somebody has removed all of it
		k.keepFiles(func(id restic.ID, _ file) bool { return !k.mine(id) })
		return base, errors.Join(g.remote.Forget(ctx, g.own), k.save())
	}
	if err := g.remote.Fetch(ctx, g.own); err != nil {
		return oid.ID{}, err
	}
	g.at = map[restic.ID]gitSnap{}
	var bad error
	if err := g.listRef(ctx, g.own, base, func(_ *restic.Snapshot, err error) { bad = errors.Join(bad, err) }); err != nil || bad != nil {
		return oid.ID{}, fmt.Errorf("%s of %s: %w", g.own, g.remote.URL, errors.Join(err, bad))
	}
	is := map[oid.ID]bool{}
	for _, at := range g.at {
		var rec record
		if json.Unmarshal(at.text, &rec) == nil {
			is[rec.original()] = true
		}
	}
	k.keepFiles(func(id restic.ID, f file) bool { return !k.mine(id) || is[f.of] })
	return base, k.save()
}

// ownFile names a snapshot of this store's own ref among the files of a remote.
func ownGit(id oid.ID) restic.ID {
	sum := sha256.Sum256([]byte("own " + id.String()))
	return sum
}

// mine reports whether a file stands for a snapshot of this store's own ref.
func (k *known) mine(id restic.ID) bool { return ownGit(k.files[id].of) == id }

// keepFiles forgets files that are not there any more.
func (k *known) keepFiles(keep func(restic.ID, file) bool) {
	for id, f := range k.files {
		if !keep(id, f) {
			delete(k.files, id)
			k.row('g', id[:])
		}
	}
}

// A gitBase says where a push begins.
type gitBase struct {
	on    oid.ID // the commit that what is new comes on top of
	lease oid.ID // what our ref names there
}

// sendGit brings snapshots into our ref.
func (r *Remotes) sendGit(ctx context.Context, s *Session, k *known, at gitBase, w work) error {
	g := s.git
	bridged := r.Bridge(ctx)
	p := &gitPush{ctx: ctx, r: r, g: g, cut: newCutter(ctx, r.Objects), overlays: map[oid.ID]oid.ID{}, snaps: map[string]oid.ID{}, met: map[oid.ID]bool{}}
	p.cut.put = p.put
	var sent []errand
	var told func(done, total int)
	if r.Progress != nil {
		told = r.Progress("push")
	}
	for i, e := range w.send {
		if err := ctx.Err(); err != nil {
			return err
		}
		if told != nil {
			told(i, len(w.send))
		}
		err := p.snapshot(e)
		switch {
		case err == nil:
			sent = append(sent, e)
		case errors.Is(err, records.ErrDamaged) || errors.Is(err, errNotInGit):
			if errors.Is(err, errNotInGit) && bridged != nil {
				err = fmt.Errorf("%w: %w", err, bridged)
			}
			w.out.Left = append(w.out.Left, records.Note{Path: records.Path(e.s.ID.String()), Reason: err.Error()})
		default:
			return err
		}
	}
	if len(sent) == 0 {
		return nil
	}
	tip, err := p.tip(at.on)
	if err != nil {
		return err
	}
	if err := p.write(); err != nil {
		return err
	}
	if err := r.recorded(ctx, sent); err != nil {
		return err
	}
	if err := g.remote.Push(ctx, g.own, at.lease, tip); err != nil {
		return err
	}
	for _, e := range sent {
		k.addPushed(e.s.ID, e.hash)
		k.addFile(ownGit(e.s.ID), file{of: e.s.ID, tags: tagsHash(tagsOf(e.s, e.record))})
	}
	w.out.Snapshots, w.out.Contents, w.out.Bytes = len(sent), len(p.contents), p.bytes
	return nil
}

// recorded is an error where a purge has cut a snapshot since the push began: nobody wants it elsewhere any more.
func (r *Remotes) recorded(ctx context.Context, sent []errand) error {
	return r.View(ctx, func(v *records.View) error {
		for _, e := range sent {
			if is, err := v.Recorded(e.s.ID); err != nil || !is {
				return errors.Join(err, fmt.Errorf("%w: snapshot %v was cut while it was pushed: nothing was brought there; push again", records.ErrRefused, e.s.ID.Short()))
			}
		}
		return nil
	})
}

// pruneGit makes our ref anew, with what this store has records of alone.
func (r *Remotes) pruneGit(ctx context.Context, s *Session, k *known, dry bool) (*Pruned, error) {
	g := s.git
	var err error
	if g.own, err = r.ref(ctx); err != nil {
		return nil, err
	}
	list, err := g.list(ctx, func(error) {})
	if err != nil {
		return nil, err
	}
	tips, err := g.remote.Tips(ctx)
	if err != nil || tips[g.own].IsZero() {
		return &Pruned{}, err
	}
	out := &Pruned{}
	if err := r.View(ctx, func(v *records.View) error {
		for _, d := range list {
			if g.at[d.ID].ref != g.own {
				continue
			}
			is, err := v.Recorded(d.original())
			if err != nil {
				return err
			}
			if !is {
				out.Dropped = append(out.Dropped, d)
			}
		}
		return nil
	}); err != nil || dry || len(out.Dropped) == 0 {
		return out, err
	}
	for id, f := range k.files {
		if k.mine(id) {
			k.addPushed(f.of, restic.ID{}) // another than any
		}
	}
	k.keepFiles(func(id restic.ID, _ file) bool { return !k.mine(id) })
	w, err := r.todo(ctx, k, true)
	if err == nil && len(w.send) > 0 {
		err = r.sendGit(ctx, s, k, gitBase{lease: tips[g.own]}, w)
	}
	if err != nil {
		return nil, err
	}
	return out, k.save()
}
