package worktree

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An Entry is what the scan saw at one path. Of Stat the fields Mode, Ino,
// Size, Mtime and Ctime are set; of a directory all but the size.
type Entry struct {
	Stat dirfd.Stat
	Raw  oid.ID // of the bytes on disk; zero for directories
	Git  oid.ID // in the git tree; zero if it is not there

	Ignored bool // and recorded for another reason
	Unasked bool // ignored, and no pattern names it
	Tracked bool // in the index of its repository

	Young bool // it may have changed since without a trace in its stat data
}

// Lookup returns what the scan saw at a slash-separated path; false if it
// recorded nothing there. The empty path is the root. It is not to be called
// after SaveStatTable, or when the table is closed, nor by two goroutines at once.
func (r *Result) Lookup(path string) (Entry, bool) {
	if path == "" {
		return r.directory("")
	}
	dir, name := tree.Split(path)
	e, ok := r.find(dir, name)
	switch {
	case !ok || e.Flags&stattable.AbsentNow != 0:
		return Entry{}, false
	case e.Flags&stattable.IsDir != 0:
		d, ok := r.directory(path)
		d.Git = e.Git
		return d, ok
	}
	if e.GitMode == tree.GitDir {
		e.Git = oid.ID{}
	}
	st := dirfd.Stat{Mode: e.Mode, Ino: e.Ino, Size: e.Size, Mtime: e.Mtime, Ctime: e.Ctime}
	has := func(flags stattable.EntryFlags) bool { return e.Flags&flags != 0 }
	return Entry{Stat: st, Raw: e.Raw, Git: e.Git, Ignored: has(stattable.Ignored), Unasked: has(stattable.Unasked), Tracked: has(stattable.Tracked), Young: has(stattable.Young | stattable.Fresh)}, true
}

// Recorded is the number of files and links that the scan recorded. It is known
// only of a scan that encoded every directory, as the first one does.
func (r *Result) Recorded() (n int, known bool) {
	return int(r.Counters.recorded), r.Counters.kept == 0 && !r.partial
}

