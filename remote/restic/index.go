package restic

import (
	"context"
	"errors"
	"fmt"
)

// A Kind is what a blob is: data or a tree.
type Kind uint8

// The kinds of blobs, with the numbers of a pack's header.
const (
	Data Kind = 0
	Tree Kind = 1
)

func (k Kind) String() string {
	if k == Tree {
		return "tree"
	}
	return "data"
}

// blobMost bounds a blob that is open: contents have at most 8 MiB, trees as many as a directory has entries.
const blobMost = 256 << 20

// A blobAt says where a blob lies.
type blobAt struct {
	pack           uint32 // its place in the list of packs
	offset, length uint32 // sealed
	plain          uint32 // bytes, 0: not compressed
}

// size is how many bytes the blob has when it is open.
func (b blobAt) size() int {
	if b.plain > 0 {
		return int(b.plain)
	}
	return int(b.length) - overhead
}

// large reports whether a blob, which another program has written, is not opened here.
func (b blobAt) large() bool { return b.length > blobMost || b.plain > blobMost }

// An index says in which pack each blob is.
type index struct {
	files map[ID]bool // of the index that were read
	packs []ID
	ends  []uint32 // of the last blob of each
	blobs [2]map[ID]blobAt
}

type indexFile struct {
	Supersedes idList          `json:"supersedes,omitempty"`
	Packs      list[indexPack] `json:"packs"`
}

type indexPack struct {
	ID    ID              `json:"id"`
	Blobs list[indexBlob] `json:"blobs"`
}

func (p indexPack) name() ID { return p.ID }

type indexBlob struct {
	ID     ID     `json:"id"`
	Type   string `json:"type"`
	Offset uint32 `json:"offset"`
	Length uint32 `json:"length"`
	Plain  uint32 `json:"uncompressed_length,omitempty"`
}

func (b indexBlob) name() ID { return b.ID }

// IndexFiles lists the files of the index that are there.
func (r *Repo) IndexFiles(ctx context.Context) ([]ID, error) { return r.names(ctx, "index") }

// LoadIndex reads the files of the index that were not read yet, and returns their names.
// If one that was read is gone, as after a prune, all are read again.
func (r *Repo) LoadIndex(ctx context.Context) (names []ID, err error) {
	return r.loadIndex(ctx, func(err error) error { return err })
}

// loadIndex is LoadIndex, and goes on beside a file that is damaged if bad returns nil.
func (r *Repo) loadIndex(ctx context.Context, bad func(error) error) (names []ID, err error) {
	if names, err = r.IndexFiles(ctx); err != nil {
		return nil, err
	}
	there := map[ID]bool{}
	for _, id := range names {
		there[id] = true
	}
	r.mu.Lock()
	for id := range r.index.files {
		if !there[id] {
			r.index = index{}
			break
		}
	}
	var lacking []ID
	for _, id := range names {
		if !r.index.files[id] {
			lacking = append(lacking, id)
		}
	}
	r.mu.Unlock()
	files := make([]indexFile, len(lacking))
	err = Parallel(ctx, requests, len(lacking), func(ctx context.Context, i int) error {
		err := r.getJSON(ctx, "index", lacking[i].String(), &files[i])
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil {
			err = r.index.add(lacking[i], &files[i])
		}
		if errors.Is(err, ErrTampered) {
			err = bad(err)
		}
		files[i] = indexFile{}
		return err
	})
	return names, err
}

// add takes a file of the index over.
func (x *index) add(id ID, f *indexFile) error {
	if x.files == nil {
		x.files, x.blobs = map[ID]bool{}, [2]map[ID]blobAt{{}, {}}
	}
	x.files[id] = true
	for _, p := range f.Packs {
		at := uint32(len(x.packs))
		x.packs, x.ends = append(x.packs, p.ID), append(x.ends, 0)
		for _, b := range p.Blobs {
			kind := Data
			if b.Type == "tree" {
				kind = Tree
			}
			if b.Length < overhead || uint64(b.Offset)+uint64(b.Length) > 1<<32-1 {
				return fmt.Errorf("%w: index/%v: the bounds of blob %v", ErrTampered, id, b.ID)
			}
			x.ends[at] = max(x.ends[at], b.Offset+b.Length)
			x.blobs[kind][b.ID] = blobAt{pack: at, offset: b.Offset, length: b.Length, plain: b.Plain}
		}
	}
	return nil
}

// locate is find for who wants to read the blob.
func (r *Repo) locate(k Kind, id ID) (blobAt, ID, error) {
	at, pack, ok := r.find(k, id)
	switch {
	case !ok:
		return at, pack, fmt.Errorf("%w: %v blob %v", ErrUnknown, k, id)
	case at.large():
		return at, pack, fmt.Errorf("%v blob %v: %w", k, id, ErrLarge)
	}
	return at, pack, nil
}

// find returns where a blob is.
func (r *Repo) find(k Kind, id ID) (blobAt, ID, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.index.blobs[k][id]
	if !ok {
		return b, ID{}, false
	}
	return b, r.index.packs[b.pack], true
}

// Has reports whether the index that was loaded has a blob.
func (r *Repo) Has(k Kind, id ID) bool {
	_, _, ok := r.find(k, id)
	return ok
}

// Size returns how many bytes a blob has.
func (r *Repo) Size(k Kind, id ID) (int64, bool) {
	b, _, ok := r.find(k, id)
	return int64(b.size()), ok
}

// Indexed returns the names of the files of the index that were read or written.
func (r *Repo) Indexed() (names []ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.index.files {
		names = append(names, id)
	}
	return names
}
