package wire

import (
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// A Snapshot is the answer of snapshot, and of its dry run.
type Snapshot struct {
	ID         string        `json:"id,omitempty"` // with --dry-run only if a snapshot of this state exists as the last one
	Tree       string        `json:"tree"`
	Overlay    string        `json:"overlay,omitempty"`
	Reused     bool          `json:"reused"`
	Changed    *int          `json:"changed,omitempty"`  // paths that differ from where the files stood; of the first snapshot, its files and links; not there: it could not be counted
	Skipped    []Note        `json:"skipped"`            // every path that was left out, or that the store alone has because git's tree cannot hold it
	Unexpected []Note        `json:"unexpected"`         // those of them that make it exit 5
	Excluded   int           `json:"excluded,omitempty"` // how many a setting leaves out
	Unstable   []Note        `json:"unstable,omitempty"` // changed while they were read
	Exposed    []engine.Path `json:"exposed,omitempty"`  // untracked, look like secrets and are in git objects now: each once until it is purged
	Bridged    bool          `json:"bridged"`            // false: it is in the store, and could not be brought into git; the next command tries again
	Cost       *cost         `json:"cost,omitempty"`     // what history takes of the disk: when that passes a tenth of what is free, once, and again when it has doubled
	Ref        string        `json:"ref,omitempty"`

	Recovered  *Restored `json:"recovered,omitempty"`  // what was done to finish an interrupted restore first, here as in all other objects
	Unfinished string    `json:"unfinished,omitempty"` // why an interrupted restore could not be finished, and is left as it is; of what finishes none, as with --dry-run: it shows the files as that left them
	ElapsedMS  float64   `json:"elapsed_ms"`
}

// A cost is what history costs on the disk.
type cost struct {
	Store int64 `json:"store_bytes"`
	Git   int64 `json:"git_bytes"`
	Free  int64 `json:"free_bytes"`
}

// NewSnapshot tells what a snapshot came to.
func NewSnapshot(r *engine.Recorded, took time.Duration) Snapshot {
	out := Snapshot{
		ID: r.ID.String(), Tree: r.Tree.String(), Overlay: r.Overlay.String(), Reused: r.Reused,
		Skipped: Notes(r.Skipped), Unexpected: Notes(r.Unexpected), Excluded: r.Excluded, Unstable: Notes(r.Unstable), Exposed: r.Exposed, Bridged: r.Bridge == nil, Ref: r.Ref,
		Recovered: recovered(r.Recovered), Unfinished: text(r.Unfinished), ElapsedMS: milliseconds(took),
	}
	if r.Uncounted == nil {
		out.Changed = &r.Changed
	}
	if r.Cost != nil {
		c := cost(*r.Cost)
		out.Cost = &c
	}
	return out
}

// A Restored is the answer of restore, undo and redo.
type Restored struct {
	ID        string   `json:"id"`
	Undo      string   `json:"undo,omitempty"` // what undo returns to; not there: nothing had to change, and nothing was recorded
	DryRun    bool     `json:"dry_run,omitempty"`
	Changes   []Change `json:"changes,omitzero"` // of a plan
	Written   int      `json:"written"`
	Deleted   int      `json:"deleted"`
	Kept      []Note   `json:"kept"`              // what stays beside what the snapshot has, also what could not be recorded before
	Conflicts []Note   `json:"conflicts"`         // what changed meanwhile, or cannot be merged
	Marked    []Note   `json:"marked,omitempty"`  // has both versions now, between markers
	Renewed   []Note   `json:"renewed,omitempty"` // was damaged in the store, and is whole again
	Bridged   *bool    `json:"bridged,omitempty"` // of the snapshot to which undo returns; not there on a dry run, and of what was recovered

	Recovered  *Restored `json:"recovered,omitempty"`
	Unfinished string    `json:"unfinished,omitempty"` // of a plan: what is finished first
	ElapsedMS  float64   `json:"elapsed_ms"`
}

// NewRestored tells what a restore, undo or redo came to.
func NewRestored(r *engine.Restored, took time.Duration) *Restored {
	bridged := r.Bridge == nil
	return &Restored{
		ID: r.ID.String(), Undo: r.Undo.String(), Written: r.Written, Deleted: r.Deleted,
		Kept: Notes(r.Kept), Conflicts: Notes(r.Conflicts), Marked: Notes(r.Marked), Renewed: Notes(r.Renewed), Bridged: &bridged,
		Recovered: recovered(r.Recovered), ElapsedMS: milliseconds(took),
	}
}

// recovered is what a command did to finish an interrupted restore, as the
// restore would have told it; nil if there was none.
func recovered(r *engine.Restored) *Restored {
	if r == nil {
		return nil
	}
	out := NewRestored(r, 0)
	out.Bridged = nil
	return out
}

// A Plan is what a restore, undo or redo would do.
type Plan struct {
	Restored
	Branch    string  `json:"branch,omitempty"` // of the target
	Here      string  `json:"here,omitempty"`   // where it would be carried out
	Plan      string  `json:"plan,omitempty"`   // tells it from any other plan
	Patch     *string `json:"patch,omitempty"`  // what it would change, line by line; nil if nobody asked
	Truncated bool    `json:"truncated,omitempty"`
}

// NewPlan tells of a plan.
func NewPlan(p *engine.Diff, took time.Duration) *Plan {
	out := &Plan{Restored: Restored{
		ID: p.Target.ID.String(), DryRun: true, Kept: Notes(p.Kept), Conflicts: Notes(p.Conflicts), Marked: Notes(p.Marked),
		Unfinished: text(p.Unfinished), ElapsedMS: milliseconds(took),
	}}
	if len(p.Changes) > 0 {
		out.Changes = newChanges(p.Changes)
	}
	// Seen from the worktree, a plan's additions are files it writes.
	for _, c := range p.Changes {
		if c.Status() == 'D' {
			out.Deleted++
		} else {
			out.Written++
		}
	}
	return out
}

// A Synced is the answer of sync.
type Synced struct {
	Recovered *Restored `json:"recovered,omitempty"` // what was finished
}

// NewSynced tells what was put right.
func NewSynced(r *engine.Housekeeping) Synced { return Synced{recovered(r.Recovered)} }

// A Status is the answer of status.
type Status struct {
	engine.Status
	Skipped []Note   `json:"skipped"`
	Lost    []left   `json:"lost,omitempty"`
	Changed []Change `json:"changed,omitzero"` // since where the files stand; only where a process watches, which knows where to look
}

// NewStatus tells of a worktree.
func NewStatus(st *engine.Status) Status {
	return Status{Status: *st, Skipped: Notes(st.Skipped), Lost: newLefts(st.Lost)}
}
