package worktree

import (
	"iter"
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// A Base is what the last scan of a worktree saw, in memory, for a next one that
// looks only where something may have changed. It is for one goroutine at a time.
type Base struct {
	table    *stattable.Table
	restless map[string]bool // directories that every scan enters
	unasked  amount          // of all rows
}

// Keep is [Result.SaveStatTable], and keeps what was seen in memory too. It
// returns nil without an error where that would not tell all: a directory could
// not be looked at, or paths were looked at for this scan only; or another process has
// saved meanwhile.
func (r *Result) Keep(store string, snapshot oid.ID) (*Base, error) {
	defer r.end()
	if r.partly() || r.statTable.Kept() {
		return nil, r.SaveStatTable(store, snapshot)
	}
	changed, removed := r.changed()
	bound := stattable.Binding{Store: store, Snapshot: snapshot, Boot: boot()}
	table, err := r.statTable.SaveAndKeep(bound, changed, removed)
	if table == nil {
		return nil, err
	}
	b := &Base{table: table, restless: map[string]bool{}}
	for dir, row := range table.Below("") {
		b.unasked.add(amountIn(row))
		if restless(row) {
			b.restless[dir] = true
		}
	}
	return b, nil
}

// partly reports whether the rows do not say all that there is to know for a next
// scan.
func (r *Result) partly() bool { return len(r.closed) > 0 || len(r.unsaved) > 0 }

// Update takes over what a scan saw that was made on this base. It reports
// whether the base is as good as before; if not, it is to be thrown away.
func (b *Base) Update(r *Result, store string, snapshot oid.ID) (*Updated, bool) {
	if r.statTable != b.table || r.partly() {
		return nil, false
	}
	changed, removed := r.changed()
	was := func(dir string) amount {
		row, _, _ := b.table.Row(dir)
		return amountIn(row)
	}
	for _, dir := range removed {
		delete(b.restless, dir)
		b.unasked.sub(was(dir))
	}
	for dir, row := range changed {
		b.unasked.sub(was(dir))
		b.unasked.add(amountIn(row))
		if restless(row) {
			b.restless[dir] = true
		} else {
			delete(b.restless, dir)
		}
	}
	_ = b.table.Save(stattable.Binding{Store: store, Snapshot: snapshot, Boot: boot()}, changed, removed) // in memory
	return &Updated{Changed: slices.Sorted(maps.Keys(changed)), Removed: removed}, true
}

// Updated are the directories of which a base has another row than before, each before
// those in it, and of which it has none any more.
type Updated struct{ Changed, Removed []string }

// StatTable is what takes the place of the stat table for a scan on this base.
func (b *Base) StatTable() *stattable.Table { return b.table }

// Visit adds what every scan has to enter, and what the others are based on.
func (b *Base) Visit(c *Candidates) {
	c.unasked = b.unasked
	for dir := range b.restless {
		c.reach(dir)
	}
}

// Flush writes the stat table. It reports false if another process has written it
// since: then that one's is the better base.
func (b *Base) Flush() bool { return b.table.Flush() == nil }

// Dirs returns a directory and all below it that were seen, "" for all.
func (b *Base) Dirs(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := range b.table.Below(dir) {
			if !yield(dir) {
				return
			}
		}
	}
}
