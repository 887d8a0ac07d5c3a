package gitbridge

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A writer writes the objects of one job and moves the ref.
type writer struct {
	r    *Repo
	job  *Job
	db   *gitodb.DB // the same database, with the repository's settings
	refs *gitref.Store
}

func (r *Repo) writer(job *Job) (*writer, error) {
	w := &writer{r: r, job: job}
	s, err := r.habits()
	if err != nil {
		return nil, err
	}
	w.refs = r.refs(&gitref.Options{Patience: patience, Own: r.own, LogAlways: s.logAlways, Committer: r.Identity(), Sync: s.syncRefs, Share: s.share})
	w.db, err = gitodb.Open(r.layout.Objects, r.Algorithm(), &gitodb.Options{Sync: s.syncLoose, Share: s.share, Ready: job.Ready})
	return w, err
}

// write writes objects, which git lacks.
func (w *writer) write(ctx context.Context, ids []oid.ID, source gitodb.Source) error {
	known := len(w.r.layout.UnknownExtensions) == 0
	switch {
	case len(ids) == 0:
		return nil
	case known && len(ids) > looseMax:
		return w.db.WritePack(ctx, ids, source) // which waits itself, when all but the name is there
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	if !known {
		return w.r.programWrite(ctx, ids, source)
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		o, err := source(id)
		if err != nil {
			return err
		}
		if err := w.db.WriteLoose(id, o); err != nil {
			return err
		}
	}
	return nil
}

// ready waits until the snapshot stands.
func (w *writer) ready(ctx context.Context) error {
	if w.job.Ready == nil {
		return nil
	}
	return w.job.Ready(ctx)
}

// source gives an object to write.
func (w *writer) source(id oid.ID) (Object, error) {
	switch {
	case id == w.job.Snapshot:
		return gitodb.Payload(oid.Commit, w.job.Commit), nil
	case id == w.r.emptyTree():
		return gitodb.Payload(oid.Tree, nil), nil
	}
	var o Object
	var err error
	if w.job.Open != nil {
		o, err = w.job.Open(id)
	} else {
		var kind oid.Kind
		var payload []byte
		kind, payload, err = w.job.Load(id)
		o = gitodb.Payload(kind, payload)
	}
	if err == nil {
		return o, nil
	}
	// It may be in git in a way that cannot be freshened: in a pack of
	// unreachable objects, or in files of somebody else.
	if o, gitErr := w.r.db.Stream(id); gitErr == nil {
		return o, nil
	}
	return Object{}, fmt.Errorf("%w: %v: %w", ErrMissing, id, err)
}

// commits are commits in memory, to be written.
type commits map[oid.ID][]byte

func (c commits) source(id oid.ID) (Object, error) { return gitodb.Payload(oid.Commit, c[id]), nil }

func (w *writer) swap(ctx context.Context, u gitref.Update) error {
	if w.r.files() {
		return w.refs.CompareAndSwap(ctx, u)
	}
	return w.r.programSwap(ctx, u)
}
