package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A writer writes the objects of one job and moves the ref.
type writer struct {
	r    *Repo
	job  *Job
	db   *gitodb.DB // the same database, with the repository's settings
	refs *gitref.Store

	promise func(oid.ID) bool // see promised

	name  string   // the job's, in the notes
	noted bool     // the notes have something of it
	owed  int      // how many objects the notes had when it began
	packs []string // what it wrote and no collection may take yet

	fresh map[oid.ID]gitodb.Source // what it wrote in files of their own, and who gives it
	found []oid.ID                 // what it needs and git had

	inVain    error         // of a lock file that was waited for until it was too long
	protected time.Duration // how long it took to keep that from collections
}

func (r *Repo) writer(job *Job) (*writer, error) {
	w := &writer{r: r, job: job, name: jobName() + r.mark, fresh: map[oid.ID]gitodb.Source{}}
	r.commits.forget()
	if err := r.soundPlaces(); err != nil {
		return nil, err
	}
	s, err := r.habits()
	if err != nil {
		return nil, err
	}
	w.refs = r.refs(&gitref.Options{Patience: patience, Own: r.own, LogAlways: s.logAlways, Committer: r.Identity(), Share: s.share})
	w.db, err = gitodb.Open(r.layout.Objects, r.Algorithm(), &gitodb.Options{
		Sync: s.syncLoose || job.Durable, Share: s.share, Ready: job.Recorded, Keep: true,
	})
	return w, err
}

// soundPlaces checks that our notes are ours, and that a link in the place of git's
// objects, as git-new-workdir makes it, or of a directory among them, leads to what is
// the user's too.
func (r *Repo) soundPlaces() error {
	if err := r.db.CheckSymlinks(); err != nil {
		return err
	}
	if r.own == "" {
		return nil
	}
	for _, suffix := range []string{".loose", ".loose.old", ".packs", ".tidy.lock"} {
		if _, err := durable.Look(r.own + suffix); errors.Is(err, durable.ErrForeign) {
			return err
		}
	}
	return nil
}

// end says that the job moves the ref no more.
func (w *writer) end() {
	for _, name := range w.packs {
		w.db.Release(name)
	}
	if w.noted {
		w.r.appendTo(".loose", []byte(noteEnded+" "+w.name+"\n"), atLeisure) // the next note carries it along
	}
	w.packs, w.noted = nil, false
}

// close ends the job.
func (w *writer) close() error {
	w.end()
	return w.db.Close()
}

// write writes objects, which git lacks. Few get a file each and are noted as
// ours, except while git collects; a pack gets its name when the snapshot is recorded.
func (w *writer) write(ctx context.Context, ids []oid.ID, source gitodb.Source) error {
	known := len(w.r.layout.UnknownExtensions) == 0
	switch {
	case len(ids) == 0:
		return nil
	case !known:
		if err := w.recorded(ctx); err != nil {
			return err
		}
		return w.r.programWrite(ctx, ids, source)
	case len(ids) > looseMax:
		return w.writePack(ctx, ids, source)
	case w.r.protecting() && w.writePack(ctx, ids, source) == nil:
		return nil // else there may be room for files, or they fail for the same reason
	}
	for _, id := range ids {
		w.fresh[id] = source
	}
	if w.r.doubtful() {
		rest, err := w.replace(ids, source)
		if err != nil {
			return err
		}
		ids = rest
	}
	return again(func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.db.WriteLoose(ids, source)
	})
}

// writePack writes objects into a pack that no collection takes before the job's end.
func (w *writer) writePack(ctx context.Context, ids []oid.ID, source gitodb.Source) error {
	return again(func() error {
		name, err := w.db.WritePack(ctx, ids, source)
		if err == nil {
			w.packs = append(w.packs, name)
			w.r.notePack(name, len(ids))
		}
		return err
	})
}

// protect writes what the job has in files of their own into a pack, if git
// collects: it may have looked what the refs name, and be about to remove that. Where
// it then meets our ref, git stops in the middle, and leaves a lock and more. What
// fails is left to the next job, which writes again what is gone.
func (w *writer) protect(ctx context.Context) {
	if !w.exposed() {
		return
	}
	began := time.Now()
	missing := w.source(w.found)
	for _, id := range w.found {
		if w.fresh[id] == nil {
			w.fresh[id] = missing
		}
	}
	ids, fresh := slices.Collect(maps.Keys(w.fresh)), w.fresh
	w.fresh, w.found = map[oid.ID]gitodb.Source{}, nil
	_ = w.writePack(ctx, ids, func(id oid.ID) (Object, error) { return fresh[id](id) })
	w.protected += time.Since(began)
}

// exposed reports whether a collection that runs may take what the job needs.
func (w *writer) exposed() bool {
	return len(w.fresh)+len(w.found) > 0 && len(w.r.layout.UnknownExtensions) == 0 && w.r.protecting()
}

