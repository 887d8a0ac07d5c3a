package stattable

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// kept is what a table has that lives in memory, beside its rows.
type kept struct {
	spare    []uint32        // places in the list that no row has
	unsaved  map[string]Row  // what the file lacks; the zero Row is one that goes
	restless map[string]bool // directories with rows that are [Row.Restless]
	small    Small           // of all rows
	strays   bool            // the file has other rows too
	borrowed *borrowed       // not nil: another process's
}

// Kept reports whether the rows are in memory, and not used where they lie in the
// file.
func (t *Table) Kept() bool { return t.kept != nil }

// Restless returns the directories with rows that are [Row.Restless], of a table in memory.
func (t *Table) Restless() iter.Seq[string] { return maps.Keys(t.kept.restless) }

// Small sums up the rows of a table in memory.
func (t *Table) Small() Small { return t.kept.small }

// SaveAndKeep is [Table.Save], and returns the rows as they are afterwards in
// memory of its own, to be used and changed without the file. Only what can be
// reached from the root, each directory by its entry in the one above it, is
// kept. It returns no table where there is no row of the root, or where another
// process has saved meanwhile.
func (t *Table) SaveAndKeep(b Binding, changed map[string]Row, removed []string) (*Table, error) {
	k := t.copied(changed, removed)
	k.bound = b
	if len(changed) > 0 || len(removed) > 0 || t.bound != b {
		if err := t.Save(b, changed, removed); err != nil {
			if errors.Is(err, ErrOutdated) {
				err = nil
			}
			return nil, err
		}
	}
	if k.generation, k.written = t.generation, t.written; k.Len() == 0 {
		return nil, nil
	}
	return k, nil
}

// InMemory returns the table in memory: itself, if it is there, else a copy of the rows that
// [Table.SaveAndKeep] would keep.
func (t *Table) InMemory() *Table {
	if t.kept != nil {
		return t
	}
	k := t.copied(nil, nil)
	k.generation, k.written, k.bound, k.saved = t.generation, t.written, t.bound, t.saved
	return k
}

// copied makes a table in memory of what this one will have after a change.
func (t *Table) copied(changed map[string]Row, removed []string) *Table {
	k := (&Table{path: t.path, kept: &kept{unsaved: map[string]Row{}, restless: map[string]bool{}}}).empty()
	gone := make(map[string]bool, len(removed))
	for _, dir := range removed {
		gone[dir] = true
	}
	row := func(dir string) (Row, bool) {
		if r, ok := changed[dir]; ok || gone[dir] {
			return r, ok
		}
		r, _, ok := t.Row(dir)
		return r, ok
	}
	for stack := []string{""}; len(stack) > 0; {
		dir := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		r, ok := row(dir)
		if !ok {
			continue
		}
		own := Row{slices.Clone(r.p)}
		k.put(dir, own)
		for name := range own.Subdirectories() {
			stack = append(stack, tree.Join(dir, name))
		}
	}
	all := len(changed)
	for dir := range t.rows {
		if _, again := changed[dir]; !again && !gone[dir] {
			all++
		}
	}
	k.kept.strays = all > len(k.rows)
	return k
}

// put sets the row of a directory in memory.
func (t *Table) put(dir string, r Row) {
	t.take(dir)
	at := uint32(len(t.list))
	if n := len(t.kept.spare); n > 0 {
		at, t.kept.spare = t.kept.spare[n-1], t.kept.spare[:n-1]
	} else {
		t.list = append(t.list, slot{})
	}
	t.list[at], t.rows[dir] = slot{dir: dir, p: r.p}, at
	t.kept.small.Add(r.Small())
	if r.Restless() {
		t.kept.restless[dir] = true
	}
}

// take removes the row of a directory from memory.
func (t *Table) take(dir string) {
	at, ok := t.rows[dir]
	if !ok {
		return
	}
	t.kept.small.Sub(Row{t.list[at].p}.Small())
	delete(t.kept.restless, dir)
	delete(t.rows, dir)
	t.list[at] = slot{}
	t.kept.spare = append(t.kept.spare, at)
}

// change is [Table.Save] for a table in memory: nothing is written.
func (t *Table) change(b Binding, changed map[string]Row, removed []string) {
	for _, dir := range removed {
		t.take(dir)
		t.kept.unsaved[dir] = Row{}
	}
	for dir, r := range changed {
		t.put(dir, r)
		t.kept.unsaved[dir] = r
	}
	t.bound = b
}

// Flush writes into the file what a table in memory has and the file has not,
// unless another process has saved since, which is [ErrOutdated], or has it open for longer
// than is waited, which is [ErrBusy].
func (t *Table) Flush(wait time.Duration) error {
	if t.kept == nil || len(t.kept.unsaved) == 0 {
		return nil
	}
	changed, removed := map[string]Row{}, []string(nil)
	for dir, r := range t.kept.unsaved {
		if r.IsZero() {
			removed = append(removed, dir)
		} else {
			changed[dir] = r
		}
	}
	if err := t.write(wait, t.bound, changed, removed); err != nil {
		return err // what the file lacks it lacks still
	}
	clear(t.kept.unsaved)
	return nil
}

// Below returns the rows of a directory and of all below it, of which the table
// has one without a gap on the way.
func (t *Table) Below(dir string) iter.Seq2[string, Row] {
	return func(yield func(string, Row) bool) {
		for stack := []string{dir}; len(stack) > 0; {
			dir := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			r, _, ok := t.Row(dir)
			if !ok {
				continue
			}
			if !yield(dir, r) {
				return
			}
			for name := range r.Subdirectories() {
				stack = append(stack, tree.Join(dir, name))
			}
		}
	}
}

// Subdirectories returns the names under which a row has directories that lie on
// disk. They are parts of the row.
func (r Row) Subdirectories() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range r.Entries() {
			if e.Flags()&IsDir != 0 && e.Flags()&AbsentNow == 0 && !yield(e.Name()) {
				return
			}
		}
	}
}

// AlwaysLook are the flags of entries that every scan looks at: what was read too
// soon, and what may be written under another name, of which nothing tells.
const AlwaysLook = Young | Fresh | Linked

// Restless reports whether a directory must be entered by each scan, though
// nothing in it seems to change.
func (r Row) Restless() bool {
	const flags = Ambiguous | Retry | DotGit | Full | Dropped
	if r.Flags()&flags != 0 || len(r.Notes()) > 0 {
		return true
	}
	for _, e := range r.Entries() {
		if e.Flags()&AlwaysLook != 0 {
			return true
		}
	}
	return false
}

// Small is how many small ignored files there are, and how many bytes they have.
type Small struct{ Files, Bytes int64 }

// Add adds another one.
func (a *Small) Add(o Small) { a.Files, a.Bytes = a.Files+o.Files, a.Bytes+o.Bytes }

// Sub takes another one off.
func (a *Small) Sub(o Small) { a.Files, a.Bytes = a.Files-o.Files, a.Bytes-o.Bytes }

// Small is what the row of a directory counts for. Bytes that were measured and
// not recorded are not in it.
func (r Row) Small() (a Small) {
	if r.IsZero() {
		return a
	}
	if a.Files = int64(r.Head().Unasked); a.Files == 0 {
		return a
	}
	for _, e := range r.Entries() {
		if e.Flags()&Unasked != 0 {
			a.Bytes += e.Size()
		}
	}
	return a
}
