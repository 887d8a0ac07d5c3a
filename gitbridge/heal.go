package gitbridge

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Put writes objects that git lacks, or has damaged copies of, and they are
// durable when it returns. It makes no ref that names them. Until release is
// called, no collection takes those that went into a pack.
func (r *Repo) Put(ctx context.Context, ids []oid.ID, source gitodb.Source) (release func(), err error) {
	w, err := r.writer(&Job{Durable: true, Source: func([]oid.ID) gitodb.Source { return source }})
	if err != nil {
		return nil, err
	}
	if err := w.put(ctx, ids); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return func() { _ = w.close() }, nil
}

func (w *writer) put(ctx context.Context, ids []oid.ID) error {
	from := w.source(ids)
	rest, err := w.replace(ids, from)
	if err != nil {
		return err
	}
	if err := w.write(ctx, rest, from); err != nil || len(rest) > looseMax {
		return err
	}
	w.note(rest, nil)
	return nil
}

// replace writes those objects anew that have files of their own, which are no good. It
// returns the others.
func (w *writer) replace(ids []oid.ID, from gitodb.Source) (rest []oid.ID, err error) {
	for _, id := range ids {
		if !w.db.HasLoose(id) {
			rest = append(rest, id)
			continue
		}
		o, err := from(id)
		if err == nil {
			err = w.db.ReplaceLoose(id, o)
		}
		if err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// sound reports whether an object's own file, if it has one, holds it, so far as that is
// in doubt.
func (w *writer) sound(id oid.ID) bool { return !w.r.doubtful() || w.db.SoundLoose(id) }

// heal writes again what a collection or a loss of power took of the noted objects. What it cannot
// put back is left to whoever finds the chain broken.
func (w *writer) heal() {
	if w.r.own == "" || len(w.r.layout.UnknownExtensions) > 0 {
		return
	}
	w.r.db.Refresh() // a pack that git has replaced is still mapped
	tip, _ := w.r.tip()
	notes := w.r.allNotes()
	w.r.weigh(notes)
	chain := sync.OnceValue(func() map[oid.ID]bool { return notes.chain(tip, w.r.Algorithm()) }) // of no use where nothing is gone
	there := make(map[oid.ID]bool, len(notes.list))
	for _, x := range notes.list {
		if !there[x.id] { // the empty tree, say, is noted by each job
			there[x.id] = w.putBack(x, chain)
		}
	}
	w.owed = len(notes.list)
}

// putBack writes an object again if it is gone. It writes a link only if the
// chain has it: one that was replaced has nothing to stand on. It writes
// anything else only if the store has it: what the store lacks is of a snapshot
// that was dropped, or never recorded. It reports whether its file was there.
func (w *writer) putBack(x note, chain func() map[oid.ID]bool) bool {
	if !w.r.ours(x) {
		return false
	}
	sound := w.sound(x.id)
	if sound && w.db.HasLoose(x.id) {
		return true
	}
	if x.kind == noteLink && !chain()[x.id] || sound && w.r.db.Has(x.id) {
		return false
	}
	if o, err := w.object(x); err == nil {
		_ = w.db.ReplaceLoose(x.id, o)
	}
	return false
}

// object gives an object that was noted.
func (w *writer) object(x note) (Object, error) {
	switch {
	case x.kind == noteLink:
		return gitodb.Payload(oid.Commit, x.payload), nil
	case x.id == w.r.emptyTree():
		return gitodb.Payload(oid.Tree, nil), nil
	case w.job.Load == nil:
		return Object{}, ErrMissing
	}
	kind, payload, err := w.job.Load(x.id)
	return gitodb.Payload(kind, payload), err
}

// Upkeep does what a [Job] has left to it: it writes again what a collection or a loss of
// power took of the objects that our ref came to need of late, and packs them when they
// are many.
func (r *Repo) Upkeep(ctx context.Context, load func(id oid.ID) (oid.Kind, []byte, error)) error {
	w, err := r.writer(&Job{Load: load})
	if err != nil {
		return err
	}
	w.heal()
	r.trust()
	return errors.Join(w.tidy(ctx), w.close())
}

// Heal reads back the objects of ours that have files of their own, and writes
// those anew that are not as they were written. One that is damaged, and that
// load does not give, is of no use to anybody: its file is removed.
func (r *Repo) Heal(ctx context.Context, load func(id oid.ID) (oid.Kind, []byte, error)) error {
	if r.own == "" || len(r.layout.UnknownExtensions) > 0 {
		return nil
	}
	w, err := r.writer(&Job{Load: load, Durable: true})
	if err != nil {
		return err
	}
	for _, x := range r.allNotes().list {
		if err = errors.Join(err, ctx.Err()); err != nil {
			break
		}
		if x.kind == noteFound || !r.ours(x) || w.db.SoundLoose(x.id) {
			continue
		}
		o, lost := w.object(x)
		if lost == nil {
			err = w.db.ReplaceLoose(x.id, o)
		} else {
			err = w.db.RemoveLoose(x.id)
		}
	}
	return errors.Join(err, w.close())
}

// Complete reports why git may have objects that it does not show; see
// [gitodb.DB.Complete].
func (r *Repo) Complete() error { return r.db.Complete() }

// Look returns nil if git has an object, gitodb.ErrNotFound if it has not, as far
// as [Repo.Complete] says, and any other error if that cannot be told.
func (r *Repo) Look(id oid.ID) error {
	_, err := r.db.Length(id)
	return err
}

// HasLoose reports whether an object has a file of its own, whatever is in it.
func (r *Repo) HasLoose(id oid.ID) bool { return r.db.HasLoose(id) }