// within reports whether a path is a directory's own, or lies below it.
func within(path, dir string) bool {
	return dir == "" || strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// find returns what a directory has under a name. The entries of each directory that
// was asked about stay in order, so that many files of one cost no more than their number.
func (r *Result) find(dir, name string) (stattable.Item, bool) {
	entries, known := r.found[dir]
	if !known {
		if row, ok := r.row(dir); ok {
			for _, e := range row.Entries() {
				entries = append(entries, e)
			}
			// A scan writes them in order, and a file may say anything.
			slices.SortStableFunc(entries, func(a, b stattable.Entry) int { return strings.Compare(a.Name(), b.Name()) })
		}
		r.found[dir] = entries
	}
	i, ok := slices.BinarySearchFunc(entries, name, func(e stattable.Entry, name string) int { return strings.Compare(e.Name(), name) })
	if !ok {
		return stattable.Item{}, false
	}
	return entries[i].Item(), true
}

// directory returns what the scan saw of a directory itself.
func (r *Result) directory(dir string) (Entry, bool) {
	row, ok := r.row(dir)
	if !ok {
		return Entry{}, false
	}
	h := row.Head()
	return Entry{Stat: dirfd.Stat{Mode: h.Mode, Ino: h.Ino, Mtime: h.Mtime, Ctime: h.Ctime}, Git: h.Tree, Young: h.Flags&stattable.Ambiguous != 0}, true
}

// row returns the row of a directory as this scan left it.
func (r *Result) row(dir string) (stattable.Row, bool) {
	if row, ok := r.rows[dir]; ok {
		return row, true
	}
	row, number, ok := r.statTable.Row(dir)
	if r.partial {
		return row, ok && !slices.ContainsFunc(r.lost, func(gone string) bool { return within(dir, gone) })
	}
	return row, ok && r.seen[number]
}

// changed returns the rows to be written, and the directories whose rows go. What
// the row of a directory that could not be looked at knew is not agreed with the
// snapshot any more; that there was a row must not be forgotten, for it may have
// known better than git's index what is in a file.
func (r *Result) changed() (rows map[string]stattable.Row, removed []string) {
	rows = maps.Clone(r.rows)
	drop := func(dir string) {
		rows[dir] = stattable.Encode(dir, &stattable.Head{Flags: stattable.Ambiguous | stattable.Dropped | stattable.Hides}, nil, nil)
	}
	for dir, whole := range r.unsaved {
		switch old, _, had := r.statTable.Row(dir); {
		case !r.partial:
			drop(dir)
		case had || !whole:
			rows[dir] = toList(dir, old, rows[dir])
		default: // it was looked at for this scan only
			delete(rows, dir)
		}
	}
	for dir := range r.unseen() {
		if r.wasClosed(dir) {
			drop(dir)
		} else if _, again := rows[dir]; !again {
			removed = append(removed, dir)
		}
	}
	return rows, removed
}

// toList is the row of a directory that a next scan of changes is to list: it knows of the
// files what was known before, if there was a row, and which directories there are now.
func toList(dir string, old, now stattable.Row) stattable.Row {
	isDir := func(it stattable.Item) bool { return it.Flags&(stattable.IsDir|stattable.AbsentNow) == stattable.IsDir }
	c := &contents{head: stattable.Head{Flags: stattable.Dropped | stattable.Hides}}
	if !old.IsZero() {
		c = unpack(old)
	}
	if !now.IsZero() {
		there := map[string]bool{}
		var dirs []stattable.Item
		for _, it := range unpack(now).items {
			if isDir(it) {
				dirs, there[it.Name] = append(dirs, it), true
			}
		}
		c.items = append(slices.DeleteFunc(c.items, func(it stattable.Item) bool { return isDir(it) || there[it.Name] }), dirs...)
		slices.SortFunc(c.items, func(a, b stattable.Item) int { return strings.Compare(a.Name, b.Name) })
	}
	c.head.Flags |= stattable.Ambiguous
	return stattable.Encode(dir, &c.head, c.items, c.notes)
}

// unseen returns the directories whose rows hold no more.
func (r *Result) unseen() iter.Seq[string] {
	return func(yield func(string) bool) {
		for number, seen := range r.seen {
			if dir, ok := r.statTable.Dir(number); ok && !seen && !yield(dir) {
				return
			}
		}
		for _, gone := range r.lost {
			for dir := range r.statTable.Below(gone) {
				if !yield(dir) {
					return
				}
			}
		}
	}
}

func binding(store string, snapshot oid.ID) stattable.Binding {
	return stattable.Binding{Store: store, Snapshot: snapshot, Boot: boot()}
}

// end closes the table and lets go of the rows.
func (r *Result) end() {
	r.statTable.Close()
	r.rows, r.found = nil, map[string][]stattable.Entry{}
}

// SaveStatTable writes what the scan saw into the stat table, for the next scan.
// It may be called only when everything the Saver was given is durable in the
// store, with the snapshot that was made of it. If another scan saved
// meanwhile its rows stay; that is no error. The table is closed by it, and the rows
// leave the memory: of a first scan they take some 80 bytes a file, and whoever
// took the snapshot may wait for git for long.
func (r *Result) SaveStatTable(store string, snapshot oid.ID) error {
	defer r.end()
	changed, removed := r.changed()
	bound := binding(store, snapshot)
	if len(changed) == 0 && len(removed) == 0 && r.statTable.Bound() == bound {
		return nil
	}
	err := r.statTable.Save(bound, changed, removed)
	if err == nil {
		err = r.statTable.Flush(stattable.LockWait)
	}
	if errors.Is(err, stattable.ErrOutdated) {
		return nil
	}
	return err
}

// Keep is [Result.SaveStatTable], and returns the table in memory, for a next scan that
// looks only where something may have changed. It returns nil without an error where the
// rows do not tell all: a directory could not be looked at, or paths were looked at for
// this scan only; or another process has saved meanwhile.
func (r *Result) Keep(store string, snapshot oid.ID) (*stattable.Table, error) {
	defer r.end()
	if r.partly() || r.statTable.Kept() {
		return nil, r.SaveStatTable(store, snapshot)
	}
	changed, removed := r.changed()
	return r.statTable.SaveAndKeep(binding(store, snapshot), changed, removed)
}

// partly reports whether the rows do not say all that there is to know for a next
// scan. A scan of changes leaves those as they were that it has looked at in another way.
func (r *Result) partly() bool { return len(r.closed) > 0 || len(r.unsaved) > 0 && !r.partial }

// Closed reports whether a directory could not be looked at.
func (r *Result) Closed() bool { return len(r.closed) > 0 }

// News returns what the rows of a table in memory are to become, on which only what
// changed was looked at, in the way of [Result.Update]. Not ok: that would be worse than
// before. It ends the use of the result.
func (r *Result) News(store string, snapshot oid.ID) (b stattable.Binding, changed map[string]stattable.Row, removed []string, ok bool) {
	defer r.end()
	if ok = r.partial && r.statTable.Kept() && !r.partly(); ok {
		changed, removed = r.changed()
	}
	return binding(store, snapshot), changed, removed, ok
}

// Update takes over what was seen into the table in memory that the scan was made on. It
// reports whether that is as good as before; if not, it is to be thrown away. What was
// looked at for this scan only is looked at again.
func (r *Result) Update(store string, snapshot oid.ID) (*Updated, bool) {
	if !r.statTable.Kept() || r.partly() {
		return nil, false
	}
	changed, removed := r.changed()
	return Taken(r.statTable, binding(store, snapshot), changed, removed), true
}

// Taken takes rows over into a table in memory.
func Taken(t *stattable.Table, b stattable.Binding, changed map[string]stattable.Row, removed []string) *Updated {
	_ = t.Save(b, changed, removed) // in memory
	return &Updated{Changed: slices.Sorted(maps.Keys(changed)), Removed: removed}
}

// Updated are the directories that have another row than before, each before those in
// it, and those that have none any more.
type Updated struct{ Changed, Removed []string }
