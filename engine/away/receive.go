package away

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A Fetched says what a fetch did.
type Fetched struct {
	Snapshots []*records.Snapshot // that are new here, oldest first
	There     int                 // were here before
	AtHome    int                 // of the new ones, lack what stays on the machine that recorded them
	Others    int                 // histories that are there beside this one, and were left there
	Left      []records.Note      // snapshots that could not be brought; Path is the id there
	Bridge    error               // not nil: they are not in git yet
}

// A receiver takes snapshots of a session into a store. It is for one goroutine.
type receiver struct {
	r     *Remotes
	p     *pull
	store *cas.Store
}

// receive begins to take snapshots over. The caller ends it.
func (r *Remotes) receive(ctx context.Context, s *Session) (*receiver, error) {
	if s.git == nil {
		if _, err := s.repo.LoadIndex(ctx); err != nil {
			return nil, err
		}
	}
	store, err := r.Store(ctx)
	if err != nil {
		return nil, err
	}
	p := newPull(ctx, s, r.Objects.Algorithm)
	p.stage, p.local = store.Stage(), r.Objects.Trees(ctx, objects.Reading{})
	p.has = func(ids []oid.ID) (map[oid.ID]bool, error) {
		here := map[oid.ID]bool{}
		return here, objects.StoreError(store.View(ctx, func(v *cas.View) error {
			if p.sweeps == nil {
				n := v.Sweeps()
				p.sweeps = &n
			}
			for _, id := range ids {
				here[id] = v.Has(id)
			}
			return nil
		}))
	}
	if r.Progress != nil {
		p.told = r.Progress("fetch")
	}
	return &receiver{r: r, p: p, store: store}, nil
}

// close forgets what was not recorded.
func (v *receiver) close() { v.p.stage.Discard() }

// bring reads all that a snapshot needs, durably, and records nothing. What comes goes into the worktree, too, which is
// empty: written is nil if that has to be compared, since the snapshot was whole in another place than where it began.
func (v *receiver) bring(d *Distant) (n *pulled, written *Written, err error) {
	var into Filling
	begun := false
	for _, d := range append([]*Distant{d}, d.Copies...) {
		if n, err = v.p.snapshot(d); err == nil && !begun {
			begun = true
			if into, err = v.r.Fill(v.p.ctx, n.Snapshot, v.p.load); err != nil {
				return nil, nil, err
			}
			v.p.arrived = into.Arrive
		}
		if err == nil {
			err = v.p.contents()
		}
		if err == nil || !leavable(err) {
			break
		}
		v.anew()
		if v.p.arrived = nil; into != nil {
			into.Close()
			into = nil
		}
	}
	v.p.arrived = nil
	if err == nil {
		err = objects.StoreError(v.p.stage.Flush(v.p.ctx))
	}
	switch {
	case err == nil && into != nil:
		written, err = into.Finish(v.p.ctx)
	case into != nil:
		into.Close()
	}
	if err != nil && begun && v.p.ctx.Err() == nil {
		err = fmt.Errorf("%w; what had come before is in %s, and the same command goes on from there", err, v.r.Root)
	}
	return n, written, err
}

// recordAtOnce is after how many snapshots what came is recorded.
const recordAtOnce = 64

