package cas

import (
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

const (
	// rowsEach are written in one transaction. In the order of their keys they
	// lie on few pages, and bbolt keeps all of these in memory until it ends.
	rowsEach = 16 << 10
	// sortedFillPercent is for rows that come in the order of their keys into
	// a table that has few between them.
	sortedFillPercent = 0.9
)

// index writes the rows of all frames that the stage has spilled, and renews those of
// what it has found.
func (g *Stage) index(ctx context.Context) error {
	now := g.s.now().Unix()
	return g.s.indexEach(ctx, &g.spill, &g.seen.entries, func(u *Update, c spilled, listed bool) error {
		return u.index(c, now, listed, g.sweeps != u.Sweeps())
	})
}

// indexSpilled writes the rows of the frames that stages have spilled and not indexed:
// their processes may have died. Who lives finds that it was done. A row is as old as
// its frame.
func (s *Store) indexSpilled(ctx context.Context) error {
	var p spill
	var entries slab
	err := s.View(ctx, func(v *View) error {
		v.eachManifest(func(m manifest, list []spilled) {
			p.manifests = append(p.manifests, m)
			for _, c := range list {
				entries.add(p.entry(c))
			}
		})
		return nil
	})
	if err != nil || entries.n == 0 {
		return err
	}
	return s.indexEach(ctx, &p, &entries, func(u *Update, c spilled, listed bool) error {
		if !listed {
			return nil
		}
		err := u.index(c, p.manifests[p.manifest(c.seq)].written, listed, true)
		if errors.Is(err, ErrSwept) || errors.Is(err, ErrCorrupt) { // of no use, without its base
			// The owner may live: it must look again at what it relies on.
			err = u.objects.SetSequence(u.Sweeps() + 1)
			if c.form != part {
				err = errors.Join(err, u.data.Delete(seqKey(c.seq)))
			}
		}
		return err
	})
}

// indexEach calls one for each entry, in the order of their ids and few in a
// transaction, and says whether the manifest that lists it is there still. In the last
// of these transactions the manifests go.
func (s *Store) indexEach(ctx context.Context, p *spill, entries *slab, one func(u *Update, c spilled, listed bool) error) error {
	done := 0
	for run := range slices.Chunk(entries.sorted(s.meta.algorithm.Size()), s.parts.rows) {
		err := s.Update(ctx, func(u *Update) error {
			there := make([]bool, len(p.manifests))
			for i, m := range p.manifests {
				there[i] = u.holds(m)
			}
			if sparse(u.objects, entries.n) {
				u.objects.FillPercent = sortedFillPercent
			}
			for _, i := range run {
				c, err := p.object(entries.at(i))
				if err == nil {
					err = one(u, c, c.seq > 0 && there[p.manifest(c.seq)])
				}
				if err != nil {
					return err
				}
			}
			if done+len(run) < entries.n {
				return nil
			}
			return u.dropManifests(p.manifests)
		})
		if err != nil {
			return err
		}
		done += len(run)
	}
	return nil
}

// index writes the row of an object, unless there is one: then that is renewed, and
// another frame is not needed. Without its manifest the frame may be gone, or be
// another's; so it may be if the store was swept since the manifest was written. What
// was found in the store, and not swept since, is not looked at again: that would read
// the store in the order of ids, in which nothing lies.
func (u *Update) index(c spilled, written int64, listed, swept bool) error {
	if old, err := u.object(c.id); !errors.Is(err, ErrNotFound) {
		if c.seq > 0 || swept {
			_, _, err = u.frame(c.id)
		}
		if err == nil || c.seq == 0 && old.form == list {
			if listed && old.seq != c.seq && c.form != part { // others may need the frame of a part
				if err := u.data.Delete(seqKey(c.seq)); err != nil {
					return err
				}
			}
			return u.putRows(appendRenewed(nil, c.id, old, written))
		}
		swept = true
	}
	if !listed || swept && !c.fits(u.data.Get(seqKey(c.seq))) {
		return fmt.Errorf("object %v: %w", c.id, ErrSwept)
	}
	if err := u.checkBase(c.ref); err != nil {
		return err
	}
	c.written = written
	return u.putRow(c.id, c.object)
}

// sparse reports whether a table whose keys are hashes has fewer rows than are
// to be added. It counts a 256th of them: the last, since what is added comes in
// order, and so these are met before they have come.
func sparse(b *bolt.Bucket, added int) bool {
	n, c := 0, b.Cursor()
	for k, _ := c.Seek([]byte{255}); k != nil && n*256 <= added; k, _ = c.Next() {
		n++
	}
	return n*256 <= added
}
