package restic

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// A Pruned says what a prune removes.
type Pruned struct {
	Packs    int   // removed
	Repacked int   // of them, those of which some blobs were written anew
	Bytes    int64 // that are free now
	Unused   int64 // that nothing needs, and that stay: writing anew what lies beside them would cost more
	Unlisted int   // packs that no index names and that stay: somebody may be writing them
}

const (
	unusedPart = 20      // of all that is needed, such a part may stay unused, as with restic
	smallPack  = 2 << 20 // a pack below that is worth writing anew with others
	smallPacks = 16      // if there are so many of its kind
	indexMost  = 8       // so many files of the index are not worth writing anew
)

// PlanPrune finds what the trees that were followed do not need: those of all snapshots that were seen and stay must have
// been, with the index that is loaded, under an exclusive lock. Unlisted is asked whether a pack may go that no index names.
// What is needed and is not there is [ErrTampered]. Nothing is changed.
func (r *Repo) PlanPrune(ctx context.Context, seen []*Snapshot, need *Reach, unlisted func(pack ID) bool) (*Pruning, error) {
	if len(need.broken) > 0 {
		return nil, fmt.Errorf("nothing is removed, as it is not whole: %w", errors.Join(need.Broken()...))
	}
	p := &Pruning{r: r, need: need, packs: map[ID]*packUse{}, seen: map[ID]bool{}}
	for _, s := range seen {
		p.seen[s.ID] = true
	}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	if err := p.assign(ctx); err != nil {
		return nil, err
	}
	p.choose(unlisted)
	return p, nil
}

// A packUse is a pack that the index names, and what of it is needed.
type packUse struct {
	id      ID
	blobs   []indexBlob
	needed  []indexBlob
	all     int64 // bytes of blobs
	unused  int64
	missing bool
}

func (u *packUse) kind() string { return u.blobs[0].Type }

// A Pruning is a prune that was planned, and what it removes.
type Pruning struct {
	Pruned
	r     *Repo
	need  *Reach
	seen  map[ID]bool // snapshots, also those that go
	index []ID        // files that are to be replaced
	packs map[ID]*packUse
	order []*packUse
	there map[ID]int64 // packs, and their bytes

	keep, repack, remove []*packUse
	stray                []ID // packs that no index names, and that go
}

// load reads all that the index says, and lists the packs.
func (p *Pruning) load(ctx context.Context) error {
	p.index = p.r.Indexed()
	files := make([]indexFile, len(p.index))
	if err := Parallel(ctx, requests, len(files), func(ctx context.Context, i int) error {
		return p.r.getJSON(ctx, "index", p.index[i].String(), &files[i])
	}); err != nil {
		return err
	}
	for _, f := range files {
		for _, pack := range f.Packs {
			if len(pack.Blobs) > 0 {
				p.take(pack)
			}
		}
	}
	list, err := p.r.place.List(ctx, "data")
	if err != nil {
		return err
	}
	p.there = map[ID]int64{}
	for _, f := range list {
		var id ID
		if id.UnmarshalText([]byte(path.Base(f.Name))) == nil && f.Name == packName(id) {
			p.there[id] = f.Size
		}
	}
	return nil
}

// take notes what the index says of a pack; several files may.
func (p *Pruning) take(pack indexPack) {
	u := p.packs[pack.ID]
	if u == nil {
		u = &packUse{id: pack.ID}
		p.packs[pack.ID] = u
		p.order = append(p.order, u)
	}
	seen := map[uint32]bool{}
	for _, b := range u.blobs {
		seen[b.Offset] = true
	}
	for _, b := range pack.Blobs {
		if !seen[b.Offset] {
			u.blobs = append(u.blobs, b)
			u.all += int64(b.Length)
		}
	}
}

// assign finds for each blob that is needed one pack that has it.
func (p *Pruning) assign(ctx context.Context) error {
	left := [2]map[ID]bool{maps.Clone(p.need.blobs[0]), maps.Clone(p.need.blobs[1])}
	for _, u := range p.order {
		if _, ok := p.there[u.id]; !ok { // a list may lag
			if _, err := p.r.getPack(ctx, u.id, 0, 1); errors.Is(err, ErrTampered) {
				u.missing = true
				continue
			} else if err != nil {
				return err
			}
		}
		for _, b := range u.blobs {
			kind := kindOf(b.Type)
			if left[kind][b.ID] {
				delete(left[kind], b.ID)
				u.needed = append(u.needed, b)
			} else {
				u.unused += int64(b.Length)
			}
		}
	}
	for kind, ids := range left {
		for id := range ids {
			return fmt.Errorf("nothing is removed, as it is not whole: %w: %v blob %v is in no pack that is there", ErrTampered, Kind(kind), id)
		}
	}
	return nil
}

func kindOf(text string) Kind {
	if text == "tree" {
		return Tree
	}
	return Data
}

