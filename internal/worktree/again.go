package worktree

import "github.com/seed-82afce7a/rewind/internal/stattable"

// Again returns on what to scan once more for paths that were not asked for, and where to
// look besides those: nowhere, or where this scan was told to, which is little. What it
// read has to be where that scan puts what it reads. It ends the use of the result.
func (r *Result) Again() (*stattable.Table, *Changes) {
	if r.partial {
		return r.statTable, r.only
	}
	changed, removed := r.changed()
	k := r.statTable.InMemory()
	_ = k.Save(k.Bound(), changed, removed) // in memory
	r.end()
	return k, &Changes{}
}

// Before returns in memory the table that the scan of everything was made on, and what is
// not as that says. It is for a state that nobody recorded, of which no row may be kept. It
// returns nil where the two together do not tell all: of a part of the worktree they do not,
// or there was no table.
func (r *Result) Before() (*stattable.Table, *Changes) {
	if r.partial || r.partly() {
		return nil, nil
	}
	k, differs := r.statTable.InMemory(), &Changes{}
	if k.Len() == 0 {
		return nil, nil
	}
	rows, removed := r.changed()
	for dir := range rows {
		if _, _, had := k.Row(dir); had {
			differs.Add(dir, "")
		} else {
			differs.AddBelow(dir)
		}
	}
	for _, dir := range removed {
		differs.AddBelow(dir)
	}
	return k, differs
}

// Partial reports whether only what may have changed was looked at.
func (r *Result) Partial() bool { return r.partial }