// writeLinked writes and notes the objects that git lacks, and the link that keeps them,
// and notes those that git has. Few objects go to the disk at once, and so do the notes.
// No ref names any of it yet. It returns the link's id.
func (w *writer) writeLinked(ctx context.Context, ids, found []oid.ID, link []byte) (oid.ID, error) {
	if len(found) > foundMax {
		found = nil
	}
	w.found = found
	if len(ids)+1 > looseMax || w.job.Durable {
		return w.writeApart(ctx, ids, found, link)
	}
	source := w.source(ids)
	id := w.r.Algorithm().Sum(oid.Commit, link)
	err := w.write(ctx, append(slices.Clone(ids), id), func(want oid.ID) (Object, error) {
		if want == id {
			return gitodb.Payload(oid.Commit, link), nil
		}
		return source(want)
	})
	if err == nil {
		w.noteLines(append(w.noteOf(ids, found), w.noteOfLink(id, link)...))
	}
	return id, err
}

// writeApart is writeLinked for a pack, or where all is made durable before there is a link.
func (w *writer) writeApart(ctx context.Context, ids, found []oid.ID, link []byte) (oid.ID, error) {
	if err := w.write(ctx, ids, w.source(ids)); err != nil {
		return oid.ID{}, err
	}
	if len(ids) > looseMax {
		ids = nil // the pack was noted
	}
	w.note(ids, found)
	if w.job.Durable {
		if err := w.db.Harden(ctx); err != nil {
			return oid.ID{}, err
		}
	}
	return w.writeLink(ctx, link)
}

// newLink makes the link of the chain that keeps the snapshot behind a tip.
func (w *writer) newLink(c Commit, tip oid.ID) []byte {
	return encodeLink([]oid.ID{w.job.Snapshot}, c, tip, w.r.Algorithm())
}

// writeLink writes and notes a link, and returns its id.
func (w *writer) writeLink(ctx context.Context, link []byte) (oid.ID, error) {
	id := w.r.Algorithm().Sum(oid.Commit, link)
	if err := w.write(ctx, []oid.ID{id}, made{id: link}.source); err != nil {
		return oid.ID{}, err
	}
	w.noteLink(id, link)
	return id, nil
}

// again writes again where a file vanished that had not got its name yet: git
// prune takes it for what a dead process left.
func again(write func() error) (err error) {
	for range 3 {
		if err = write(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// recorded waits until the snapshot is recorded.
func (w *writer) recorded(ctx context.Context) error {
	if w.job.Recorded == nil {
		return nil
	}
	return w.job.Recorded(ctx)
}

// source returns what gives the objects to write.
func (w *writer) source(ids []oid.ID) gitodb.Source {
	var from gitodb.Source
	if w.job.Source != nil {
		from = w.job.Source(ids)
	} else {
		from = func(id oid.ID) (Object, error) {
			kind, payload, err := w.job.Load(id)
			return gitodb.Payload(kind, payload), err
		}
	}
	return func(id oid.ID) (Object, error) {
		switch {
		case id == w.job.Snapshot:
			return gitodb.Payload(oid.Commit, w.job.Commit), nil
		case id == w.r.emptyTree():
			return gitodb.Payload(oid.Tree, nil), nil
		}
		o, err := from(id)
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
}

// made are commits in memory, to be written.
type made map[oid.ID][]byte

func (c made) source(id oid.ID) (Object, error) { return gitodb.Payload(oid.Commit, c[id]), nil }

// errExposed says that the ref has not moved yet, for something is to be protected first.
const errExposed = collects("git collects")

// collects is an error that a program's start does not make.
type collects string

func (c collects) Error() string { return string(c) }

// swap moves a ref. What that then names, no collection that runs already takes.
// Nobody waits for the ref while something is written for that.
//
// What is left is a collection that begins between the last look and the move: of eight
// processes beside one that collected all the time, three of some four hundred
// collections met a ref whose objects they had removed, and stopped. Without notes, packs
// that are kept and the second look, most runs of 15 seconds lost a snapshot's commit.
func (w *writer) swap(ctx context.Context, u gitref.Update) error {
	ready := u.Ready
	u.Ready = func(ctx context.Context) error {
		if ready != nil {
			if err := ready(ctx); err != nil {
				return err
			}
		}
		if w.exposed() {
			return errExposed
		}
		return nil
	}
	for {
		if err := w.move(ctx, u); !errors.Is(err, errExposed) {
			if err == nil {
				w.protect(ctx) // git may have begun since
			}
			return err
		}
		w.protect(ctx)
	}
}

// move moves a ref once, if its lock is free in time. Who has waited for a lock file in
// vain only looks whether it is gone.
func (w *writer) move(ctx context.Context, u gitref.Update) error {
	most := patience
	if w.inVain != nil {
		most = soon
	}
	ctx, cancel := context.WithTimeoutCause(ctx, most, gitref.ErrLocked)
	defer cancel()
	if w.r.files() {
		u.Durable = w.job.Durable
		return w.refs.CompareAndSwap(ctx, u)
	}
	if err := u.Ready(ctx); err != nil {
		return err
	}
	return w.r.programSwap(ctx, u)
}
