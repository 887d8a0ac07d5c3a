package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/capture"
	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/mirror"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/engine/internal/rules"
	"github.com/seed-82afce7a/rewind/engine/internal/settings"
	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// known is what the store and git say of a worktree before it is looked at.
type known struct {
	mirror.Known
	time  time.Time // when the scan began
	umask tree.Mode
	new   bool      // the store knows nothing of the worktree yet
	here  *Snapshot // at which its files stand; nil: there is none that the store has
	at    oid.ID    // the id of here, also where the store has no record of it
	left  []string  // temporary files of operations that were interrupted
	said  []Path    // what a notice has said of secrets
}

// A present is the worktree as a scan found it, to be compared or shown.
type present struct {
	*capture.Seen
	known
}

// A staged present is in a stage of the store, to become a snapshot.
type staged struct {
	*capture.Staged
	known
	held func() (*mirror.Held, error) // waits for what hold has begun; nil: it has not
}

// present returns what was seen.
func (t *staged) present() *present { return &present{t.Seen, t.known} }

// hold begins to see to it, beside the caller, that all that is staged will be held. Where
// git lost something, that is mended first, and waits for the commit.
func (t *staged) hold(ctx context.Context, m *mirror.Mirror) {
	if t.recorded() || t.RefLost {
		return
	}
	var held *mirror.Held
	var err error
	var work sync.WaitGroup
	work.Go(func() { held, err = m.Hold(ctx, t.unheld(), t.Known) })
	t.held = func() (*mirror.Held, error) {
		work.Wait()
		return held, err
	}
}

// wait waits for hold to end, and forgets what came of it.
func (t *staged) wait() {
	if t.held != nil {
		_, _ = t.held()
		t.held = nil
	}
}

// recorded reports whether the last snapshot has what is staged, so that it is taken.
func (t *staged) recorded() bool { return t.Same(t.Last) && !t.Rechecked }

// unheld is what is to be held.
func (t *staged) unheld() mirror.Unheld {
	return mirror.Unheld{State: t.State, Stage: t.Stage, Trees: t.Trees, Memory: t.Memory, Same: t.Same, Rechecked: t.Rechecked}
}

// Discard forgets what is staged.
func (t *staged) Discard() {
	t.wait()
	t.Staged.Discard()
}

// look scans the worktree, in a turn, and stores nothing: it gives ids and trees. The
// caller closes the present, before the turn.
func (e *Engine) look(ctx context.Context, turn *watched.Turn) (*present, error) {
	o := capture.Open(e.place(turn))
	var how capture.How
	k, err := e.before(ctx)
	defer e.scanned(&k)
	if err == nil {
		how, err = e.how(ctx, k, true)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	seen, err := o.Look(ctx, how)
	if err != nil {
		return nil, err
	}
	return &present{e.count(seen), k}, nil
}

// lookFor looks and calls use. If use finds ignored files that have to be scanned
// too, it looks at these, and calls use again.
func (e *Engine) lookFor(ctx context.Context, use func(*present) (force []string, err error)) error {
	turn := e.beginTurn(ctx)
	defer turn.Close()
	now, err := e.look(ctx, turn)
	if err != nil {
		return err
	}
	more, err := use(now)
	if err == nil && len(more) > 0 {
		keepApart(now.Seen, turn)
		if now.Seen, err = now.Again(ctx, more); err != nil {
			return err
		}
		e.count(now.Seen)
		_, err = use(now)
	} else if err == nil {
		e.looked(now, turn)
	}
	now.Close()
	return err
}

// keepApart makes a second look one of its own: after a look at everything it begins with
// what that saw, of which nothing is in the store yet, and may never be. The table that
// later turns look on must not have it.
func keepApart(seen *capture.Seen, turn *watched.Turn) {
	if !seen.Result.Partial() {
		turn.Everything()
	}
}

// looked keeps what was seen and is not recorded. Afterwards it has no fingerprints any more.
func (e *Engine) looked(now *present, turn *watched.Turn) {
	var as oid.ID
	if now.Rechecked || len(now.Forced) > 0 {
		return
	}
	if now.Same(now.Last) {
		as = now.Last.ID
	}
	turn.Looked(now.Result, locate.NameOf(e.atHand()), as)
}

// scanned waits for what is looked at beside a scan, and calls a test's hook.
func (e *Engine) scanned(k *known) {
	k.Wait()
	if e.seen != nil {
		e.seen()
	}
}

// count calls a test's hook with what a scan did.
func (e *Engine) count(seen *capture.Seen) *capture.Seen {
	if e.counted != nil {
		e.counted(seen.Result.Counters)
	}
	return seen
}

// place says where a turn is to look.
func (e *Engine) place(turn *watched.Turn) capture.Place {
	return capture.Place{
		Root: e.root, StatTable: filepath.Join(e.ownDir, statTableFile), Store: e.dir, Rules: e.rules(), Objects: e.objects,
		Table: turn.Table, Only: turn.Only,
	}
}

// before reads what the store knows of the worktree, and looks at git.
func (e *Engine) before(ctx context.Context) (k known, err error) {
	k.time, k.umask, k.new = e.now(), capture.Umask(e.root), true
	look := e.mirror.Look(ctx)
	err = e.view(ctx, func(v *records.View) error {
		w, ok, err := v.Worktree()
		if ok {
			k.umask, k.new = w.Umask, false
		}
		if err != nil {
			return err
		}
		if k.here, k.at, err = lookup.StandsAt(v); err != nil {
			return err
		}
		if k.left, err = v.Leftovers(); err != nil {
			return err
		}
		k.said = v.Notice(noticeSecrets)
		return k.Read(v)
	})
	err = look(&k.Known, err) // not in the return, which would copy k before it is complete
	return k, err
}

// how says how to look.
func (e *Engine) how(ctx context.Context, k known, dry bool) (how capture.How, err error) {
	store := e.atHand()
	how = capture.How{
		Umask: k.umask, Policy: e.conf.Policy(), OverLimit: e.conf.OverLimit(filepath.Join(e.dir, storeFile)), Last: k.Last,
		Bound: func(name string, snapshot oid.ID) bool {
			bound := store != nil && k.Last != nil && name == locate.NameOf(store) && snapshot == k.Last.ID
			return bound && k.Last.Lost == "" && !(k.Last.Held != records.HeldByStore && k.RefLost) && !e.objects.Distrusts()
		},
	}
	if e.opt.Progress != nil {
		how.Progress = func(n worktree.Counters) {
			e.opt.Progress(Progress{Step: "scan", Done: int(n.Stats), Bytes: n.ReadBytes})
		}
	}
	if how.Leave, err = e.leftovers(ctx, k.left, dry); err == nil {
		how.Elsewhere, err = e.stayed(ctx, k)
	}
	return how, err
}

// stayed returns the paths that stay on another machine, as the snapshots name them that
// the worktree comes from. What one names and the other has was here: that it is gone now is a
// deletion.
func (e *Engine) stayed(ctx context.Context, k known) ([]Note, error) {
	last := e.atHome(ctx, k.Last)
	if k.here == nil || k.Last != nil && k.here.ID == k.Last.ID {
		return last, ctx.Err()
	}
	here := e.atHome(ctx, k.here)
	notes, more := e.lacked(ctx, last, k.here, here), e.lacked(ctx, here, k.Last, last)
	named := noted(notes)
	for _, n := range more {
		if !named[n] {
			notes = append(notes, n)
		}
	}
	return notes, ctx.Err()
}

// atHome returns the paths of a snapshot, which may be nil, that stay on another machine. A
// list that is lost must not keep anybody from recording.
func (e *Engine) atHome(ctx context.Context, s *Snapshot) []Note {
	if s == nil {
		return nil
	}
	full := *s
	if err := e.lookup.Fill(ctx, &full); err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(full.Skipped), func(n Note) bool { return n.Reason != retention.AtHome })
}

