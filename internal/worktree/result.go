package worktree

import (
	"errors"
	"maps"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An Entry is what the scan saw at one path. Of Stat the fields Mode, Ino,
// Size, Mtime and Ctime are set; of a directory all but the size.
type Entry struct {
	Stat  dirfd.Stat
	Raw   oid.ID // of the bytes on disk; zero for directories
	Git   oid.ID // in the git tree; zero if it is not there
	Young bool   // it may have changed since without a trace in its stat data
}

// Lookup returns what the scan saw at a slash-separated path; false if it
// recorded nothing there. The empty path is the root. It is not to be called
// after SaveStatTable, or when the table is closed.
func (r *Result) Lookup(path string) (Entry, bool) {
	at, name := "", ""
	row, ok := r.row("")
	for rest := path; rest != "" && ok; {
		if name != "" {
			if at = join(at, name); !holdsDir(row, name) {
				return Entry{}, false
			}
			row, ok = r.row(at)
		}
		name, rest, _ = strings.Cut(rest, "/")
	}
	if !ok {
		return Entry{}, false
	}
	if path == "" {
		return dirEntry(row), true
	}
	e, ok := find(row, name)
	switch {
	case !ok || e.Flags&stattable.AbsentNow != 0:
		return Entry{}, false
	case e.Flags&stattable.IsDir != 0:
		own, ok := r.row(path)
		if !ok {
			return Entry{}, false
		}
		d := dirEntry(own)
		d.Git = e.Git
		return d, true
	}
	if e.GitMode == tree.GitDir {
		e.Git = oid.ID{}
	}
	st := dirfd.Stat{Mode: e.Mode, Ino: e.Ino, Size: e.Size, Mtime: e.Mtime, Ctime: e.Ctime}
	return Entry{Stat: st, Raw: e.Raw, Git: e.Git, Young: e.Flags&(stattable.Young|stattable.Fresh) != 0}, true
}

func dirEntry(row stattable.Row) Entry {
	h := row.Head()
	return Entry{Stat: dirfd.Stat{Mode: h.Mode, Ino: h.Ino, Mtime: h.Mtime, Ctime: h.Ctime}, Git: h.Tree, Young: h.Flags&stattable.Ambiguous != 0}
}

// row returns the row of a directory as this scan left it.
func (r *Result) row(dir string) (stattable.Row, bool) {
	if row, ok := r.rows[dir]; ok {
		return row, true
	}
	row, number, ok := r.statTable.Row(dir)
	return row, ok && r.seen[number]
}

func find(row stattable.Row, name string) (stattable.Item, bool) {
	for rest := row.Entries(); !rest.Empty(); {
		var e stattable.Entry
		if e, rest = rest.Cut(); e.Name() == name {
			return e.Item(), true
		}
	}
	return stattable.Item{}, false
}

func holdsDir(row stattable.Row, name string) bool {
	it, ok := find(row, name)
	return ok && it.Mode.Type() != tree.Absent && it.Flags&stattable.IsDir != 0
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
	for dir := range r.unsaved {
		drop(dir)
	}
	for number, seen := range r.seen {
		if seen {
			continue
		}
		if dir := r.statTable.Dir(number); r.wasClosed(dir) {
			drop(dir)
		} else {
			removed = append(removed, dir)
		}
	}
	return rows, removed
}

// SaveStatTable writes what the scan saw into the stat table, for the next scan.
// It may be called only when everything the Saver was given is durable in the
// store, with the snapshot that was made of it. If another scan saved
// meanwhile its rows stay; that is no error. The table is closed by it.
func (r *Result) SaveStatTable(store string, snapshot oid.ID) error {
	defer r.statTable.Close()
	changed, removed := r.changed()
	bound := stattable.Binding{Store: store, Snapshot: snapshot, Boot: boot()}
	if len(changed) == 0 && len(removed) == 0 && r.statTable.Bound() == bound {
		return nil
	}
	err := r.statTable.Save(bound, changed, removed)
	if errors.Is(err, stattable.ErrOutdated) {
		return nil
	}
	return err
}
