package cas

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// SweepOptions say what a sweep keeps.
type SweepOptions struct {
	// Live calls mark for the id of every object to be kept: whatever a record
	// leads to, to the end. It may use the store's views, since no lock is held.
	Live func(mark func(oid.ID)) error
	// Rest calls mark for what Live has not seen, because it was recorded since;
	// nil: nothing is. It is called in the sweep's transaction, where others wait:
	// it must be short, and use the given view alone.
	Rest func(v *View, mark func(oid.ID)) error
	// Grace: what was stored or met by a stage less than this ago is kept too,
	// because it may belong to a snapshot that is being made. Zero is 24 hours.
	// A negative grace keeps nothing: for a caller who knows that he is alone.
	Grace time.Duration
	// Now is the time ages are measured from; zero is the clock's.
	Now time.Time
	// DryRun counts and removes nothing.
	DryRun bool
}

// A SweepReport counts what a sweep removed, or would remove.
type SweepReport struct {
	Objects int
	Chunks  int   // frames of which nothing is left
	Bytes   int64 // of frames; the file shrinks when it is compacted
	// Free are the bytes of the file that nothing used before the sweep, if they
	// are a quarter of it and 8 MiB or more: so many that it is worth [Store.Compact].
	// If nothing was removed, also what a sweep before this had left undone.
	Free int64
}

// Sweep removes the objects that are neither live nor young, and that no remaining
// object needs. It is one transaction: a crash leaves all or nothing. Then, a few at a
// time, the frames that they shared with others are written anew: without grace all of
// them, otherwise those of which a quarter has gone. What of that a crash leaves undone the
// next such sweep does. A record written while Live ran is left to Rest, so that none can
// lead to an object that is gone.
func (s *Store) Sweep(ctx context.Context, opt SweepOptions) (report SweepReport, err error) {
	if !opt.DryRun { // only what has a row is judged; a full disk has no room for rows, and is to be freed
		if err := s.indexSpilled(ctx); err != nil && !full(err) {
			return SweepReport{}, err
		}
	}
	live := make(marks)
	if err := opt.Live(live.add); err != nil {
		return SweepReport{}, err
	}
	mode := durable.Exclusive
	if opt.DryRun {
		mode = durable.Shared
	}
	var torn []uint64
	err = s.transact(ctx, mode, func(f *file) error {
		return s.update(f, func(u *Update) (err error) {
			if opt.Rest != nil {
				if err := opt.Rest(&u.View, live.add); err != nil {
					return err
				}
			}
			w := &sweeper{u: u, needed: live, before: opt.before(s.now), all: opt.Grace < 0}
			report, err = w.run(opt.DryRun)
			report.Free, torn = f.slack(), w.torn
			return err
		})
	})
	if err == nil && !opt.DryRun {
		var left int64 // by a sweep that did not come so far
		if left, err = s.regroup(ctx, torn, opt.Grace < 0); opt.Grace >= 0 && full(err) {
			err = nil
		}
		if report.Objects+report.Chunks == 0 {
			report.Free = max(report.Free, left)
		}
	}
	if err != nil {
		return SweepReport{}, err
	}
	return report, nil
}

// full reports whether an error says that a disk is full.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// marks is a set of keys by their first eight bytes. Keys are hashes; two that
// agree in these are both kept, which is harmless, and the set is small.
type marks map[uint64]struct{}

func (m marks) add(id oid.ID)       { m.put(id.Bytes()) }
func (m marks) has(key []byte) bool { _, ok := m[prefix(key)]; return ok }
func (m marks) put(key []byte)      { m[prefix(key)] = struct{}{} }

func prefix(key []byte) uint64 {
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}

// before returns the unix second from which on things are young. Write times
// are renewed only every renewSeconds, so they may be that much too old.
func (opt SweepOptions) before(clock func() time.Time) int64 {
	now, grace := opt.Now, opt.Grace
	if now.IsZero() {
		now = clock()
	}
	if grace < 0 {
		return 1<<63 - 1
	}
	if grace == 0 {
		grace = 24 * time.Hour
	}
	return now.Add(-grace).Unix() - renewSeconds
}

// A sweeper finds what goes, then removes it. Damage anywhere stops it before
// it has removed anything: what cannot be read cannot be judged.
type sweeper struct {
	u      *Update
	needed marks // what lives, and what that needs
	before int64
	all    bool // there is no grace

	dead       [][]byte // keys of objects
	deadFrames []uint64
	torn       []uint64 // without grace: frames of which a part goes
	orphans    []orphan // get new frames
	objects    int      // that are not a part of others
	bytes      int64
}

func (w *sweeper) run(dry bool) (SweepReport, error) {
	for _, step := range []func() error{w.findLists, w.findBases, w.findDead, w.findUnindexed} {
		if err := step(); err != nil {
			return SweepReport{}, err
		}
	}
	report := SweepReport{Objects: w.objects, Chunks: len(w.deadFrames), Bytes: w.bytes}
	if !dry {
		return report, w.remove()
	}
	if !w.all { // else they were found
		frames, n := w.u.spilled(w.before)
		report.Chunks, report.Bytes = report.Chunks+frames, report.Bytes+n
	}
	return report, nil
}

