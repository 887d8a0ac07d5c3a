package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Job is a snapshot on its way into git.
type Job struct {
	Snapshot oid.ID
	Commit   []byte // its payload, as EncodeSnapshot made it

	// Load returns an object from the store, or any error if it is not there.
	// Trees are read by it, and what Source does not give.
	Load func(id oid.ID) (oid.Kind, []byte, error)
	// Tree returns a tree that is in memory, of the snapshot or one to compare it with,
	// of which Load gives the same. Nil: none is.
	Tree func(id oid.ID) ([]byte, bool)
	// Source is told which objects will be written, about in which order, and
	// returns what gives them: in pieces, so that large ones need not fit into
	// memory. If the writing begins again, Source is called again. Nil: Load is
	// used.
	Source func(ids []oid.ID) gitodb.Source

	// Recorded waits until the snapshot is recorded. Neither a pack nor the ref
	// names anything of it before; single objects may be there, which no ref
	// names, and which git collects one day should it fail. Nil: it is recorded,
	// or is to be in git first.
	Recorded func(ctx context.Context) error

	// After is a snapshot that the ref must still keep. If the ref does not, it
	// was deleted or set back meanwhile: that is ErrBroken, so that no new
	// chain begins without the old snapshots. Zero: there is none.
	After oid.ID

	// Since is the tree of an earlier snapshot that the ref keeps, as
	// [Repo.Keeps] said; zero if none is known.
	Since oid.ID
	// Beyond are the objects that the snapshot's tree consists of and that of Since does
	// not, each behind what it needs. Nil: they are looked for.
	Beyond []oid.ID

	// Later says that [Repo.Upkeep] is called soon: the job does not look after the
	// objects of earlier ones, and packs nothing.
	Later bool

	// Durable asks that all of the snapshot survives a loss of power when
	// Bridge returns: what was written, what others left unsynced among git's
	// objects, and the ref.
	Durable bool
}

// ErrBroken is reported where the store ref, or the newest link of its chain,
// cannot be read, as after a loss of power: nothing is appended to what git
// would call corrupt.
var ErrBroken = errors.New(StoreRef + " is broken")

// A Report says what a bridge did.
type Report struct {
	Link    oid.ID // what the ref points to now; zero if it was left alone
	Written int    // objects that git lacked, without the link
	Looked  int    // objects of the tree that git was asked for
	Packed  bool   // they were written as a pack, being many or because git collects
}

// looseMax is the number of objects up to which each gets a file of its own.
// One pack a turn would soon be too many packs, many files a turn too many
// files (gc.autoPackLimit, gc.auto).
const looseMax = 64

// patience is how long the ref is fought for with others who move it. What is
// to be written may take as long as it takes. Nobody is to wait long for a lock
// that somebody left behind: the snapshot stands without git. A test has less.
var patience = 5 * time.Second

// Bridge makes git keep a snapshot: it writes the objects that git lacks, then
// appends the snapshot to the chain of the store ref. It may be called again
// after any failure or crash, and by many processes at once; a snapshot that is
// in the chain already is left as it is. The errors are ErrMissing,
// ErrBroken, ErrMalformed, ErrUnsupportedRepository, those of gitodb and gitref, the
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
	w, err := r.writer(job)
	if err != nil {
		return report, err
	}
	defer w.close()
	if job.Later {
		r.db.Refresh() // a pack that git has replaced is still mapped
	} else {
		w.heal()
	}
	until := time.Now().Add(patience)
	for again := true; again; {
		if report, again, err = w.bridge(ctx, c); err != nil {
			return report, err
		}
		if again && time.Now().After(until) {
			return report, fmt.Errorf("%w: again and again for %v", gitref.ErrMoved, patience)
		}
	}
	w.end()
	if !job.Later {
		r.trust()
	}
	_ = w.tidy(ctx) // without heal nothing is owed; the snapshot is in git whatever comes of it
	return report, nil
}

// bridge does all of it once. It says to do it again when the chain it began
// with was replaced meanwhile: what that kept may be gone.
func (w *writer) bridge(ctx context.Context, c Commit) (report Report, again bool, err error) {
	tip, err := w.r.tip()
	if err == nil {
		err = w.r.sound(tip)
	}
	if err != nil {
		return report, false, err
	}
	// A snapshot whose commit git lacks cannot be in the chain.
	if !w.job.After.IsZero() && !w.r.inChain(ctx, tip, w.job.After) {
		return report, false, fmt.Errorf("%w: it does not keep %v any more", ErrBroken, w.job.After)
	}
	if w.r.db.Has(w.job.Snapshot) && w.r.inChain(ctx, tip, w.job.Snapshot) {
		return report, false, w.settle(ctx)
	}
	ids, found, err := w.missing(ctx, c.Tree, w.known(tip))
	if err != nil {
		return report, false, err
	}
	looked := len(ids) + len(found)
	for _, id := range []oid.ID{w.r.emptyTree(), w.job.Snapshot} {
		if w.r.db.Freshen(id) && w.sound(id) {
			found = append(found, id)
		} else {
			ids = append(ids, id)
		}
	}
	report = Report{Written: len(ids), Looked: looked}
	link, err := w.writeLinked(ctx, ids, found, w.newLink(c, tip))
	if err != nil {
		return report, false, err
	}
	if report.Link, again, err = w.appendRecorded(ctx, c, tip, link); err != nil || again {
		return report, again, err
	}
	report.Packed = len(w.packs) > 0
	return report, false, nil
}

