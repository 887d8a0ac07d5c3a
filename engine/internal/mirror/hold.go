package mirror

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	// copyMax is up to how many objects that git alone has are copied into the
	// store. More are borrowed: the ref keeps them before the record is written.
	copyMax = 64
	// lookMax is how many objects are asked for under one lock of the store.
	lookMax = 1 << 10
	// beyondMax is of how many objects a list is kept, of what a state has beyond its base.
	beyondMax = 1 << 16
)

// An Unheld is a state whose contents and trees are in a stage of the store.
type Unheld struct {
	State     tree.State
	Stage     *cas.Stage
	Trees     tree.Loader // of what is staged, of the store and of git
	Memory    Memory
	Same      func(*records.Snapshot) bool // whether a snapshot has the state; of nil none has
	Rechecked bool                         // whatever was missing was read again
}

// A Memory has objects that were made and read a moment ago. They need not be in
// the store yet.
type Memory interface {
	Tree(id oid.ID) (payload []byte, ok bool)
	Met(id oid.ID) (payload []byte, ok bool) // also a tree that was only read
	Object(id oid.ID) (kind oid.Kind, payload []byte, ok bool)
	TreeBytes() int // of the trees that were made
}

// A Known is what was known of the worktree's snapshots, and of git, before it
// was looked at.
type Known struct {
	Last *records.Snapshot // the worktree's newest snapshot; nil: there is none
	*Glance

	Unlocked bool // an operation that has begun may be under way

	debt   records.Debt // what git lacked
	sweeps uint64       // of the store
	moves  moves
}

// moves are the operations that undo, redo or a recovery would want next, and how often
// one has begun or ended. They are others when a restore has done so since, also where the
// files stood elsewhere meanwhile, in a bisect, and undo wants what it did before.
type moves [5]uint64

func movesOf(v *records.View) (m moves, err error) {
	h, err := v.History()
	m[4] = h.Moves
	for i, op := range []*records.Operation{h.Open, h.Strange, h.Undo, h.Redo} {
		if op != nil {
			m[i] = op.Seq
		}
	}
	return m, err
}

// Read takes from the records what there is to know before a worktree is looked
// at.
func (s *Known) Read(v *records.View) (err error) {
	s.sweeps = v.Sweeps()
	if s.moves, err = movesOf(v); err != nil {
		return err
	}
	if s.debt, err = v.Debt(false); err == nil {
		s.Last, err = v.Last()
	}
	return err
}

// A Glance is a look at git beside the scan. Who has waited for it may read it.
type Glance struct {
	Head    gitbridge.Head // what HEAD named; zero where that is broken
	RefLost bool           // the ref does not keep what it did

	kept records.Kept // up to where it does
	done chan struct{}
}

// Wait waits until git was looked at, and returns what was found.
func (g *Glance) Wait() *Glance {
	<-g.done
	return g
}

// Look begins to look at git, beside the reading of the records and the scan. A process
// that lives long must see what git has packed meanwhile. A broken HEAD is git's trouble:
// what it named is then not recorded. What Look returns is called in any case, with the
// error of that reading, which it returns. It waits only where the scan has to know
// whether git keeps the last snapshot, for that is not held by the store alone. Whoever
// has the records waits before the repository is closed.
func (m *Mirror) Look(ctx context.Context) func(*Known, error) error {
	g, debt := &Glance{done: make(chan struct{})}, make(chan records.Debt, 1)
	go func() {
		defer close(g.done)
		if m.Objects.Git == nil {
			return
		}
		m.git().Refresh()
		g.Head, _ = m.git().Head()
		if d, read := <-debt; read {
			keeps, kept := m.refKeeps(ctx, d)
			g.RefLost, g.kept = !keeps, kept
		}
	}()
	return func(s *Known, err error) error {
		if s.Glance = g; err == nil {
			debt <- s.debt
		}
		close(debt)
		if err != nil || s.Last != nil && s.Last.Held != records.HeldByStore {
			g.Wait()
		}
		return err
	}
}

// checkMoves is [cas.ErrSwept] if a restore has changed files during the scan, or is
// about to: what was found is then of no moment, and may have its temporary files. One
// that had begun before may have gone on, unless the lock of operations is held.
func (s *Known) checkMoves(v *records.View) error {
	now, err := movesOf(v)
	if err == nil && (now != s.moves || s.Unlocked && now[0] != 0) {
		err = fmt.Errorf("%w: files were restored during the scan", cas.ErrSwept)
	}
	return err
}

