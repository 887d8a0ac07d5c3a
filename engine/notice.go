package engine

import (
	"context"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// noticeSecrets is the notice of files that look like secrets in git objects.
const noticeSecrets = "secrets"

// noticeMax is how many paths a notice names.
const noticeMax = 20

// saidMax is how many paths a notice keeps: of more nothing is said.
const saidMax = 1000

// exposed returns the untracked paths of a new snapshot that the built-in list
// takes for secrets and that are in git objects now, each path once until it is
// purged. Only with rewind.secrets unset: who set it has decided.
func (e *Engine) exposed(ctx context.Context, c *present) ([]Path, error) {
	if e.repo == nil || len(e.conf.Secrets) > 0 {
		return nil, nil
	}
	if len(c.said) >= saidMax {
		return nil, nil
	}
	var before oid.ID
	if c.Last != nil && c.Last.Lost == "" {
		before = c.Last.Tree
	}
	found, err := e.likeSecrets(ctx, before, c, c.said)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, e.update(ctx, func(u *records.Update) error {
		return u.PutNotice(noticeSecrets, append(u.Notice(noticeSecrets), found...)) // another process may have said something since
	})
}

// likeSecrets lists the files of the capture's git tree that differ from the
// tree before, that HEAD's commit does not have, that look like secrets, and of
// which it was not said yet.
func (e *Engine) likeSecrets(ctx context.Context, before oid.ID, c *present, said []Path) ([]Path, error) {
	load := c.Trees
	if before.IsZero() {
		before = c.Head.Tree
	}
	var found []Path
	head := tree.Finder{State: tree.State{Tree: c.Head.Tree}, Algorithm: e.alg, Load: load}
	for change, err := range tree.Diff(tree.State{Tree: before}, tree.State{Tree: c.State.Tree}, e.alg, load) {
		if err != nil {
			return nil, err
		}
		if t := change.To.Mode.Type(); t != tree.File && t != tree.Symlink || !settings.LikeSecret(change.Path) || slices.Contains(said, Path(change.Path)) {
			continue
		}
		text, whole, err := e.objects.Beginning(ctx, change.To.ID, settings.PublicMax)
		switch {
		case err != nil:
			return nil, err
		case whole && settings.Public(text):
			continue
		}
		_, tracked, err := head.Lookup(change.Path)
		if err != nil {
			return nil, err
		}
		if !tracked && !slices.Contains(found, Path(change.Path)) {
			found = append(found, Path(change.Path))
		}
		if len(found) == noticeMax {
			break
		}
	}
	return found, nil
}

// notice returns the paths that a notice named, nil if it was not given yet.
func (e *Engine) notice(ctx context.Context, name string) ([]Path, error) {
	return records.Read(ctx, e.view, func(v *records.View) ([]Path, error) { return v.Notice(name), nil })
}

// sortSkipped finds, of the paths that a snapshot is to leave out, those of which
// somebody has to be told. It comes before the snapshot is recorded, which changes
// what the one before was taken for.
func (e *Engine) sortSkipped(ctx context.Context, r *Recorded, c *present) error {
	var open []Note
	for _, n := range c.Skipped {
		if settings.Chose(n.Reason) {
			r.Excluded++
		} else {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		return nil
	}
	told, err := e.told(ctx, c.Last)
	if err != nil {
		return err
	}
	for _, n := range open {
		switch {
		case told[n]:
		case n.Kept:
			r.Aside = append(r.Aside, n)
		default:
			r.Unexpected = append(r.Unexpected, n)
		}
	}
	return nil
}

// told returns what was said to be left out when somebody last took a snapshot, s
// or one before it. Those that a restore takes tell nobody.
func (e *Engine) told(ctx context.Context, s *Snapshot) (map[Note]bool, error) {
	if s != nil && s.OfRestore() {
		var err error
		if s, err = e.lookup.Before(ctx, s); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, nil
	}
	if err := e.lookup.Fill(ctx, s); err != nil {
		return nil, err
	}
	told := make(map[Note]bool, len(s.Skipped))
	for _, n := range s.Skipped {
		told[n] = true
	}
	return told, nil
}