// choose says what becomes of each pack.
func (p *Pruning) choose(unlisted func(ID) bool) {
	var total, unused int64
	small := map[string][]*packUse{}
	var partly []*packUse
	for _, u := range p.order {
		total += u.all - u.unused
		switch {
		case u.missing:
		case len(u.needed) == 0:
			p.remove = append(p.remove, u)
		case u.unused > 0:
			partly = append(partly, u)
			unused += u.unused
		case u.all < smallPack:
			small[u.kind()] = append(small[u.kind()], u)
		default:
			p.keep = append(p.keep, u)
		}
	}
	slices.SortStableFunc(partly, func(a, b *packUse) int { // by the part that is unused
		return cmp.Compare(float64(b.unused)/float64(b.all), float64(a.unused)/float64(a.all))
	})
	for _, u := range partly {
		switch {
		case unused > total/unusedPart:
			p.repack = append(p.repack, u)
			unused -= u.unused
		case u.all < smallPack:
			small[u.kind()] = append(small[u.kind()], u)
		default:
			p.keep = append(p.keep, u)
		}
	}
	for _, list := range small {
		if len(list) < smallPacks {
			p.keep = append(p.keep, list...)
			continue
		}
		p.repack = append(p.repack, list...)
		for _, u := range list {
			unused -= u.unused
		}
	}
	p.Unused = unused
	for _, u := range append(slices.Clone(p.remove), p.repack...) {
		p.Packs, p.Bytes = p.Packs+1, p.Bytes+p.there[u.id]
	}
	p.Repacked = len(p.repack)
	for _, u := range p.repack {
		p.Bytes -= u.all - u.unused
	}
	for id, size := range p.there {
		if p.packs[id] != nil {
			continue
		}
		if p.Unlisted++; unlisted(id) {
			p.stray = append(p.stray, id)
			p.Unlisted--
			p.Packs, p.Bytes = p.Packs+1, p.Bytes+size
		}
	}
}

// Do writes what is to be written anew, then the index, and removes the old index first, then the packs. Before each
// removal it looks whether the lock is still there, and no snapshot that was not seen. If it ends anywhere all that is
// needed is there, and the next goes on.
func (p *Pruning) Do(ctx context.Context, l *Lock) error {
	missing := slices.ContainsFunc(p.order, func(u *packUse) bool { return u.missing })
	if len(p.remove)+len(p.repack) > 0 || missing || len(p.index) > indexMost {
		if err := p.rewrite(ctx, l); err != nil {
			return err
		}
	}
	if err := p.sure(ctx, l); err != nil {
		return err
	}
	gone := slices.Clone(p.stray)
	for _, u := range append(p.remove, p.repack...) {
		gone = append(gone, u.id)
	}
	return p.delete(ctx, gone, func(id ID) string { return "data/" + packName(id) })
}

// sure is [ErrLocked] if the lock is gone, or a snapshot is there that was not seen, and needs nobody knows what.
func (p *Pruning) sure(ctx context.Context, l *Lock) error {
	if err := l.renew(ctx); err != nil {
		return err
	}
	names, err := p.r.SnapshotFiles(ctx)
	for _, id := range names {
		if p.seen[id] {
			continue
		}
		if _, err := p.r.place.Get(ctx, "snapshots/"+id.String(), 0, 1); err == nil {
			return fmt.Errorf("%w: snapshot %v was not there a moment ago: a program has brought it that takes no lock, or the list of them was not whole; nothing was removed", ErrLocked, id)
		} else if !errors.Is(err, depot.ErrNotThere) { // else a list lags
			return err
		}
	}
	return err
}

func (p *Pruning) delete(ctx context.Context, ids []ID, name func(ID) string) error {
	return Parallel(ctx, requests, len(ids), func(ctx context.Context, i int) error {
		return p.r.place.Delete(ctx, name(ids[i]))
	})
}

// rewrite replaces the index by one without the packs that go.
func (p *Pruning) rewrite(ctx context.Context, l *Lock) error {
	w := p.r.Writer(ctx)
	defer w.Close()
	w.unindexed = true
	if err := Parallel(ctx, requests, len(p.repack), func(ctx context.Context, i int) error {
		return p.copy(ctx, w, p.repack[i])
	}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, u := range p.keep {
		w.done = append(w.done, indexPack{ID: u.id, Blobs: u.blobs})
	}
	if err := w.putIndex(); err != nil {
		return err
	}
	if err := p.sure(ctx, l); err != nil {
		return err
	}
	err := p.delete(ctx, p.index, func(id ID) string { return "index/" + id.String() })
	p.r.mu.Lock()
	p.r.index = index{} // it is read again
	p.r.mu.Unlock()
	return err
}

// copy writes the blobs of a pack anew that are needed, as they are sealed.
func (p *Pruning) copy(ctx context.Context, w *Writer, u *packUse) error {
	data, err := p.r.getPack(ctx, u.id, 0, 0)
	if err != nil {
		return err
	}
	if sha256.Sum256(data) != u.id {
		return fmt.Errorf("%w: data/%s has not the hash that it is named by", ErrTampered, packName(u.id))
	}
	for _, b := range u.needed {
		if uint64(b.Offset)+uint64(b.Length) > uint64(len(data)) {
			return fmt.Errorf("%w: data/%s is cut short", ErrTampered, packName(u.id))
		}
		sealed := data[b.Offset : b.Offset+b.Length]
		if _, err := p.r.openBlob(b.ID, blobAt{length: b.Length, plain: b.Plain}, u.id, sealed, Blob{}); err != nil {
			return err
		}
		kind := byte(kindOf(b.Type))
		if b.Plain > 0 {
			kind += 2
		}
		if err := w.add(b.ID, kind, b.Plain, sealed); err != nil {
			return err
		}
	}
	return nil
}