// CheckLast is [cas.ErrSwept] if the last snapshot is not recorded any more, for a
// prune or purge may have come in between, or if a restore has.
func (s *Known) CheckLast(v *records.View) error {
	if err := s.checkMoves(v); err != nil || s.Last == nil {
		return err
	}
	recorded, err := v.Recorded(s.Last.ID)
	if err == nil && !recorded {
		err = fmt.Errorf("%w: snapshot %v was pruned during the scan", cas.ErrSwept, s.Last.ID)
	}
	return err
}

// A Held is a staged state of which everything will be held when its record is
// written, and the knowledge of what holds it. Only a Held gets a way into git.
type Held struct {
	Unheld
	m  *Mirror
	at Known

	relied []oid.ID          // objects that the store had before, and the stage does not have
	base   *records.Snapshot // the last snapshot, if all that it names is held; nil: that is not known
	origin origin            // where the rest of the git tree comes from

	beyond []oid.ID // what the git tree needs and the base's has not, an object behind what it needs; nil: that is not known
}

// An origin says who has what a git tree names beyond the base and the stage.
type origin int

const (
	fromStore origin = iota // the store will have it with the commit
	fromHead                // it is borrowed: HEAD keeps it, and git comes first
)

// Hold makes sure that everything the state names will be held. If the ref lost
// something that it kept, Hold writes what was read again into the store, and
// mends git with it. What is lacking even then is copied into the store.
// [cas.ErrSwept] means that the worktree must be looked at again.
func (m *Mirror) Hold(ctx context.Context, s Unheld, at Known) (*Held, error) {
	h := &Held{Unheld: s, m: m, at: at}
	if at.RefLost {
		if err := s.Stage.Flush(ctx); err != nil {
			return nil, objects.StoreError(err)
		}
		_ = m.mend(ctx) // what hinders it is met again, and told, when git gets this snapshot
		if err := h.lookAgain(ctx); err != nil {
			return nil, err
		}
	}
	if err := h.hold(ctx); err != nil {
		return nil, err
	}
	if h.origin == fromHead && h.Same(h.at.Last) && !m.git().Keeps(ctx, h.at.Last.ID) {
		return h, h.holdAll(ctx) // no new commit will keep it
	}
	return h, nil
}

// lookAgain takes up what became of the last snapshot when git was mended.
func (h *Held) lookAgain(ctx context.Context) error {
	if h.at.Last == nil {
		return ctx.Err()
	}
	now, err := records.Read(ctx, h.m.View, func(v *records.View) (*records.Snapshot, error) { return v.Find(h.at.Last.ID) })
	if now != nil && now.ID == h.at.Last.ID {
		h.at.Last = now
	}
	return err
}

// Last returns the worktree's last snapshot, as mending git left it.
func (h *Held) Last() *records.Snapshot { return h.at.Last }

// By returns what a record says of who holds the state; "" without git.
func (h *Held) By() string {
	switch {
	case h.m.Objects.Git == nil:
		return ""
	case h.origin == fromHead:
		return records.HeldByGit
	case h.base != nil:
		return h.base.Held
	}
	return records.HeldByStore
}

// Relies checks, in the transaction that writes the record, that what was taken
// over unread is still there: the snapshot that the stat table was saved with,
// and what the store had; and that no restore came in between. Otherwise it is
// [cas.ErrSwept].
func (h *Held) Relies(v *records.View) error {
	if v.Sweeps() != h.at.sweeps {
		for _, id := range h.relied {
			if !v.Has(id) {
				return fmt.Errorf("%w: object %v", cas.ErrSwept, id)
			}
		}
	}
	if h.Rechecked && h.base == nil {
		return h.at.checkMoves(v)
	}
	return h.at.CheckLast(v)
}

// hold sees to it that everything which the state names is held when its
// record is written. If git alone has a few objects of it, they are copied into
// the store. If git alone has many, as in a clean checkout that was never
// recorded, HEAD's own tree is borrowed. Only HEAD keeps those objects at first.
// So the ref must keep them before the record is written, and HEAD must not have
// moved until then.
func (h *Held) hold(ctx context.Context) error {
	if h.m.Objects.Git == nil {
		return h.holdPlain(ctx)
	}
	trees, err := h.holdOverlay(ctx)
	if err != nil || h.Same(h.base) {
		return err
	}
	head := h.at.Head.Tree
	if h.base != nil || head.IsZero() {
		most := copyMax
		if head.IsZero() {
			most = -1
		}
		var met oid.Index
		lacking, err := h.lacking(ctx, h.noting(&met), h.State.Tree, trees, most)
		if err != nil || most < 0 || len(lacking) <= most {
			if h.base != nil && met.Len() <= beyondMax {
				h.beyond = met.IDs()
			}
			return h.copy(ctx, lacking, err)
		}
	}
	h.origin = fromHead
	lacking, err := h.lacking(ctx, h.search(false), h.State.Tree, append(trees, head), -1)
	return h.copy(ctx, lacking, err)
}

