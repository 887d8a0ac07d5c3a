package away

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A Pushed says what a push did.
type Pushed struct {
	Snapshots int            // brought there
	There     int            // were there before
	Forgotten int            // were brought there, and somebody has removed them
	Looked    bool           // the snapshots there were listed; else There and Forgotten are from what was known
	Contents  int            // files that were read for it
	Bytes     int64          // that went there as blobs, sealed
	Left      []records.Note // snapshots that could not be brought there; Path is the id
}

// knownFile is in the cache of a remote.
const knownFile = "known"

// Push brings all snapshots of the store to a remote that are not there yet: first what they name, then the index, then
// each snapshot. A push that is killed leaves nothing that anybody sees; the next one goes on.
func (r *Remotes) Push(ctx context.Context, s *Session) (*Pushed, error) {
	if err := durable.MakeDir(s.cache); err != nil {
		return nil, err
	}
	lock, err := durable.Lock(ctx, filepath.Join(s.cache, lockFile), durable.Exclusive) // two would bring the same
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if s.git != nil {
		return r.pushGit(ctx, s, loadKnown(filepath.Join(s.cache, knownFile)))
	}
	if s.disk { // of a disk that is away its empty directory is there, and takes what is written
		if err := s.repo.Check(ctx); err != nil {
			return nil, err
		}
	}
	k := loadKnown(filepath.Join(s.cache, knownFile))
	w, err := r.todo(ctx, k, r.AtHome)
	if err == nil && (len(w.send) == 0 || len(k.files) == 0) {
		w, err = r.look(ctx, s, k)
	}
	if err != nil {
		return nil, err
	}
	if len(w.send)+len(w.others) == 0 {
		names, err := s.repo.IndexFiles(ctx)
		if err == nil {
			err = s.confirm(ctx, k, names)
		}
		if err != nil || !k.lost(names) {
			return w.out, errors.Join(err, k.save())
		}
	}
	l, held, err := s.repo.Lock(ctx)
	if err != nil {
		return nil, err
	}
	s.lock = l
	out, err := r.send(held, s, k, w)
	if cause := context.Cause(held); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	return out, errors.Join(err, l.Unlock())
}

// An errand is a snapshot that is to go.
type errand struct {
	s      *records.Snapshot
	sent   *records.Snapshot // what of it goes; nil: nobody has looked
	text   []byte            // its record
	hash   restic.ID
	all    restic.ID // the hash with what stays here; else the same
	record record
}

// A work is what a push has to do.
type work struct {
	send   []errand          // is to go, oldest first
	others []errand          // is there as it would be pushed, and this machine has not seen to it that it is whole
	as     bool              // the index is as it is known: a push of a turn spares reading it
	out    *Pushed           // with what was there
	copies map[oid.ID][]file // of each snapshot, that are there
}

// todo compares the snapshots of the store with what is there, as far as is known. AtHome says that what git does not
// keep stays here, and plans of operations with it: they name such files.
func (r *Remotes) todo(ctx context.Context, k *known, atHome bool) (w work, err error) {
	w.out, w.copies = &Pushed{}, k.copies(atHome)
	all, err := records.Read(ctx, r.View, (*records.View).Snapshots)
	if err != nil || len(all) == 0 {
		return w, err
	}
	history, err := r.History(ctx)
	if err != nil {
		return w, err
	}
	roots, err := records.Read(ctx, r.View, (*records.View).Worktrees)
	if err != nil {
		return w, err
	}
	pins := map[oid.ID][]string{}
	var ops *deeds
	if err := r.View(ctx, func(v *records.View) (err error) {
		for name, id := range v.Pins() {
			pins[id] = append(pins[id], name)
		}
		ops, err = deedsOf(v)
		return err
	}); err != nil {
		return w, err
	}
	for _, s := range slices.Backward(all) {
		slices.Sort(pins[s.ID])
		e := errand{s: s, record: record{Algorithm: r.Objects.Algorithm.String(), History: history, Root: r.Owner.Root, Pins: pins[s.ID], Operations: ops.from[s.ID], Last: ops.last(s)}}
		if at, ok := roots[s.Where]; ok && s.Where != r.Owner.Key {
			e.record.Root = at.Root
		}
		if e.all, err = hashOf(s, e.record.Pins, e.record.Operations); err != nil {
			return w, err
		}
		if e.hash = e.all; atHome {
			e.record.Operations, e.record.Last = nil, ""
			if e.hash, err = hashOf(s, e.record.Pins, nil); err == nil && !s.Overlay.IsZero() {
				e.hash = sha256.Sum256(append(e.hash[:], "at home"...))
			}
		}
		if err == nil {
			e.text, err = encode(s, e.record)
		}
		if err != nil {
			return w, err
		}
		w.add(e, k.pushed, w.copies[s.ID])
	}
	return w, nil
}

// add says what is to be done with a snapshot that has so many copies there.
func (w *work) add(e errand, pushed map[oid.ID]restic.ID, copies []file) {
	hash, known := pushed[e.s.ID]
	tags := tagsHash(tagsOf(e.s, e.record))
	same := slices.ContainsFunc(copies, func(f file) bool { return f.tags == tags })
	switch {
	case (hash == e.hash || hash == e.all) && len(copies) > 0:
		w.out.There++
	case hash == e.hash:
		w.out.Forgotten++
	case !known && same:
		w.out.There++
		w.others = append(w.others, e)
	case e.s.Lost != "":
		w.out.Left = append(w.out.Left, records.Note{Path: records.Path(e.s.ID.String()), Reason: "it is not whole any more: " + e.s.Lost})
	default:
		w.send = append(w.send, e)
	}
}

// sendAtOnce is after how many snapshots what is there is named, so that a push that is killed has brought something.
const sendAtOnce = 256

