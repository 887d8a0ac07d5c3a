package restic

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// A Blob is one that was opened, and has the bytes that its id says.
type Blob struct {
	Plain []byte
	Frame []byte // of zstd, that Plain was decoded from; nil: the repository does not have it compressed
}

// openBlob opens the sealed bytes of a blob and compares them with its id. It takes the memory of another one.
func (r *Repo) openBlob(id ID, at blobAt, pack ID, sealed []byte, old Blob) (b Blob, err error) {
	if at.large() {
		return Blob{}, fmt.Errorf("data/%s: blob %v: %w", packName(pack), id, ErrLarge)
	}
	if at.plain == 0 {
		b.Plain, err = r.key.open(old.Plain, sealed)
	} else if b.Frame, err = r.key.open(old.Frame, sealed); err == nil {
		b.Plain, err = r.unpack(old.Plain, b.Frame, int(at.plain))
	}
	if err == nil && sha256.Sum256(b.Plain) != id {
		err = fmt.Errorf("it has other bytes than its id says")
	}
	if err != nil {
		return Blob{}, fmt.Errorf("%w: data/%s: blob %v: %w", ErrTampered, packName(pack), id, err)
	}
	return b, nil
}

func packName(pack ID) string { return pack.String()[:2] + "/" + pack.String() }

// getPack reads from a pack that the index names.
func (r *Repo) getPack(ctx context.Context, pack ID, offset, length int64) ([]byte, error) {
	name := "data/" + packName(pack)
	data, err := r.place.Get(ctx, name, offset, length)
	if errors.Is(err, depot.ErrNotThere) {
		err = fmt.Errorf("%w: %s is missing", ErrTampered, name)
	}
	return data, err
}

const (
	smallMost = 256 << 10 // so many bytes of a pack are read at once where more of it is wanted soon
	smallKept = 16 << 20  // bytes of such parts that are kept
	loneMost  = 16        // trees that are read alone, each because the one before named it, until more of each pack is read
)

// A part is what is read of a pack at once: the whole of a small one.
type part struct {
	pack ID
	at   int64
}

// readPack is getPack for a run.
func (r *Repo) readPack(ctx context.Context, n run) ([]byte, error) {
	offset, length, in := int64(n.from), int64(n.end-n.from), n.blobs[0].at.pack
	r.mu.Lock()
	end := int64(0) // not known: the index was read again meanwhile
	if int(in) < len(r.index.ends) {
		end = int64(r.index.ends[in])
	}
	if n.lone {
		r.lone++
	}
	p := part{n.pack, offset / smallMost * smallMost}
	data, deep := r.small[p], n.lone && r.lone > loneMost
	r.mu.Unlock()
	size := min(end-p.at, smallMost)
	if offset+length > p.at+size || end > smallMost && !deep {
		return r.getPack(ctx, n.pack, offset, length)
	}
	if int64(len(data)) < size {
		var err error
		if data, err = r.getPack(ctx, n.pack, p.at, size); err != nil {
			return nil, err
		}
		r.mu.Lock()
		if r.smallBytes += len(data); r.smallBytes > smallKept {
			r.small, r.smallBytes = map[part][]byte{}, len(data)
		}
		r.small[p] = data
		r.mu.Unlock()
	}
	from := min(offset-p.at, int64(len(data)))
	return data[from:min(from+length, int64(len(data)))], nil
}

// Blob reads one blob.
func (r *Repo) Blob(ctx context.Context, k Kind, id ID) ([]byte, error) {
	at, pack, err := r.locate(k, id)
	if err != nil {
		return nil, err
	}
	sealed, err := r.readPack(ctx, run{pack: pack, from: at.offset, end: at.offset + at.length, blobs: []wanted{{id, at}}, lone: k == Tree})
	if err != nil {
		return nil, err
	}
	b, err := r.openBlob(id, at, pack, sealed, Blob{})
	return b.Plain, err
}

const (
	runMost = 4 << 20   // bytes that one request asks for, but for a blob that is larger
	gapMost = 128 << 10 // bytes that are read and dropped, to spare a request
)

// A run is a part of a pack that one request reads.
type run struct {
	pack  ID
	from  uint32
	end   uint32
	blobs []wanted
	lone  bool // it is all that is asked for of the trees of a level
}

type wanted struct {
	id ID
	at blobAt
}

// Blobs reads many blobs, several requests at once, each for blobs that lie near one
// another, and calls f for each, of several goroutines, in no order. The bytes are f's until it returns. The first error
// ends it.
func (r *Repo) Blobs(ctx context.Context, k Kind, ids []ID, f func(id ID, b Blob) error) error {
	return r.eachBlob(ctx, k, ids, func(id ID, b Blob, err error) error {
		if err != nil {
			return err
		}
		return f(id, b)
	})
}

// eachBlob is Blobs, and f is told also of a blob that cannot be read.
func (r *Repo) eachBlob(ctx context.Context, k Kind, ids []ID, f func(id ID, b Blob, err error) error) error {
	runs, lacking := r.runs(k, ids)
	for id, err := range lacking {
		if err := f(id, Blob{}, err); err != nil {
			return err
		}
	}
	return Parallel(ctx, requests, len(runs), func(ctx context.Context, i int) error {
		n := runs[i]
		data, failed := r.readPack(ctx, n)
		if failed != nil && !errors.Is(failed, ErrTampered) {
			return failed
		}
		var b Blob
		for _, w := range n.blobs {
			at, err := int(w.at.offset-n.from), failed
			if err == nil && at+int(w.at.length) > len(data) {
				err = fmt.Errorf("%w: data/%s is cut short", ErrTampered, packName(n.pack))
			}
			if err == nil {
				b, err = r.openBlob(w.id, w.at, n.pack, data[at:at+int(w.at.length)], b)
			}
			if err != nil {
				b = Blob{}
			}
			if err := f(w.id, b, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// runs groups blobs by what one request reads, but for those that cannot be read.
func (r *Repo) runs(k Kind, ids []ID) (runs []run, lacking map[ID]error) {
	byPack, lacking := map[ID][]wanted{}, map[ID]error{}
	var packs []ID
	seen := map[ID]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		at, pack, err := r.locate(k, id)
		if err != nil {
			lacking[id] = err
			continue
		}
		if byPack[pack] == nil {
			packs = append(packs, pack)
		}
		byPack[pack] = append(byPack[pack], wanted{id, at})
	}
	for _, pack := range packs {
		list := byPack[pack]
		slices.SortFunc(list, func(a, b wanted) int { return int(int64(a.at.offset) - int64(b.at.offset)) })
		var n *run
		for _, w := range list {
			end := w.at.offset + w.at.length
			if n == nil || w.at.offset > n.end+gapMost || end-n.from > runMost {
				runs = append(runs, run{pack: pack, from: w.at.offset, end: end})
				n = &runs[len(runs)-1]
			}
			n.blobs, n.end = append(n.blobs, w), max(n.end, end)
		}
	}
	if len(runs) == 1 {
		runs[0].lone = k == Tree
	}
	return runs, lacking
}
