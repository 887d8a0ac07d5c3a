package away

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	k := loadKnown(filepath.Join(s.cache, knownFile))
	todo, out, err := r.todo(ctx, k)
	if err == nil && len(k.pushed) == 0 && len(todo) > 0 { // perhaps only nobody knows it
		if err = s.recall(ctx, k, todo); err == nil {
			todo, out, err = r.todo(ctx, k)
		}
	}
	if err != nil || len(todo) == 0 {
		return out, err
	}
	l, held, err := s.repo.Lock(ctx)
	if err != nil {
		return nil, err
	}
	err = r.send(held, s, k, todo, out)
	if cause := context.Cause(held); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	return out, errors.Join(err, l.Unlock())
}

// An errand is a snapshot that is to go.
type errand struct {
	s      *records.Snapshot
	text   []byte // its record
	hash   restic.ID
	record record
}

// todo lists what is to go, oldest first.
func (r *Remotes) todo(ctx context.Context, k *known) (todo []errand, out *Pushed, err error) {
	out = &Pushed{}
	all, err := records.Read(ctx, r.View, (*records.View).Snapshots)
	if err != nil || len(all) == 0 {
		return nil, out, err
	}
	history, err := r.History(ctx)
	if err != nil {
		return nil, out, err
	}
	roots, err := records.Read(ctx, r.View, (*records.View).Worktrees)
	if err != nil {
		return nil, out, err
	}
	for _, s := range slices.Backward(all) {
		e := errand{s: s, record: record{Algorithm: r.Objects.Algorithm.String(), History: history, Root: r.Owner.Root}}
		if at, ok := roots[s.Where]; ok && s.Where != r.Owner.Key {
			e.record.Root = at.Root
		}
		if e.hash, err = hashOf(s); err == nil {
			e.text, err = encode(s, e.record)
		}
		if err != nil {
			return nil, out, err
		}
		switch {
		case k.pushed[s.ID] == e.hash:
			out.There++
		case s.Lost != "":
			out.Left = append(out.Left, records.Note{Path: records.Path(s.ID.String()), Reason: "it is not whole any more: " + s.Lost})
		default:
			todo = append(todo, e)
		}
	}
	return todo, out, nil
}

// recall learns from the remote which snapshots are there, and say the same.
func (s *Session) recall(ctx context.Context, k *known, todo []errand) error {
	list, err := s.Snapshots(ctx, func(error) {})
	if err != nil {
		return err
	}
	there := map[oid.ID]*Distant{}
	for _, d := range list {
		there[d.Of] = d
	}
	same := func(tags []string) []string {
		tags = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.HasPrefix(t, worktreeTag) })
		slices.Sort(tags)
		return tags
	}
	for _, e := range todo {
		if d := there[e.s.ID]; d != nil && slices.Equal(same(d.Tags), same(tagsOf(e.s, e.record))) {
			k.addPushed(e.s.ID, e.hash)
		}
	}
	return k.save()
}

// sendAtOnce is after how many snapshots what is there is named, so that a push that is killed has brought something.
const sendAtOnce = 256

func (r *Remotes) send(ctx context.Context, s *Session, k *known, todo []errand, out *Pushed) error {
	if err := s.loadIndex(ctx, k); err != nil {
		return err
	}
	w := s.repo.Writer(ctx)
	defer w.Close()
	var added atomic.Int64
	w.Added = func(n int) { added.Add(int64(n)) }
	defer func() { out.Bytes = added.Load() }()
	p := &push{ctx: ctx, objects: r.Objects, load: r.Objects.Trees(ctx, objects.Reading{}), repo: s.repo, w: w, known: k, fresh: map[tree.State]dir{}}
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

// loadIndex reads the index. A file of it that was known, and is there, shows whose it is; else the repository says so.
func (s *Session) loadIndex(ctx context.Context, k *known) error {
	knew := len(k.index) > 0
	names, err := s.repo.LoadIndex(ctx)
	gone := err == nil && k.seen(names)
	if !s.sure && (err != nil || gone || !knew) {
		if other := s.repo.Check(ctx); other != nil {
			return other
		}
		s.sure = true
	}
	return err
}

// sendSome brings some snapshots there.
func (r *Remotes) sendSome(p *push, s *Session, todo []errand, out *Pushed) error {
	trees := make([]restic.ID, len(todo))
	for i, e := range todo {
		id, err := p.snapshot(e.s, e.text)
		if errors.Is(err, records.ErrDamaged) && p.ctx.Err() == nil {
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
	var err error
	for _, id := range p.repo.IndexFiles() {
		if !p.known.index[id] {
			p.known.index[id] = true
			p.known.row('i', id[:])
		}
	}
	for at, d := range p.fresh {
		p.known.addDir(at, d)
	}
	clear(p.fresh)
	for i, e := range todo {
		if trees[i].IsZero() {
			continue
		}
		snap := &restic.Snapshot{Time: e.s.Time, Tree: trees[i], Paths: []string{strings.ToValidUTF8(string(e.record.Root), "?")}, Tags: tagsOf(e.s, e.record)}
		if err = s.repo.PutSnapshot(p.ctx, snap); err != nil {
			break
		}
		p.known.addPushed(e.s.ID, e.hash)
		out.Snapshots++
	}
	return cmp.Or(err, p.known.save())
}

// A Behind says how far a remote is behind.
type Behind struct {
	Waiting int // snapshots that are not there, or say something new
	There   int
}

// Behind tells from what is known here how far a remote is behind. It asks nobody.
func (r *Remotes) Behind(ctx context.Context, m Remote) (*Behind, error) {
	todo, out, err := r.todo(ctx, loadKnown(filepath.Join(r.cacheOf(m), knownFile)))
	if err != nil {
		return nil, err
	}
	return &Behind{Waiting: len(todo), There: out.There}, nil
}

// A Checked says what a verification read.
type Checked struct{ Snapshots, Foreign int }

// Verify reads all of a remote, and whether each snapshot of ours has all that it names. The error has all damage.
func (s *Session) Verify(ctx context.Context, told func(done, total int)) (*Checked, error) {
	out := &Checked{}
	if _, err := s.repo.LoadIndex(ctx); err != nil {
		return nil, err
	}
	var found []error
	all, err := s.repo.Snapshots(ctx, func(err error) { found = append(found, err) })
	if err != nil {
		return nil, err
	}
	found = append(found, s.repo.Verify(ctx, told))
	seen := map[restic.ID]bool{}
	for _, snap := range all {
		out.Snapshots++
		if !slices.Contains(snap.Tags, "rewind") {
			out.Foreign++
		}
		if err := s.whole(ctx, snap.Tree, seen); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			found = append(found, err)
		}
	}
	return out, errors.Join(found...)
}

// whole looks whether a tree has all that it names.
func (s *Session) whole(ctx context.Context, id restic.ID, seen map[restic.ID]bool) error {
	if seen[id] {
		return nil
	}
	seen[id] = true
	nodes, err := s.repo.GetTree(ctx, id)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		for _, c := range n.Content {
			if !s.repo.Has(restic.Data, c) {
				err = errors.Join(err, fmt.Errorf("%w: blob %v of %q is missing", restic.ErrTampered, c, n.Name))
			}
		}
		if n.Type == "dir" {
			err = errors.Join(err, s.whole(ctx, n.Subtree, seen))
		}
	}
	return err
}
