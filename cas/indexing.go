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

// index writes the rows of all frames that the stage has spilled, and then those of
// the objects they are of.
func (g *Stage) index(ctx context.Context) error {
	err := g.s.indexChunks(ctx, &g.spill, func(u *Update, c spilledChunk, listed bool) error {
		return u.indexChunk(c, g.s.now().Unix(), listed, g.sweeps != u.Sweeps())
	})
	if err != nil {
		return err
	}
	for run := range slices.Chunk(g.seen.entries.sorted(g.s.meta.algorithm.Size()), g.s.parts.rows) {
		err := g.s.Update(ctx, func(u *Update) error { return u.indexObjects(g, run, g.sweeps != u.Sweeps()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// indexSpilled writes the rows of the frames that stages have spilled and not indexed:
// their processes may have died. Who lives finds that it was done. A row is as old as
// its frame.
func (s *Store) indexSpilled(ctx context.Context) error {
	p := &spill{}
	err := s.View(ctx, func(v *View) error {
		v.eachManifest(func(m manifest, chunks []spilledChunk) {
			p.manifests = append(p.manifests, m)
			for _, c := range chunks {
				p.chunks.add(p.encode(c))
			}
		})
		return nil
	})
	if err != nil || p.chunks.n == 0 {
		return err
	}
	return s.indexChunks(ctx, p, func(u *Update, c spilledChunk, listed bool) error {
		if !listed {
			return nil
		}
		err := u.indexChunk(c, p.manifests[p.manifest(c.seq)].written, listed, true)
		if errors.Is(err, ErrSwept) || errors.Is(err, ErrCorrupt) { // of no use, without its base
			// The owner may live: it must look again at what it relies on.
			err = errors.Join(u.data.Delete(seqKey(c.seq)), u.objects.SetSequence(u.Sweeps()+1))
		}
		return err
	})
}

// indexChunks calls one for each chunk of a spill, in the order of their digests and
// few in a transaction, and says whether the chunk's manifest is there still. In the
// last of these transactions the manifests go.
func (s *Store) indexChunks(ctx context.Context, p *spill, one func(u *Update, c spilledChunk, listed bool) error) error {
	done := 0
	for run := range slices.Chunk(p.chunks.sorted(digestBytes), s.parts.rows) {
		err := s.Update(ctx, func(u *Update) error {
			there := make([]bool, len(p.manifests))
			for i, m := range p.manifests {
				there[i] = u.holds(m)
			}
			if sparse(u.chunks, p.chunks.n) {
				u.chunks.FillPercent = sortedFillPercent
			}
			for _, i := range run {
				c := p.chunk(i)
				if err := one(u, c, c.seq > 0 && there[p.manifest(c.seq)]); err != nil {
					return err
				}
			}
			if done+len(run) < p.chunks.n {
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

// indexChunk writes the row of a chunk, unless somebody else has written one meanwhile:
// then another frame is not needed. Without its manifest the frame may be gone, or be
// another's; so it may be if the store was swept since the manifest was written.
func (u *Update) indexChunk(c spilledChunk, written int64, listed, swept bool) error {
	key := c.digest[:]
	if u.chunks.Get(key) != nil {
		if old, _, err := u.frame(c.digest); err == nil {
			return u.alreadyIndexed(c, old, written, listed)
		}
		swept = true
	}
	if !listed || swept && len(u.data.Get(seqKey(c.seq))) != int(c.stored)+1 {
		return fmt.Errorf("chunk %x: %w", key, ErrSwept)
	}
	if err := u.checkBase(c.base); err != nil {
		return err
	}
	row := chunk{seq: c.seq, raw: c.raw, stored: c.stored, written: written, base: c.base}
	return u.put(u.chunks, chunksName, key, row.encode(key))
}

func (u *Update) alreadyIndexed(c spilledChunk, old chunk, written int64, listed bool) error {
	if listed && old.seq != c.seq {
		if err := u.data.Delete(seqKey(c.seq)); err != nil {
			return err
		}
	}
	if old.written >= written-renewSeconds {
		return nil
	}
	old.written = written
	return u.put(u.chunks, chunksName, c.digest[:], old.encode(c.digest[:]))
}

func (u *Update) indexObjects(g *Stage, run []uint32, swept bool) error {
	if sparse(u.objects, g.seen.entries.n) {
		u.objects.FillPercent = sortedFillPercent
	}
	objects := make([]stagedObject, 0, len(run))
	for _, at := range run {
		o, ok := g.spill.object(g.seen.entries.at(at))
		if !ok {
			continue
		}
		if swept && u.chunks.Get(o.row.digest[:]) == nil {
			return fmt.Errorf("object %v: %w", o.id, ErrSwept)
		}
		objects = append(objects, o)
	}
	return u.writeObjects(objects, u.s.now().Unix())
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