// findLists adds the chunks of the objects that stay.
func (w *sweeper) findLists() error {
	return w.u.eachObject(func(key []byte, o object) error {
		if o.form != list || !w.stays(key, o) {
			return nil
		}
		ids, err := w.u.listed(o)
		if err != nil {
			id, _ := oid.FromBytes(key)
			return lost(id, err)
		}
		for _, id := range append(ids, o.ref) {
			w.needed.add(id)
		}
		return nil
	})
}

// findBases adds the bases of the deltas that stay. They are not deltas
// themselves, so once is enough. Without grace no base is kept for that alone: the
// deltas that would need it are orphans.
func (w *sweeper) findBases() error {
	return w.u.eachObject(func(key []byte, o object) (err error) {
		switch {
		case o.form != delta || !w.stays(key, o):
		case !w.all:
			w.needed.add(o.ref)
		case !w.needed.has(o.ref.Bytes()):
			orphan := orphan{base: o.ref}
			orphan.id, err = oid.FromBytes(key)
			w.orphans = append(w.orphans, orphan)
		}
		return err
	})
}

func (w *sweeper) findDead() error {
	gone, left := map[uint64]bool{}, map[uint64]object{}
	err := w.u.eachObject(func(key []byte, o object) error {
		if w.stays(key, o) {
			if o.form == part {
				left[o.seq] = left[o.seq].with(o)
			}
			return nil
		}
		w.dead = append(w.dead, bytes.Clone(key))
		if o.kind != chunkKind {
			w.objects++
		}
		if o.form == part {
			gone[o.seq] = true
		} else if o.form != list {
			w.deadFrames = append(w.deadFrames, o.seq)
			w.bytes += int64(o.stored)
		}
		return nil
	})
	for seq := range gone {
		row, stays := w.u.data.Get(seqKey(seq)), left[seq]
		switch {
		case stays.size == 0:
			w.deadFrames = append(w.deadFrames, seq)
		case w.all:
			w.torn = append(w.torn, seq)
		case !stays.wastes(row):
			continue
		}
		w.bytes += max(int64(len(row))-1-int64(stays.stored), 0)
	}
	return err
}

// stays also spares a young chunk that no object has yet: it may be of a large
// object whose end is still being read.
func (w *sweeper) stays(key []byte, o object) bool {
	return w.needed.has(key) || o.written >= w.before
}

func (w *sweeper) remove() error {
	if err := w.reencode(); err != nil {
		return err
	}
	if len(w.dead)+len(w.deadFrames) > 0 {
		if err := w.u.objects.SetSequence(w.u.Sweeps() + 1); err != nil {
			return err
		}
	}
	for _, k := range w.dead {
		if err := removeMet(w.u.objects, k); err != nil {
			return err
		}
	}
	if err := w.removeFrames(); err != nil || !w.all {
		return err
	}
	return w.removeManifests()
}

// removeManifests deletes all of them, also those that are damaged.
func (w *sweeper) removeManifests() error {
	c, prefix := w.u.tx.Cursor(), []byte(manifestPrefix)
	for name, value := c.Seek(prefix); bytes.HasPrefix(name, prefix); name, value = c.Seek(prefix) {
		if value != nil {
			return errPages
		}
		if err := w.u.tx.DeleteBucket(bytes.Clone(name)); err != nil {
			return err
		}
	}
	return nil
}

// removeMet deletes a row that was met in going through all rows. bbolt finds a row by
// the keys in the pages above it, and deletes nothing, without a word, where one of
// these is damaged.
func removeMet(rows *bolt.Bucket, key []byte) error {
	if rows.Get(key) == nil {
		return errPages
	}
	return rows.Delete(key)
}

// removeFrames deletes frames. One that is not found may have been lost with its page:
// then there is nothing to delete. It must not be there for who goes through all frames.
func (w *sweeper) removeFrames() error {
	slices.Sort(w.deadFrames)
	var missed []uint64
	for _, seq := range w.deadFrames {
		if w.u.data.Get(seqKey(seq)) == nil {
			missed = append(missed, seq)
		} else if err := w.u.data.Delete(seqKey(seq)); err != nil {
			return err
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return w.u.data.ForEach(func(at, _ []byte) error {
		if len(at) != 8 {
			return errPages
		}
		if _, is := slices.BinarySearch(missed, binary.BigEndian.Uint64(at)); is {
			return errPages
		}
		return nil
	})
}

// findUnindexed adds the frames without a row, but for those that manifests list. Without
// grace it adds these too: such a frame is needed by nobody but a stage that is at work,
// and that notices.
func (w *sweeper) findUnindexed() error {
	if !w.all && len(w.dead) == 0 {
		return nil // most sweeps find nothing: that is not to touch every page
	}
	var indexed []uint64
	if !w.all {
		w.u.eachManifest(func(_ manifest, list []spilled) {
			for _, c := range list {
				indexed = append(indexed, c.seq)
			}
		})
	}
	err := w.u.eachObject(func(_ []byte, o object) error {
		if o.form != list {
			indexed = append(indexed, o.seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(indexed)
	return w.u.data.ForEach(func(at, row []byte) error {
		if len(at) != 8 {
			return errPages
		}
		seq := binary.BigEndian.Uint64(at)
		if _, is := slices.BinarySearch(indexed, seq); !is {
			w.deadFrames = append(w.deadFrames, seq)
			w.bytes += int64(len(row)) - 1
		}
		return nil
	})
}