// soon is for how long the snapshot's record is waited for with the new value of the ref
// made and synced. Meanwhile no other process of ours can move a ref. So it is short:
// many jobs may wait behind one that has the store, and one whose record is there waits
// for all of them.
const soon = 40 * time.Millisecond

// appendRecorded is append when the snapshot is recorded, also where there was nothing
// to write. What must be synced for it goes to the disk beside the record.
func (w *writer) appendRecorded(ctx context.Context, c Commit, tip, link oid.ID) (_ oid.ID, again bool, err error) {
	if w.job.Recorded != nil {
		late, known := false, false
		ready := func(ctx context.Context) error {
			if known {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, soon)
			defer cancel()
			err := w.job.Recorded(ctx)
			known, late = err == nil, errors.Is(err, context.DeadlineExceeded)
			return err
		}
		id, again, err := w.append(ctx, c, tip, link, ready)
		if !late && (known || !errors.Is(err, gitref.ErrLocked)) {
			return id, again, err
		}
		if errors.Is(err, gitref.ErrLockFile) {
			w.inVain = err
		}
	}
	if err := w.recorded(ctx); err != nil {
		return oid.ID{}, false, err
	}
	id, again, err := w.append(ctx, c, tip, link, nil)
	if w.inVain != nil && errors.Is(err, gitref.ErrLockFile) {
		err = w.inVain // which says how long
	}
	return id, again, err
}

// settle makes durable what is in git already, if that is asked for.
func (w *writer) settle(ctx context.Context) error {
	if !w.job.Durable {
		return nil
	}
	if err := w.db.Harden(ctx); err != nil || !w.r.files() {
		return err
	}
	return w.refs.Settle(StoreRef)
}

// Sound reports whether the ref and the head of its chain can be read, also where
// there is no ref. The errors are those of [Repo.Sound].
func (r *Repo) Sound() error {
	r.commits.forget()
	tip, err := r.tip()
	if err == nil {
		err = r.sound(tip)
	}
	return err
}

// sound reports whether the head of the chain can be read.
func (r *Repo) sound(tip oid.ID) error {
	if tip.IsZero() {
		return nil
	}
	if _, err := r.ReadCommit(tip); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return nil
}

// tip returns where the store ref points to, zero if there is none yet. The
// errors are ErrBroken, ErrUnsupportedRepository, and those of the system.
func (r *Repo) tip() (oid.ID, error) {
	ref, err := r.readRef(StoreRef)
	if errors.Is(err, gitref.ErrNotFound) {
		return oid.ID{}, nil
	}
	if errors.Is(err, gitref.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return ref.ID, err
}

// Keeps reports whether the store ref keeps a snapshot, as far as its newest
// links tell. It is cheap where the snapshot is the newest.
func (r *Repo) Keeps(ctx context.Context, snapshot oid.ID) bool {
	if !r.db.Has(snapshot) {
		return false
	}
	tip, err := r.tip()
	return err == nil && !tip.IsZero() && r.inChain(ctx, tip, snapshot)
}

// chainMax bounds the search for a snapshot in the chain.
const chainMax = 1000

// inChain reports whether a snapshot is among the newest of the chain.
func (r *Repo) inChain(ctx context.Context, tip, snapshot oid.ID) bool {
	n := 0
	for link, err := range r.chain(ctx, tip) {
		if n++; err != nil || n > chainMax {
			return false
		}
		if link == snapshot {
			return true
		}
	}
	return false
}

// known lists the trees that git has whole: because the ref keeps them, or because all of
// HEAD is made durable, and a scan has just found it. Else what HEAD's tree has is looked
// up, and noted: git syncs neither objects nor index, so after a loss of power HEAD may
// name what is gone.
func (w *writer) known(tip oid.ID) (trees []oid.ID) {
	r := w.r
	if w.job.Durable {
		head, _ := r.Head()
		trees = append(trees, head.Tree)
	}
	if k, err := r.commit(tip); err == nil && k.isLink() {
		if s, err := r.commit(k.Parents[len(k.Parents)-1]); err == nil {
			trees = append(trees, s.Tree)
		}
	}
	if !w.job.Since.IsZero() {
		trees = append(trees, w.job.Since)
	}
	return trees
}

// append puts the snapshot at the head of the chain. Whoever else did so
// meanwhile is not lost: the ref is read again and the snapshot goes on top.
// It gives up, for the caller to try again, where the chain was replaced. The
// ref is at tip, and id is the link behind it. Ready is [gitref.Update.Ready].
func (w *writer) append(ctx context.Context, c Commit, tip, id oid.ID, ready func(context.Context) error) (_ oid.ID, again bool, err error) {
	until := time.Now().Add(patience)
	for {
		u := gitref.Update{Name: StoreRef, Old: tip, New: id, Message: "snapshot", Time: c.Time, Ready: ready}
		err := w.swap(ctx, u)
		if !errors.Is(err, gitref.ErrMoved) {
			return id, false, err
		}
		if time.Now().After(until.Add(w.protected)) {
			return oid.ID{}, false, err
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
		grown, follows := w.r.grown(ctx, now, tip)
		switch {
		case !follows:
			return oid.ID{}, true, ctx.Err()
		case grown[w.job.Snapshot]: // by another process that found it pending
			return oid.ID{}, false, nil
		}
		tip = now
		if id, err = w.writeLink(ctx, w.newLink(c, tip)); err != nil {
			return oid.ID{}, false, err
		}
	}
}
