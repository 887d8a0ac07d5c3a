package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Job is a snapshot on its way into git.
type Job struct {
	Snapshot oid.ID
	Commit   []byte // its payload, as EncodeSnapshot made it

	// Load returns an object from the store, or any error if it is not there.
	// It is called by several goroutines.
	Load func(id oid.ID) (oid.Kind, []byte, error)
	// Open does the same in pieces and is preferred for writing where it is
	// given, so that large objects need not fit into memory. May be nil.
	Open func(id oid.ID) (Object, error)

	// Complete names trees that git has with all they need, beside those that
	// the store ref and HEAD keep. One that git lost is harmless as long as it
	// lost its root too.
	Complete []oid.ID
}

// A Report says what a bridge did.
type Report struct {
	Keepalive oid.ID // what the ref points to now; zero if it was left alone
	Written   int    // objects that git lacked, without the keepalive
	Looked    int    // objects of the tree that git was asked for
	Packed    bool   // they were written as a pack
}

// looseMax is the number of objects up to which each gets a file of its own.
// One pack a turn would soon be too many packs, many files a turn too many
// files (gc.autoPackLimit, gc.auto).
const looseMax = 64

// patience is how long the ref is fought for.
const patience = 30 * time.Second

// Bridge makes git keep a snapshot: it writes the objects that git lacks, then
// appends the snapshot to the chain of the store ref. It may be called again
// after any failure or crash, and by many processes at once; a snapshot that is
// in the chain already is left as it is. The errors are ErrMissing,
// ErrMalformed, ErrUnsupportedRepository, those of gitodb and gitref, the
// context's, and those of the system; the snapshot in the store is not touched.
func (r *Repo) Bridge(ctx context.Context, job Job) (Report, error) {
	report, err := r.bridge(ctx, &job)
	if err != nil {
		return Report{}, fmt.Errorf("bridge %v: %w", job.Snapshot, err)
	}
	return report, nil
}

func (r *Repo) bridge(ctx context.Context, job *Job) (report Report, err error) {
	c, err := DecodeSnapshot(job.Commit, r.Algorithm())
	if err != nil {
		return report, err
	}
	if r.Algorithm().Sum(oid.Commit, job.Commit) != job.Snapshot {
		return report, fmt.Errorf("%w: it has another id", ErrMalformed)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := r.writer(job)
	if err != nil {
		return report, err
	}
	defer w.db.Close()
	for again := true; again && err == nil; {
		report, again, err = w.bridge(ctx, c)
	}
	return report, err
}

// bridge does all of it once. It says to do it again when the chain it began
// with was replaced meanwhile: what that kept may be gone.
func (w *writer) bridge(ctx context.Context, c Commit) (report Report, again bool, err error) {
	r := w.r
	tip, err := r.tip()
	if err != nil {
		return report, false, err
	}
	// A snapshot whose commit git lacks cannot be in the chain.
	if r.db.Has(w.job.Snapshot) && r.kept(ctx, tip, w.job.Snapshot) {
		return report, false, nil
	}
	ids, looked, err := r.missing(ctx, w.job, c.Tree, r.whole(tip, w.job))
	if err != nil {
		return report, false, err
	}
	for _, id := range []oid.ID{r.emptyTree(), w.job.Snapshot} {
		if !r.db.Freshen(id) {
			ids = append(ids, id)
		}
	}
	report = Report{Written: len(ids), Looked: looked, Packed: len(ids) > looseMax}
	if err := w.write(ctx, ids); err != nil {
		return report, false, err
	}
	report.Keepalive, again, err = w.append(ctx, c, tip)
	return report, again, err
}

// tip returns where the store ref points to, zero if there is none yet.
func (r *Repo) tip() (oid.ID, error) {
	ref, err := r.readRef(StoreRef)
	if errors.Is(err, gitref.ErrNotFound) {
		return oid.ID{}, nil
	}
	return ref.ID, err
}

// keptMax bounds the search for a snapshot in the chain.
const keptMax = 1000

// kept reports whether a snapshot is among the newest of the chain.
func (r *Repo) kept(ctx context.Context, tip, snapshot oid.ID) bool {
	n := 0
	for link, err := range r.chain(ctx, tip) {
		if n++; err != nil || n > keptMax {
			return false
		}
		if link == snapshot {
			return true
		}
	}
	return false
}

// whole lists the trees that git has whole because something keeps them.
func (r *Repo) whole(tip oid.ID, job *Job) (trees []oid.ID) {
	if k, err := r.commit(tip); err == nil && k.subject == keepaliveMessage && len(k.parents) > 0 {
		if s, err := r.commit(k.parents[len(k.parents)-1]); err == nil {
			trees = append(trees, s.Tree)
		}
	}
	if h, err := r.Head(); err == nil && !h.Tree.IsZero() {
		trees = append(trees, h.Tree)
	}
	for _, id := range job.Complete {
		if r.db.Has(id) {
			trees = append(trees, id)
		}
	}
	return trees
}

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
	w.refs = r.refs(&gitref.Options{Patience: patience, LogAlways: s.logAlways, Committer: r.Identity(), Sync: s.syncRefs, Share: s.share})
	w.db, err = gitodb.Open(r.layout.Objects, r.Algorithm(), &gitodb.Options{Sync: s.syncLoose, Share: s.share})
	return w, err
}

