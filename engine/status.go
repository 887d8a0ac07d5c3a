package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A Status is what there is to know of a worktree without scanning it.
type Status struct {
	Root         string     `json:"root"`
	Algorithm    string     `json:"-"`                    // the hash behind the worktree's ids
	Git          bool       `json:"git"`                  // the worktree belongs to a git repository
	Store        string     `json:"store"`                // the store's file
	StoreBytes   int64      `json:"store_bytes"`          // of that file on disk; 0: not made yet
	GitBytes     int64      `json:"git_bytes"`            // of the files that rewind wrote among git's objects; what git has packed anew since is not counted
	FreeBytes    *int64     `json:"free_bytes,omitempty"` // that the user may still write where the store is; nil: the system does not tell
	Much         bool       `json:"much,omitempty"`       // the store and git together take more than a tenth of that
	Snapshots    int        `json:"snapshots"`            // of this worktree
	Total        int        `json:"total"`                // of all worktrees that share the store
	Last         ID         `json:"last,omitzero"`        // this worktree's newest snapshot
	LastTime     time.Time  `json:"last_time,omitzero"`
	Recorded     ID         `json:"recorded,omitzero"` // the newest that was recorded on purpose: "@"
	RecordedTime time.Time  `json:"recorded_time,omitzero"`
	Here         ID         `json:"here,omitzero"`      // where its files stand
	Skipped      []Note     `json:"skipped,omitempty"`  // paths that the newest snapshot left out
	Ignored      string     `json:"ignored"`            // which ignored files are recorded: rewind.ignored
	Pending      int        `json:"pending"`            // snapshots that are not in git yet
	RefLost      bool       `json:"ref_lost,omitempty"` // the ref does not keep what it did; the next snapshot mends it
	Lost         []Note     `json:"lost,omitempty"`     // ids of snapshots that cannot be restored as a whole any more, and why
	Unfinished   *Operation `json:"unfinished,omitempty"`
	Undo         int        `json:"undo"`                // operations that undo can take back
	Redo         int        `json:"redo"`                // undos that redo can take back
	Exposed      []Path     `json:"exposed,omitempty"`   // look like secrets and went into git objects, and were not purged since
	Watched      bool       `json:"watched,omitempty"`   // the next snapshot of this program looks only where something changed
	Unwatched    string     `json:"unwatched,omitempty"` // why not; empty also where nothing would be watched
	Warnings     []string   `json:"warnings,omitempty"`
}

// Status reads what there is to know without scanning the worktree, and
// changes nothing: it does not finish an unfinished operation, it names it.
func (e *Engine) Status(ctx context.Context) (*Status, error) {
	st := &Status{Root: e.root, Algorithm: e.alg.String(), Git: e.repo != nil, Store: filepath.Join(e.dir, storeFile), Ignored: e.conf.Ignored, Warnings: e.Warnings()}
	st.Watched, st.Unwatched = e.watch.State()
	if what, err := e.missed(); err == nil && what != "" {
		st.Warnings = append(st.Warnings, "not watched: "+what)
	}
	s, err := e.opened(ctx)
	if err != nil || s == nil {
		return st, err
	}
	if st.StoreBytes, err = s.Size(); err != nil {
		return nil, objects.StoreError(err)
	}
	defer e.costTo(st)()
	var last *Snapshot
	err = e.view(ctx, func(v *records.View) error {
		if last, err = v.Last(); err != nil {
			return err
		}
		recorded, err := lookup.NewestOnPurpose(v)
		if err != nil && !errors.Is(err, ErrDamaged) { // there is more to know
			return err
		}
		if recorded != nil {
			st.Recorded, st.RecordedTime = recorded.ID, recorded.Time
		}
		if _, st.Here, err = lookup.StandsAt(v); err != nil {
			return err
		}
		st.Lost = v.Lost()
		st.Snapshots, st.Total, err = v.Count()
		return err
	})
	if err != nil {
		return nil, err
	}
	if st.Pending, err = e.mirror.Pending(ctx); err != nil {
		return nil, err
	}
	st.RefLost = e.refLost(ctx)
	if st.Exposed, err = e.notice(ctx, noticeSecrets); err != nil {
		return nil, err
	}
	if last != nil {
		if err := e.lookup.Fill(ctx, last); err != nil {
			return nil, err
		}
		st.Last, st.LastTime, st.Skipped = last.ID, last.Time, last.Skipped
	}
	h, err := e.history(ctx)
	if st.Unfinished = h.Open; h.Undo != nil {
		st.Undo = h.Undo.Depth
	}
	if h.Redo != nil {
		st.Redo = h.Redo.Depth
	}
	if a := h.Bisect; a != nil {
		st.Warnings = append(st.Warnings, fmt.Sprintf("a bisect stands open since %s: \"rewind bisect reset\" puts back what was there before (%v)", a.Since.Format(time.RFC3339), a.Home))
	}
	if strange := strangeError(h); strange != nil {
		st.Warnings = append(st.Warnings, strange.Error())
	}
	return st, err
}

// costTo begins to look what history costs, a third of the time that a status takes, and
// returns what waits for that and says it.
func (e *Engine) costTo(st *Status) (say func()) {
	looked := make(chan cost, 1)
	go func() { looked <- e.costNow() }()
	return func() {
		now := <-looked
		st.GitBytes, st.Much = now.Git, now.much()
		if now.Free >= 0 {
			st.FreeBytes = &now.Free
		}
	}
}

// refLost reports whether the ref does not keep what it did.
func (e *Engine) refLost(ctx context.Context) bool {
	k, err := e.before(ctx)
	return err == nil && k.Wait().RefLost
}

// mended is said where the store was found damaged and is whole again.
const mended = "the newest header of the store was damaged and was put back; nothing was lost, but the disk may lose more: \"rewind verify\" reads everything"

// Warnings returns one sentence for each setting that is unknown or malformed,
// and for damage that was mended.
func (e *Engine) Warnings() []string {
	out := e.conf.Warnings()
	if _, err := durable.Look(filepath.Join(e.ownDir, statTableFile)); errors.Is(err, durable.ErrForeign) {
		out = append(out, fmt.Sprintf("every file is read again at every snapshot: %v", err))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store != nil && e.store.Mended() {
		out = append(out, mended)
	}
	return out
}
