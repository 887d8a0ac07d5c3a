package wire

import "github.com/seed-82afce7a/rewind/engine"

// A Pruned is the answer of prune.
type Pruned struct {
	DryRun  bool           `json:"dry_run,omitempty"`
	Dropped []Record       `json:"dropped"`
	Foreign []string       `json:"foreign"` // of pi-rewind-hook
	Kept    map[string]int `json:"kept"`    // how many stay, by the reason
	Ledgers int            `json:"ledgers"`
	Objects int64          `json:"objects"`
	Freed   int64          `json:"freed_bytes"`
	Bridged bool           `json:"bridged"`
	Git     *held          `json:"git,omitempty"`       // what git still has of what was dropped
	Gone    *Collected     `json:"collected,omitempty"` // with --gc: what git's objects took, and take now

	Recovered  *Restored `json:"recovered,omitempty"`
	Unfinished string    `json:"unfinished,omitempty"`
}

// A held is what git still has of snapshots that were dropped.
type held struct {
	Objects int    `json:"objects"`
	Bytes   int64  `json:"bytes,omitempty"`
	Expire  string `json:"prune_expire"`
	Reflog  bool   `json:"reflog,omitempty"`
	Command string `json:"command"`
}

// A Collected is what git's objects took on disk, and take after a collection.
type Collected struct {
	Before int64 `json:"before_bytes"`
	After  int64 `json:"after_bytes"`
}

// NewPruned tells what a prune dropped or, dry, would drop, and what git then
// collected; nil: it did not.
func NewPruned(p *engine.Housekeeping, c *Collected, dry bool) Pruned {
	out := Pruned{
		DryRun: dry, Dropped: newRecords(p.Dropped), Foreign: []string{}, Kept: p.Kept, Ledgers: p.Ledgers,
		Objects: p.Objects, Freed: p.Freed, Bridged: p.Bridge == nil,
		Recovered: recovered(p.Recovered), Unfinished: text(p.Unfinished), Gone: c,
	}
	if g := p.Git; g.Objects > 0 {
		out.Git = &held{g.Objects, g.Bytes, g.Expire, g.Reflog, "git gc"}
	}
	for _, id := range p.Foreign {
		out.Foreign = append(out.Foreign, id.String())
	}
	return out
}

// A Purged is the answer of purge.
type Purged struct {
	DryRun    bool    `json:"dry_run,omitempty"`
	Paths     []Path  `json:"paths"`
	Snapshots int     `json:"snapshots"`
	Freed     int64   `json:"freed_bytes"`
	Shared    int     `json:"shared"`
	Left      []left  `json:"left"`
	Bridged   bool    `json:"bridged"`
	Git       remains `json:"git"`

	Recovered *Restored `json:"recovered,omitempty"`
}

// remains is what git may still have of what was purged.
type remains struct {
	Objects int    `json:"objects"`
	Expire  string `json:"prune_expire,omitempty"`
	Reflog  bool   `json:"reflog"`
	Tracked []Path `json:"tracked"`
}

// NewPurged tells what a purge removed or, dry, would remove.
func NewPurged(p *engine.Housekeeping, dry bool) Purged {
	return Purged{
		DryRun: dry, Paths: newPaths(p.Paths), Snapshots: p.Purged, Freed: p.Freed, Shared: p.Shared, Left: newLefts(p.Left), Bridged: p.Bridge == nil,
		Git:       remains{p.Git.Objects, p.Git.Expire, p.Git.Reflog, newPaths(p.Git.Tracked)},
		Recovered: recovered(p.Recovered),
	}
}

// An Imported is the answer of import.
type Imported struct {
	DryRun   bool     `json:"dry_run,omitempty"`
	Imported []Record `json:"imported"`
	Skipped  []Note   `json:"skipped"`
	Bridged  bool     `json:"bridged"`

	Recovered *Restored `json:"recovered,omitempty"`
}

// NewImported tells what an import took over or, dry, would take over.
func NewImported(r *engine.Housekeeping, dry bool) Imported {
	return Imported{DryRun: dry, Imported: newRecords(r.Imported), Skipped: Notes(r.Left), Bridged: r.Bridge == nil, Recovered: recovered(r.Recovered)}
}
