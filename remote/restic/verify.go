package restic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// Verify reads every pack that the index names to its end: its hash, its header, which has to say what the index
// says, and each blob. It goes on beside damage, and returns all of it. Told is called with each pack; it may be nil.
func (r *Repo) Verify(ctx context.Context, told func(done, total int)) error {
	r.mu.Lock()
	blobs := make([][]wanted, len(r.index.packs))
	for _, m := range r.index.blobs {
		for id, at := range m {
			blobs[at.pack] = append(blobs[at.pack], wanted{id, at})
		}
	}
	packs := slices.Clone(r.index.packs)
	r.mu.Unlock()
	done, found := 0, []error{}
	err := Parallel(ctx, requests, len(packs), func(ctx context.Context, i int) error {
		err := r.verifyPack(ctx, packs[i], blobs[i])
		if err != nil && ctx.Err() != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if done++; err != nil {
			found = append(found, err)
		}
		if told != nil {
			told(done, len(packs))
		}
		return nil
	})
	return errors.Join(append(found, err)...)
}

// VerifyIndex reads the name of the repository and the index as they are there, and forgets what a cache says: from now on
// nothing is kept. It goes on beside damage, and returns all of it, and the names of the files.
func (r *Repo) VerifyIndex(ctx context.Context) (names []ID, damage []error, err error) {
	r.Keep(nothing{})
	r.mu.Lock()
	r.index, r.small, r.smallBytes = index{}, map[part][]byte{}, 0
	r.mu.Unlock()
	if err = r.Check(ctx); errors.Is(err, ErrTampered) {
		damage, err = append(damage, err), nil
	}
	if err == nil {
		names, err = r.loadIndex(ctx, func(err error) error {
			damage = append(damage, err)
			return nil
		})
	}
	return names, damage, err
}

// VerifyKeys reads the files of the keys, of which a cache may be all that is left. One that is not what it was is named,
// and so is the one that opened the repository here, if it is not there: with its password nobody else opens it.
func (r *Repo) VerifyKeys(ctx context.Context) error {
	whole := 0
	_, err := eachKey(ctx, r.place, func(string, []byte) bool {
		whole++
		return true
	})
	if err != nil && !errors.Is(err, ErrTampered) {
		return err
	}
	if file, ok := r.cache.Load(keyName); ok {
		id := ID(sha256.Sum256(file)) // not all are read, if there are many
		now, bad := r.place.Get(ctx, "keys/"+id.String(), 0, keyMost)
		if bad != nil && !errors.Is(bad, depot.ErrNotThere) {
			return errors.Join(err, bad)
		}
		if !bytes.Equal(now, file) {
			return errors.Join(err, fmt.Errorf("%w: keys/%v, which opens it here, is not there as it was: nobody else can open it with this password", ErrTampered, id))
		}
	}
	if whole == 0 {
		return errors.Join(err, fmt.Errorf("%w: it has no keys", ErrTampered))
	}
	return err
}

func (r *Repo) verifyPack(ctx context.Context, pack ID, blobs []wanted) error {
	name := "data/" + packName(pack)
	data, err := r.getPack(ctx, pack, 0, 0)
	if err != nil {
		return err
	}
	if sha256.Sum256(data) != pack {
		return fmt.Errorf("%w: %s has not the hash that it is named by", ErrTampered, name)
	}
	if len(data) < 4 {
		return fmt.Errorf("%w: %s is cut short", ErrTampered, name)
	}
	n := int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
	from := int64(len(data)) - 4 - n
	if n < overhead || from < 0 {
		return fmt.Errorf("%w: %s: the length of its header", ErrTampered, name)
	}
	header, err := r.key.open(nil, data[from:len(data)-4])
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrTampered, name, err)
	}
	for _, w := range blobs {
		if int64(w.at.offset)+int64(w.at.length) > from {
			return fmt.Errorf("%w: %s: blob %v lies beyond its end", ErrTampered, name, w.id)
		}
		if !bytes.Contains(header, w.id[:]) {
			return fmt.Errorf("%w: %s: its header lacks blob %v", ErrTampered, name, w.id)
		}
		if _, err := r.openBlob(w.id, w.at, pack, data[w.at.offset:w.at.offset+w.at.length], Blob{}); err != nil {
			return err
		}
	}
	return nil
}
