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

// name writes the rows of all frames that the stage has placed, and then those of
// the objects they are of. What was written before an error is met again by the
// next try.
func (g *Stage) name(ctx context.Context) error {
	p := &g.placed
	err := g.s.nameChunks(ctx, p, func(u *Update, c placedChunk, held bool) error {
		return u.nameChunk(c, held, g.sweeps != u.Sweeps())
	})
	if err != nil {
		return err
	}
	for run := range slices.Chunk(g.seen.entries.sorted(g.s.meta.algorithm.Size()), g.s.parts.rows) {
		err := g.s.Update(ctx, func(u *Update) error { return u.nameObjects(g, run, g.sweeps != u.Sweeps()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// nameOthers writes the rows of the frames that other stages have placed and not
// named: their processes may have died. Who lives finds that it was done.
func (s *Store) nameOthers(ctx context.Context) error {
	p := &placement{}
	err := s.View(ctx, func(v *View) error {
		v.eachNote(func(n noted) {
			p.notes = append(p.notes, n.note)
			for _, c := range n.chunks {
				c.note = uint32(len(p.notes))
				p.chunks.add(p.encode(c))
			}
		}, func([]byte) {})
		return nil
	})
	if err != nil || p.chunks.n == 0 {
		return err
	}
	return s.nameChunks(ctx, p, func(u *Update, c placedChunk, held bool) error {
		if !held {
			return nil
		}
		err := u.nameChunk(c, held, true)
		if errors.Is(err, ErrSwept) || errors.Is(err, ErrCorrupt) { // of no use, without its base
			// The owner may live: it must look again at what it relies on.
			err = errors.Join(u.data.Delete(seqKey(c.seq)), u.objects.SetSequence(u.Sweeps()+1))
		}
		return err
	})
}

// nameChunks calls one for each chunk of a placement, in the order of their digests and
// few in a transaction, and says whether the chunk's note is there still. In the last
// of these transactions the notes go.
func (s *Store) nameChunks(ctx context.Context, p *placement, one func(u *Update, c placedChunk, held bool) error) error {
	done := 0
	for run := range slices.Chunk(p.chunks.sorted(digestBytes), s.parts.rows) {
		err := s.Update(ctx, func(u *Update) error {
			held := u.holdsEach(p.notes)
			if sparse(u.chunks, p.chunks.n) {
				u.chunks.FillPercent = sortedFillPercent
			}
			for _, i := range run {
				c := p.chunk(i)
				if err := one(u, c, c.note > 0 && held[c.note-1]); err != nil {
					return err
				}
			}
			if done+len(run) < p.chunks.n {
				return nil
			}
			return u.forgetNotes(p.notes)
		})
		if err != nil {
			return err
		}
		done += len(run)
	}
	return nil
}

// nameChunk writes the row of a chunk, unless somebody else has written one meanwhile:
// then another frame is not needed. Without its note the frame may be gone, or be
// another's; so it may be if the store was swept since the note was written.
func (u *Update) nameChunk(c placedChunk, held, swept bool) error {
	key, now := c.digest[:], u.s.now().Unix()
	if u.chunks.Get(key) != nil {
		if old, _, err := u.frame(c.digest); err == nil {
			return u.alreadyNamed(c, old, held)
		}
		swept = true
	}
	if !held || swept && len(u.data.Get(seqKey(c.seq))) != int(c.stored)+1 {
		return fmt.Errorf("chunk %x: %w", key, ErrSwept)
	}
	if err := u.checkBase(c.base); err != nil {
		return err
	}
	row := chunk{seq: c.seq, raw: c.raw, stored: c.stored, written: now, base: c.base}
	return u.put(u.chunks, chunksName, key, row.encode(key))
}

func (u *Update) alreadyNamed(c placedChunk, old chunk, held bool) error {
	if held && old.seq != c.seq {
		if err := u.data.Delete(seqKey(c.seq)); err != nil {
			return err
		}
	}
	now := u.s.now().Unix()
	if old.written >= now-renewSeconds {
		return nil
	}
	old.written = now
	return u.put(u.chunks, chunksName, c.digest[:], old.encode(c.digest[:]))
}

func (u *Update) nameObjects(g *Stage, run []uint32, swept bool) error {
	if sparse(u.objects, g.seen.entries.n) {
		u.objects.FillPercent = sortedFillPercent
	}
	objects := make([]stagedObject, 0, len(run))
	for _, at := range run {
		o, ok := g.placed.object(g.seen.entries.at(at))
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