// take records snapshots, oldest first, that are not recorded here: of a worktree of this store, or with "" of
// none of them. Those that cannot be brought are left, and named.
func (v *receiver) take(list []*Distant, where string, newest bool) (*Fetched, error) {
	out := &Fetched{}
	var todo []*Distant
	err := v.r.View(v.p.ctx, func(w *records.View) error {
		for _, d := range list {
			known, err := w.Find(d.Of)
			if err == nil && known == nil && !newest {
				known, err = w.Find(d.original())
			}
			if err != nil {
				return err
			}
			if known != nil {
				out.There++
				continue
			}
			todo = append(todo, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(todo, func(a, b *Distant) int { return a.Time.Compare(b.Time) })
	for len(todo) > 0 {
		n := min(len(todo), recordAtOnce)
		if err := v.takeSome(todo[:n], where, newest && n == len(todo), out); err != nil {
			return out, err
		}
		todo = todo[n:]
	}
	return out, nil
}

// sweptTries is how often what a sweep has taken away meanwhile is read again.
const sweptTries = 5

// takeSome records some snapshots. What was here, and was not read for that, may be gone when they are to be recorded.
func (v *receiver) takeSome(list []*Distant, where string, newest bool, out *Fetched) error {
	for tries := 1; ; tries++ {
		err := v.tryTake(list, where, newest, out)
		if !errors.Is(err, cas.ErrSwept) || tries == sweptTries {
			return err
		}
		v.anew()
	}
}

func (v *receiver) tryTake(list []*Distant, where string, newest bool, out *Fetched) error {
	got, err := v.read(list, where)
	if err != nil && leavable(err) && v.p.ctx.Err() == nil { // one of them: which, each alone tells
		v.anew()
		if len(list) == 1 {
			return v.takeCopy(list[0], err, where, newest, out)
		}
		for i, d := range list {
			if err := v.takeSome([]*Distant{d}, where, newest && i == len(list)-1, out); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	err = v.p.stage.Commit(v.p.ctx, func(u *cas.Update) error {
		if v.p.sweeps != nil && *v.p.sweeps != u.Sweeps() {
			return fmt.Errorf("what is here already: %w", cas.ErrSwept)
		}
		up := records.Change(u, v.r.Owner)
		for i, s := range got {
			known, err := up.Find(s.ID)
			if err == nil && known == nil {
				err = up.Record(s.Snapshot, true)
			}
			if err == nil && newest && i == len(got)-1 {
				err = up.SetLast(s.Snapshot)
			}
			if err == nil {
				err = s.pin(up)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		clear(v.p.trees)
		v.note(list, got)
		err = v.count(got, out)
	}
	return objects.StoreError(err)
}

// count counts what was recorded. What stays at home is asked of each snapshot: one that another machine took of a part
// was not cut when it went there, and names it all the same.
func (v *receiver) count(got []*pulled, out *Fetched) error {
	var full []*records.Snapshot
	for _, s := range got {
		out.Snapshots = append(out.Snapshots, s.Snapshot)
		c := *s.Snapshot
		full = append(full, &c)
	}
	err := (&lookup.Reader{Objects: v.r.Objects}).Fill(v.p.ctx, full...)
	for _, s := range full {
		if slices.ContainsFunc(s.Skipped, func(n records.Note) bool { return n.Reason == retention.AtHome }) {
			out.AtHome++
		}
	}
	return err
}

// takeCopy records a snapshot as another file has it, after one has failed. If all do it is left.
func (v *receiver) takeCopy(d *Distant, failed error, where string, newest bool, out *Fetched) error {
	left := len(out.Left)
	if len(d.Copies) == 0 {
		out.Left = append(out.Left, records.Note{Reason: failed.Error()})
	} else {
		other := *d.Copies[0]
		other.Copies = d.Copies[1:]
		if err := v.takeSome([]*Distant{&other}, where, newest, out); err != nil {
			return err
		}
	}
	for i := range out.Left[left:] {
		out.Left[left+i].Path = records.Path(d.ID.String())
	}
	return nil
}

// pin gives a snapshot the names that it has there, unless they are no names, or another one has them here.
func (s *pulled) pin(up *records.Update) error {
	here, given := up.Pins(), []string{}
	for _, name := range s.pins {
		if at, taken := here[name]; taken && at != s.ID || name == "" || len(name) > pinMost || lookup.SpeaksOfItself(name) {
			continue
		}
		if err := up.Pin(name, s.ID); err != nil {
			return err
		}
		given = append(given, name)
	}
	s.pins = given
	return nil
}

// pinMost bounds the bytes of a name from elsewhere.
const pinMost = 255

// note notes that the remote has snapshots, so that no push brings them there. Without the note one asks.
func (v *receiver) note(list []*Distant, got []*pulled) {
	dir := v.p.s.cache
	if durable.MakeDir(dir) != nil {
		return
	}
	lock, err := durable.Lock(v.p.ctx, filepath.Join(dir, lockFile), durable.Exclusive)
	if err != nil {
		return
	}
	defer lock.Unlock()
	k := loadKnown(filepath.Join(dir, knownFile))
	for i, s := range got {
		if hash, err := hashOf(s.Snapshot, s.pins, nil); err == nil {
			k.addPushed(s.ID, hash)
			k.addFile(list[i].ID, file{of: s.ID, full: list[i].full, tags: tagsHash(list[i].Tags), tree: list[i].Tree})
		}
	}
	_ = k.save()
}

// read reads snapshots into the stage.
func (v *receiver) read(list []*Distant, where string) (got []*pulled, err error) {
	if got, err = v.p.snapshots(list); err != nil {
		return nil, err
	}
	for _, n := range got {
		n.Where, n.Lost, n.Held = where, "", records.HeldByStore
	}
	return got, v.p.contents()
}

// anew forgets what was on its way when something failed.
func (v *receiver) anew() {
	v.p.stage.Discard()
	v.p.stage = v.store.Stage()
	clear(v.p.trees)
	clear(v.p.whole)
	clear(v.p.wanted)
	clear(v.p.overlays)
	v.p.wants, v.p.sweeps, v.p.lengths = nil, nil, lengths{}
}

// leavable reports whether the other snapshots can be brought all the same.
func leavable(err error) bool {
	return errors.Is(err, records.ErrRefused) || errors.Is(err, restic.ErrTampered) || errors.Is(err, restic.ErrUnknown) || errors.Is(err, restic.ErrLarge)
}