// holdPlain is hold without git. The stage has what was read, and the store has
// the rest, for the last snapshot names it. Only a scan that did not trust the
// stat table does not know that: then all of it is looked for.
func (h *Held) holdPlain(ctx context.Context) error {
	if !h.Rechecked {
		return nil
	}
	for _, overlay := range []bool{false, true} {
		root := h.State.Tree
		if overlay {
			root = h.State.Overlay
		}
		lacking, err := h.lacking(ctx, h.search(overlay), root, nil, -1)
		if err := h.copy(ctx, lacking, err); err != nil {
			return err
		}
	}
	return nil
}

// holdAll copies into the store what the state would have borrowed. It is for
// when git cannot keep it now.
func (h *Held) holdAll(ctx context.Context) error {
	trees, err := h.holdOverlay(ctx)
	if err != nil {
		return err
	}
	lacking, err := h.lacking(ctx, h.search(false), h.State.Tree, trees, -1)
	return h.copy(ctx, lacking, err)
}

// heldLast returns the worktree's last snapshot if all that it names is known to
// be held, else nil.
func (h *Held) heldLast(ctx context.Context) *records.Snapshot {
	switch {
	case h.at.Last == nil || h.at.Last.Lost != "" || h.at.Last.Held == "":
		return nil
	case h.at.Last.Held == records.HeldByGit && h.at.RefLost && !h.m.git().Keeps(ctx, h.at.Last.ID):
		return nil
	}
	return h.at.Last
}

// holdOverlay finds the base, and makes sure that the store has all of the
// overlay. Git gets none of it. An object of the overlay may be in the git tree
// too, but the next snapshot's git tree may lack it. Trees are git trees of which
// everything is held.
func (h *Held) holdOverlay(ctx context.Context) (trees []oid.ID, err error) {
	var overlays []oid.ID
	h.base, h.origin = h.heldLast(ctx), fromStore
	if h.base != nil {
		overlays, trees = append(overlays, h.base.Overlay), append(trees, h.base.Tree)
	}
	lacking, err := h.lacking(ctx, h.search(true), h.State.Overlay, overlays, -1)
	return trees, h.copy(ctx, lacking, err)
}

func (h *Held) search(overlay bool) *tree.Search {
	return &tree.Search{Algorithm: h.m.Objects.Algorithm, Overlay: overlay, Load: h.Trees, Skip: h.Stage.Has}
}

// noting is a search that notes what it meets beyond the known trees, up to one more than
// a list is kept of. Git then need not be searched for once more.
func (h *Held) noting(met *oid.Index) *tree.Search {
	s := h.search(false)
	staged := s.Skip
	s.Skip = func(id oid.ID) bool {
		if met.Len() <= beyondMax {
			met.Add(id)
		}
		return staged(id)
	}
	return s
}

// lacking returns the objects that root needs, known trees do not have, and the
// store will not have after the commit. If most is not negative, it may stop when
// it has found more than that. What the store has already is noted in relied, to
// be looked for again when the record is written.
func (h *Held) lacking(ctx context.Context, s *tree.Search, root oid.ID, known []oid.ID, most int) (lacking []tree.Need, err error) {
	var asked []tree.Need
	look := func() error {
		err := h.m.View(ctx, func(v *records.View) error {
			for _, n := range asked {
				if v.Has(n.ID) {
					h.relied = append(h.relied, n.ID)
				} else {
					lacking = append(lacking, n)
				}
			}
			return nil
		})
		asked = asked[:0]
		return err
	}
	for n, err := range s.Beyond(root, known...) {
		if err != nil {
			return nil, objects.TreeError(err)
		}
		if s.Skip(n.ID) {
			continue
		}
		if asked = append(asked, n); len(asked) < lookMax {
			continue
		}
		if err := look(); err != nil || most >= 0 && len(lacking) > most {
			return lacking, err
		}
	}
	if len(asked) > 0 {
		err = look()
	}
	return lacking, err
}