// confirm asks whether the repository is the one that was known, unless a file of its index shows that.
func (s *Session) confirm(ctx context.Context, k *known, names []restic.ID) error {
	if s.sure || len(k.index) > 0 && !k.lost(names) {
		return nil
	}
	s.sure = true
	return s.repo.Check(ctx)
}

func (r *Remotes) send(ctx context.Context, s *Session, k *known, todo work) (*Pushed, error) {
	names, err := s.repo.IndexFiles(ctx)
	as := err == nil && !k.other(names) && len(todo.others) == 0
	if err == nil && !as {
		names, err = s.repo.LoadIndex(ctx)
	}
	if err != nil {
		if !s.sure {
			err = cmp.Or(s.repo.Check(ctx), err)
		}
		return nil, err
	}
	if err := s.confirm(ctx, k, names); err != nil {
		return nil, err
	}
	if !todo.out.Looked && k.other(names) {
		if todo, err = r.look(ctx, s, k); err != nil {
			return nil, err
		}
	}
	if lost := k.lost(names); lost || len(todo.others) > 0 {
		looked := todo.out.Looked
		if err = s.check(ctx, k, todo, names, lost); err == nil {
			todo, err = r.todo(ctx, k, r.AtHome)
		}
		if err == nil {
			err = k.save()
		}
		if err != nil {
			return nil, err
		}
		todo.out.Looked = looked
	}
	todo.send = append(todo.send, todo.others...) // they are not whole there
	todo.out.There -= len(todo.others)
	k.addIndex(names)
	todo.as = as
	return todo.out, r.sendAll(ctx, s, k, todo)
}

func (r *Remotes) sendAll(ctx context.Context, s *Session, k *known, w work) error {
	todo, out := w.send, w.out
	if len(todo) == 0 {
		return nil
	}
	to := s.repo.Writer(ctx)
	defer to.Close()
	var added atomic.Int64
	to.Added = func(n int) { added.Add(int64(n)) }
	defer func() { out.Bytes = added.Load() }()
	p := &push{ctx: ctx, objects: r.Objects, load: r.Objects.Trees(ctx, objects.Reading{}), repo: s.repo, w: to, known: k, as: w.as, fresh: map[tree.State]dir{}, there: map[file]bool{}}
	p.near.root, p.near.alg = r.Root, r.Objects.Algorithm
	for _, f := range k.files {
		p.there[f] = true
	}
	if r.AtHome {
		p.cut = newCutter(ctx, r.Objects)
		p.load = p.cut.loaded
	}
	if r.Progress != nil {
		p.told = r.Progress("push")
	}
	for len(todo) > 0 {
		n := min(len(todo), sendAtOnce)
		if err := r.sendSome(p, s, todo[:n], out); err != nil {
			return err
		}
		todo = todo[n:]
	}
	return nil
}

// sendSome brings some snapshots there.
func (r *Remotes) sendSome(p *push, s *Session, todo []errand, out *Pushed) error {
	trees := make([]restic.ID, len(todo))
	for i := range todo {
		e := &todo[i]
		id, err := p.snapshot(e)
		if (errors.Is(err, records.ErrDamaged) || errors.Is(err, restic.ErrLarge)) && p.ctx.Err() == nil {
			out.Left = append(out.Left, records.Note{Path: records.Path(e.s.ID.String()), Reason: err.Error()})
			continue
		}
		if err != nil {
			return err
		}
		trees[i] = id
	}
	out.Contents = p.read
	if err := p.w.Flush(); err != nil {
		return err
	}
	if err := s.lock.Held(p.ctx); err != nil { // else what it relies on may be gone
		return err
	}
	var err error
	p.known.addIndex(p.repo.Indexed())
	for at, d := range p.fresh {
		p.known.addDir(at, d)
	}
	clear(p.fresh)
	for i, e := range todo {
		if trees[i].IsZero() {
			continue
		}
		var recorded bool // else a purge has cut it meanwhile: nobody wants it elsewhere any more
		err = r.View(p.ctx, func(v *records.View) (err error) {
			recorded, err = v.Recorded(e.s.ID)
			return err
		})
		if err != nil {
			break
		}
		if !recorded {
			continue
		}
		snap := &restic.Snapshot{Time: e.s.Time, Tree: trees[i], Paths: []string{strings.ToValidUTF8(string(e.record.Root), "?")}, Tags: tagsOf(e.sent, e.record)}
		f := file{of: e.sent.ID, full: e.record.Of, tags: tagsHash(snap.Tags), tree: snap.Tree}
		if !p.there[f] { // else what it names was lost, and is there again
			if err = s.repo.PutSnapshot(p.ctx, snap); err != nil {
				break
			}
			p.known.addFile(snap.ID, f)
			p.there[f] = true
		}
		p.known.addPushed(e.s.ID, e.hash)
		out.Snapshots++
	}
	if err == nil {
		if err = s.lock.Held(p.ctx); err != nil { // nobody notes that they are whole: the next push looks
			return err
		}
	}
	return cmp.Or(err, p.known.save())
}

// A Behind says how far a remote is behind.
type Behind struct {
	Waiting   int // snapshots that are not there, or say something new
	There     int
	Forgotten int // that somebody has removed there
	Left      int // that are not whole here, and are not brought
}

// Behind tells from what is known here how far a remote is behind. It asks nobody.
func (r *Remotes) Behind(ctx context.Context, m Remote) (*Behind, error) {
	w, err := r.todo(ctx, loadKnown(filepath.Join(r.cacheOf(m.Repo), knownFile)), m.Git || r.AtHome)
	if err != nil {
		return nil, err
	}
	return &Behind{Waiting: len(w.send), There: w.out.There, Forgotten: w.out.Forgotten, Left: len(w.out.Left)}, nil
}
