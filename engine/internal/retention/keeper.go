package retention

import (
	"context"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// Why a snapshot stays; the first that holds is the one that is told.
const (
	keepPin     = "pinned by name"
	keepLast    = "newest of its worktree"
	keepHere    = "where a worktree's files stand"
	keepUndo    = "undo or redo may want it"
	keepFork    = "a fork was made of it"
	keepLabel   = "labelled"
	keepSession = "a session's files, its way back, or what a fork begins with"
	keepMarked  = "of a labelled entry"
	keepUnread  = "named in a ledger that cannot be read"
	keepUnseen  = "of a session whose ledger is nowhere to be found"
	keepScan    = "of a session that the scan mode leaves alone"
	keepForeign = "of another program, and no ledger says that it may go"
	keepLimits  = "within the limits"
	keepAll     = "no limit is set"
)

// Options say what may go. The zero value drops nothing.
type Options struct {
	MaxSnapshots int           // keep at most so many of each worktree, beside those that are pinned; 0: no limit
	MaxAge       time.Duration // drop what nobody referred to for so long; 0: no limit
	MaxStoreSize int64         // bytes; drop the oldest until the store is no larger; 0: no limit
	ThinDays     int           // of the days before today keep one an hour, of those before so many days one a day; 0: keep all
	Grace        time.Duration // contents younger than this stay; 0: 24 hours; negative: none is too young to go
	Session      string        // the conversation at hand, for the scan mode ancestor-only
	Unseen       bool          // limits also apply to snapshots of sessions whose ledger is nowhere to be found; directories that are missing are forgotten
	Startup      bool          // give up, dropping nothing, when rewind.startupBudgetMs is over
	DryRun       bool

	// Forked lists the snapshots that forks go by: they stay. Nil: there are no forks. It
	// is asked again before anything goes.
	Forked func(ctx context.Context) ([]oid.ID, error)
}

// A Choice says what goes.
type Choice struct {
	Dropped   []*records.Snapshot // ours, newest first
	Foreign   []oid.ID            // snapshots of pi-rewind-hook that the ref keeps
	Kept      map[string]int      // why the others stay → how many
	Unlimited bool                // no limit is set: nothing goes
	Ledgers   int                 // session files that were read
}

// A Keeper chooses among the snapshots of a store.
type Keeper struct {
	*Sessions
	Now           func() time.Time
	AncestorOnly  bool          // a prune drops only what the session at hand and those it was forked from refer to
	PinLabelled   bool          // snapshots of labelled entries stay
	StartupBudget time.Duration // how long a prune at the start of a program may look at sessions; 0: no limit

	Forked func(ctx context.Context) ([]oid.ID, error) // as in [Options]
	// Others lists the snapshots in the ref that another program made.
	Others func(ctx context.Context) ([]*records.Snapshot, error)
	// Weigh returns a function that tells how many bytes of the store's file a
	// snapshot needs beside those that it was asked for before.
	Weigh func(ctx context.Context) (func(*records.Snapshot) (float64, error), error)
}

// A candidate is a snapshot that limits may drop.
type candidate struct {
	snap    *records.Snapshot
	foreign bool      // of pi-rewind-hook: in the ref, without a record of ours
	at      time.Time // when something last referred to it
	why     string    // why it stays; empty: it may go
}

// Choose finds what goes, and why the rest stays. It changes nothing.
func (k *Keeper) Choose(ctx context.Context, p *Options) (*Choice, error) {
	looking := ctx
	if p.Startup && k.StartupBudget > 0 {
		var cancel context.CancelFunc
		looking, cancel = context.WithTimeout(ctx, k.StartupBudget)
		defer cancel()
	}
	refs, err := k.look(looking, p)
	if err != nil {
		return nil, err
	}
	all, err := k.candidates(ctx, refs, p)
	if err != nil {
		return nil, err
	}
	for _, group := range groups(all) {
		k.applyLimits(group, p)
	}
	if p.MaxStoreSize > 0 {
		if err := k.fit(ctx, all, p.MaxStoreSize); err != nil {
			return nil, err
		}
	}
	out := &Choice{Kept: map[string]int{}, Ledgers: refs.files, Unlimited: p.unlimited()}
	for _, c := range all {
		switch {
		case c.why != "":
			out.Kept[c.why]++
		case c.foreign:
			out.Foreign = append(out.Foreign, c.snap.ID)
		default:
			out.Dropped = append(out.Dropped, c.snap)
		}
	}
	return out, nil
}

// candidates lists every snapshot, newest reference first, with the reason
// for those that stay whatever the limits say.
func (k *Keeper) candidates(ctx context.Context, refs *references, p *Options) ([]*candidate, error) {
	var all []*candidate
	var needed map[oid.ID]string
	known := map[oid.ID]bool{}
	err := k.View(ctx, func(v *records.View) (err error) {
		if needed, err = k.stays(ctx, v); err != nil {
			return err
		}
		names, err := v.Aliases()
		if err != nil {
			return err
		}
		refs.follow(names)
		snaps, err := v.Snapshots()
		for _, s := range snaps {
			known[s.ID] = true
			c := &candidate{snap: s, why: needed[s.ID]}
			if c.why == "" {
				c.why = k.bound(s, refs, p)
			}
			all = append(all, c)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	dated(all, refs, k.Now())
	foreign, err := k.foreignOnes(ctx, refs, known)
	for _, c := range foreign {
		if why := needed[c.snap.ID]; why != "" {
			c.why = why
		}
	}
	all = append(all, foreign...)
	slices.SortStableFunc(all, func(a, b *candidate) int { return b.at.Compare(a.at) })
	return all, err
}

// bound tells whether labels or conversations hold a snapshot of ours.
func (k *Keeper) bound(s *records.Snapshot, refs *references, p *Options) string {
	given := func(p records.Point) bool { return p.Label != "" && (p.Later || !s.Foreign()) }
	if slices.ContainsFunc(s.Points, given) { // a prompt is no name that somebody gave
		return keepLabel
	}
	if why := k.pinnedBy(refs.live[s.ID]); why != "" {
		return why
	}
	ofNone := true
	for _, point := range s.Points {
		if point.Session == "" || point.Agent != "" { // that agent's sessions have no ledger, and nobody looks for one
			continue
		}
		ofNone = false
		if !refs.sessions[point.Session] && refs.places && !p.Unseen {
			return keepUnseen
		}
	}
	referred := refs.live[s.ID] != ledger.Reference{}
	if refs.scanned == nil || refs.scanned[s.ID] || ofNone && !referred {
		return ""
	}
	only := func(point records.Point) bool { return point.Session == "" || point.Session == p.Session }
	if p.Session != "" && !referred && !slices.ContainsFunc(s.Points, func(q records.Point) bool { return !only(q) }) {
		return ""
	}
	return keepScan
}

// pinnedBy tells whether what sessions say of a snapshot pins it.
func (k *Keeper) pinnedBy(ref ledger.Reference) string {
	switch {
	case ref.Reasons&(ledger.Current|ledger.Undo|ledger.Pending) != 0:
		return keepSession
	case ref.Reasons&ledger.Unreadable != 0:
		return keepUnread
	case ref.Reasons&ledger.Labelled != 0 && k.PinLabelled:
		return keepMarked
	}
	return ""
}

// foreignOnes lists the snapshots in the ref that another program made. Only
// one that a ledger refers to, and does not pin, may go.
func (k *Keeper) foreignOnes(ctx context.Context, refs *references, known map[oid.ID]bool) ([]*candidate, error) {
	others, err := k.Others(ctx)
	var out []*candidate
	for _, snap := range others {
		if known[snap.ID] {
			continue
		}
		c := &candidate{snap: snap, foreign: true, at: refs.latest(snap), why: keepForeign}
		if ref, ok := refs.live[snap.ID]; ok {
			c.why = k.pinnedBy(ref)
			if c.why == "" && refs.scanned != nil && !refs.scanned[snap.ID] {
				c.why = keepScan
			}
		}
		out = append(out, c)
	}
	return out, err
}

// stays returns the snapshots that rewind itself cannot do without, and why.
func (k *Keeper) stays(ctx context.Context, v *records.View) (map[oid.ID]string, error) {
	keep := map[oid.ID]string{}
	add := func(id oid.ID, why string) {
		if keep[id] == "" {
			keep[id] = why
		}
	}
	for _, id := range v.Pins() {
		add(id, keepPin)
	}
	worktrees, err := v.Worktrees()
	if err != nil {
		return nil, err
	}
	for key, w := range worktrees {
		add(w.Last, keepLast)
		add(w.At, keepHere)
		ops, err := v.Wanted(key)
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			add(op.From, keepUndo)
			add(op.To, keepUndo)
		}
	}
	if k.Forked == nil {
		return keep, nil
	}
	forked, err := k.Forked(ctx)
	for _, id := range forked { // the zero id too, which no snapshot has
		s, err := v.Find(id) // a purge may have given it another id
		if err != nil {
			return nil, err
		}
		if s != nil {
			add(s.ID, keepFork)
		}
	}
	return keep, err
}

// Drop removes the records of what was chosen, unless something took it up
// meanwhile, and notes that the ref is to let go of it too.
func (k *Keeper) Drop(ctx context.Context, out *Choice) error {
	if len(out.Dropped)+len(out.Foreign) == 0 {
		return nil
	}
	chosen := out.Dropped
	return k.Update(ctx, func(u *records.Update) error {
		needed, err := k.stays(ctx, &u.View)
		if err != nil {
			return err
		}
		out.Dropped = nil
		for _, snap := range chosen {
			now, err := u.Find(snap.ID)
			if err != nil {
				return err
			}
			if now == nil || now.ID != snap.ID || needed[snap.ID] != "" || len(now.Points) != len(snap.Points) {
				continue
			}
			out.Dropped = append(out.Dropped, snap)
		}
		var ids []oid.ID
		for _, snap := range out.Dropped {
			ids = append(ids, snap.ID)
		}
		if err := u.Forget(ids...); err != nil {
			return err
		}
		out.Foreign = slices.DeleteFunc(out.Foreign, func(id oid.ID) bool { return needed[id] != "" })
		return u.LetGo(out.Foreign...)
	})
}
