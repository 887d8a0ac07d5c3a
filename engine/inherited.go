package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
)

// A directory with history may become a repository (git init). Its snapshots are
// under another hash, in a store of its own; the repository's own store, while it
// is new, takes them over (docs/decisions/0015-stores.md).

// inherit takes over the history that the directory had before it was a repository.
// What hinders it is told, and hinders nothing else. Used says that the repository's
// own store is known not to be new.
func (e *Engine) inherit(ctx context.Context, used bool) error {
	if e.repo == nil || e.key != "." {
		return nil
	}
	fresh := false
	if !used {
		var err error
		if fresh, err = e.lookup.Empty(ctx); err != nil {
			return nil // what is wrong with the store is told by whoever needs it
		}
	}
	s, err := locate.OpenStores(e.opt.Getenv)
	if err != nil {
		return nil // it is somebody else's, and not needed
	}
	folder := s.Before(e.root, e.successor(), fresh)
	if folder == "" || fresh && e.refKeeps(ctx) { // what the ref has is of a store that was lost, and comes back first
		return nil
	}
	h, err := locate.TakeOver(ctx, folder, e.root, e.now)
	if err != nil && !fresh {
		return nil // "rewind stores" says so; here it was said before
	}
	if err != nil {
		e.conf.Warn(fmt.Sprintf("the history from before this was a git repository cannot be read: %v (%s)", err, folder))
		return nil
	}
	defer h.Close()
	remotes, n := &away.Remotes{Dir: folder}, 0
	url, err := remotes.Begun()
	if err == nil && url != "" {
		err = fmt.Errorf("a resume of %s has not ended: the same command goes on with it", url)
	}
	if err == nil {
		n, err = h.Pass(ctx, &locate.Target{
			View: e.view, Store: e.needStore, Owner: e.owner(), Algorithm: e.alg, Identity: e.identity(), Progress: e.progress("take over"),
		})
	}
	if err == nil {
		_ = locate.NoteTaken(folder, e.successor()) // without it the next command looks again, and finds nothing new
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		e.conf.Warn(fmt.Sprintf("the history from before this was a git repository is not here yet: %v (\"rewind --no-git list\" has it)", err))
	case n > 0:
		e.conf.Warn(fmt.Sprintf("what was recorded before this was a git repository, or by a program that began before, is here now (snapshots: %d), in rewind's own store alone, and found by its old ids too. The old store is not needed any more: rewind stores --remove %s", n, filepath.Base(folder)))
		if list, _ := remotes.List(); len(list) > 0 { // under the new ids all of it would go there once more
			e.conf.Warn(fmt.Sprintf("its remotes are not known here, such as %s: \"rewind remote add\" adds one, and all is pushed there anew, as another history: \"rewind fetch\" elsewhere does not bring what is pushed from here, \"rewind resume %[1]s:ID DIR\" does", list[0].URL))
		}
	}
	return nil
}

// successor names the repository's store; zero if there is none.
func (e *Engine) successor() (by locate.Successor) {
	if s := e.atHand(); s != nil {
		by = locate.Successor{Folder: Path(e.dir), ID: locate.NameOf(s)}
	}
	return by
}

// nameLegacy says of a purge that the old store has the paths still, as far as they
// are older than the repository.
func (e *Engine) nameLegacy(out *Housekeeping) {
	s, err := locate.OpenStores(e.opt.Getenv)
	if err != nil || e.repo == nil || out.Purged == 0 {
		return
	}
	if id := s.TakenOver(e.root); id != "" {
		out.Left = append(out.Left, Note{Path: Path("store " + id), Reason: "it is from before this was a git repository, and has what is that old: \"rewind stores --remove " + id + "\" removes it"})
	}
}