// write writes objects, which git lacks.
func (w *writer) write(ctx context.Context, ids []oid.ID) error {
	switch {
	case len(ids) == 0:
		return nil
	case len(w.r.layout.UnknownExtensions) > 0:
		return w.r.programWrite(ctx, ids, w.source)
	case len(ids) > looseMax:
		return w.db.WritePack(ctx, ids, w.source)
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		o, err := w.source(id)
		if err != nil {
			return err
		}
		if err := w.db.WriteLoose(id, o); err != nil {
			return err
		}
	}
	return nil
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

// append puts the snapshot at the head of the chain. Whoever else did so
// meanwhile is not lost: the ref is read again and the snapshot goes on top.
// It gives up, for the caller to try again, where the chain was replaced.
func (w *writer) append(ctx context.Context, c Commit, tip oid.ID) (id oid.ID, again bool, err error) {
	for {
		payload := encodeKeepalive(w.job.Snapshot, c, tip, w.r.Algorithm())
		id = w.r.Algorithm().Sum(oid.Commit, payload)
		if err := w.writeKeepalive(ctx, id, payload); err != nil {
			return oid.ID{}, false, err
		}
		u := gitref.Update{Name: StoreRef, Old: tip, New: id, Message: "snapshot", Time: c.Time}
		err := w.swap(ctx, u)
		if !errors.Is(err, gitref.ErrMoved) {
			return id, false, err
		}
		select {
		case <-ctx.Done():
			return oid.ID{}, false, errors.Join(ctx.Err(), err)
		case <-time.After(rand.N(5 * time.Millisecond)):
		}
		now, err := w.r.tip()
		if err != nil {
			return oid.ID{}, false, err
		}
		if !w.r.follows(now, tip) {
			return oid.ID{}, true, nil
		}
		tip = now
	}
}

// follows reports whether a keepalive keeps an earlier one.
func (r *Repo) follows(tip, earlier oid.ID) bool {
	for range keptMax {
		if tip == earlier || earlier.IsZero() {
			return true
		}
		k, err := r.commit(tip)
		if err != nil || k.subject != keepaliveMessage || len(k.parents) < 2 {
			return false
		}
		tip = k.parents[0]
	}
	return false
}

func (w *writer) writeKeepalive(ctx context.Context, id oid.ID, payload []byte) error {
	if len(w.r.layout.UnknownExtensions) == 0 {
		return w.db.WriteLoose(id, gitodb.Payload(oid.Commit, payload))
	}
	return w.r.programWrite(ctx, []oid.ID{id}, func(oid.ID) (Object, error) {
		return gitodb.Payload(oid.Commit, payload), nil
	})
}

func (w *writer) swap(ctx context.Context, u gitref.Update) error {
	if w.r.files() {
		return w.refs.CompareAndSwap(ctx, u)
	}
	return w.r.programSwap(ctx, u)
}