// lacked returns those of the paths that a snapshot, which may be nil, does not have, or names itself.
func (e *Engine) lacked(ctx context.Context, notes []Note, s *Snapshot, itself []Note) []Note {
	if s == nil || len(notes) == 0 {
		return notes
	}
	named, in := noted(itself), tree.Finder{State: s.State(), Algorithm: e.alg, Load: e.objects.Trees(ctx, objects.Reading{})}
	return slices.DeleteFunc(slices.Clone(notes), func(n Note) bool {
		if named[n] {
			return false
		}
		_, has, err := in.Lookup(string(n.Path))
		return err == nil && has
	})
}

func noted(notes []Note) map[Note]bool {
	set := make(map[Note]bool, len(notes))
	for _, n := range notes {
		set[n] = true
	}
	return set
}

// newRecord makes the record of what was seen, without an id.
func (p *present) newRecord(where string) *Snapshot {
	return &Snapshot{
		Tree: p.State.Tree, Overlay: p.State.Overlay, Umask: p.State.Umask, Time: p.time, Where: where,
		Branch: p.Head.Branch, Head: p.Head.Commit, Rules: p.Rules, Skipped: p.Skipped, Nested: p.Nested,
	}
}

// forPlan returns what a plan is to know of what was seen.
func (p *present) forPlan() *plan.Present {
	out := &plan.Present{State: p.State, Disk: p.Seen}
	for _, n := range p.Skipped {
		if n.Reason == retention.AtHome {
			continue // nothing is there that is recorded
		}
		note := apply.Note{Path: string(n.Path), Reason: n.Reason}
		if out.LeftOut = append(out.LeftOut, note); !n.Kept && !settings.Chose(n.Reason) {
			out.Unrecorded = append(out.Unrecorded, note)
		}
	}
	out.Refuse(p.Forced)
	return out
}

// saveStatTable keeps what the scan of a turn saw for the next scan. Afterwards it
// has no fingerprints any more. The table is a cache: if it cannot be written, the
// next scan takes longer. So only the caller's cancellation is an error.
func (e *Engine) saveStatTable(id oid.ID, seen *capture.Seen, turn *watched.Turn) error {
	_ = durable.MakeDir(e.ownDir) // a linked worktree's is not where the store is; without it nothing can be written
	err := turn.End(seen.Result, locate.NameOf(e.atHand()), id)
	if errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// rules returns where the rules of the worktree are.
func (e *Engine) rules() *rules.Source {
	s := &rules.Source{Root: e.root, Home: e.home(), Env: e.opt.Getenv, Builtin: e.conf.Builtin, Warn: e.conf.Warn, Config: e.git}
	if e.repo != nil {
		s.Layout = e.repo.Layout()
	}
	return s
}
