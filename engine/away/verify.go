package away

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A Checked says what a verification read.
type Checked struct{ Snapshots, Foreign int }

// Verify reads all of a remote: whether everything is as it was written, whether each snapshot has all that it names, and
// whether those of ours are what a fetch takes. The error has all damage.
func (s *Session) Verify(ctx context.Context, told func(done, total int)) (*Checked, error) {
	if s.git != nil {
		return s.verifyGit(ctx)
	}
	lock, held, err := s.repo.Lock(ctx)
	if errors.Is(err, restic.ErrLocked) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil { // who may only read holds no prune off
		return s.verify(ctx, told, false)
	}
	out, err := s.verify(held, told, true)
	return out, errors.Join(err, lock.Unlock())
}

// verify reads all of a repository. Unless that is held, what is missing may have been taken away by a prune meanwhile.
func (s *Session) verify(ctx context.Context, told func(done, total int), held bool) (*Checked, error) {
	var found []error
	bad := func(err error) { found = append(found, err) }
	if err := s.repo.VerifyKeys(ctx); errors.Is(err, ErrTampered) {
		bad(fmt.Errorf("%w (this machine has what opened it in %s)", err, s.cache))
	} else if err != nil {
		return nil, err
	}
	files, err := s.repo.SnapshotFiles(ctx) // before the index: what a push brings meanwhile is not among them
	if err != nil {
		return nil, err
	}
	names, damage, err := s.repo.VerifyIndex(ctx)
	if err != nil {
		return nil, err
	}
	found = append(found, damage...)
	if n := len(loadKnown(filepath.Join(s.cache, knownFile)).files); n > 0 && len(files) == 0 {
		bad(fmt.Errorf("%w: snapshots: there is none, and this machine knows of %d", ErrTampered, n))
	}
	all, err := s.repo.ReadSnapshots(ctx, files, bad)
	if err != nil {
		return nil, err
	}
	found = append(found, s.repo.Verify(ctx, told))
	out, roots := &Checked{Snapshots: len(all)}, []restic.ID{}
	for _, snap := range all {
		roots = append(roots, snap.Tree)
		if distant(snap) == nil {
			out.Foreign++
		}
	}
	reach, err := s.repo.Reach(ctx, roots, nil)
	if err != nil {
		return nil, err
	}
	found = append(found, reach.Broken()...)
	found = append(found, s.readAll(ctx, ours(all))...)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	damaged := errors.Join(found...)
	if now, err := s.repo.IndexFiles(ctx); !held && damaged != nil {
		if err != nil || slices.ContainsFunc(names, func(id restic.ID) bool { return !slices.Contains(now, id) }) {
			return nil, errors.Join(err, errors.New("somebody has pruned the repository meanwhile: verify it again"))
		}
	}
	if errors.Is(damaged, restic.ErrUnknown) && !errors.Is(damaged, ErrTampered) { // of a file of the index nothing is left
		damaged = fmt.Errorf("%w: %w", ErrTampered, damaged)
	}
	return out, damaged
}

// verifyGit is [Session.Verify] for a git remote. All of it comes into a repository that has nothing: what is here, or the
// user has, would hide what the host has lost.
func (s *Session) verifyGit(ctx context.Context) (_ *Checked, err error) {
	old, _ := filepath.Glob(filepath.Join(s.cache, "verify-*")) // of one that was killed
	for _, dir := range old {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > unlistedAge {
			_ = os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(s.cache, "verify-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	empty, err := gitbridge.OpenRemote(ctx, filepath.Join(dir, "git"), s.git.remote.URL, s.git.alg, "")
	if err != nil {
		return nil, err
	}
	defer empty.Close()
	empty.Progress = s.git.remote.Progress
	anew := &Session{id: s.id, cache: dir, git: &gitSession{remote: empty, alg: s.git.alg}}
	var found []error
	bad := func(err error) { found = append(found, err) }
	list, err := anew.git.list(ctx, bad)
	if gitbridge.Damaged(err) { // a ref that somebody moves meanwhile looks like it
		list, err = anew.git.list(ctx, bad)
	}
	if gitbridge.Damaged(err) {
		err = fmt.Errorf("%w: %w (\"git fsck\" there names what is damaged)", ErrTampered, err)
	}
	if err != nil {
		return nil, err
	}
	found = append(found, anew.readAll(ctx, list)...)
	return &Checked{Snapshots: len(list)}, errors.Join(append(found, ctx.Err())...)
}

// readAll reads snapshots as a fetch does that finds nothing of them here.
func (s *Session) readAll(ctx context.Context, list []*Distant) (found []error) {
	pulls := map[oid.Algorithm]*pull{}
	for _, d := range list {
		alg := algorithmOf(d)
		var err error
		for _, d := range append([]*Distant{d}, d.Copies...) {
			if pulls[alg] == nil {
				pulls[alg] = s.reader(ctx, alg)
			}
			p := pulls[alg]
			clear(p.trees)
			if _, err = p.snapshot(d); err == nil {
				if err = p.contents(); err != nil {
					err = d.located(err)
				}
			}
			if err == nil || ctx.Err() != nil {
				break
			}
			delete(pulls, alg) // what was on its way was not read
		}
		if err != nil {
			found = append(found, err)
		}
	}
	return found
}

// reader returns a pull that finds nothing here, and keeps nothing.
func (s *Session) reader(ctx context.Context, alg oid.Algorithm) *pull {
	p := newPull(ctx, s, alg)
	p.local = func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		return nil, fmt.Errorf("object %v: %w", id, cas.ErrNotFound)
	}
	p.has = func([]oid.ID) (map[oid.ID]bool, error) { return nil, nil }
	return p
}

// Unlock removes the locks of a remote that nobody holds, as far as anybody can tell, and counts those that are left.
func (s *Session) Unlock(ctx context.Context) (removed, left int, err error) {
	if s.git != nil {
		return 0, 0, fmt.Errorf("%w: a git remote has no locks", records.ErrRefused)
	}
	return s.repo.Unlock(ctx)
}
