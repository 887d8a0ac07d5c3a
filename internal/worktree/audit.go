package worktree

import (
	"path"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Difference is a name that is not as a row has it.
type Difference struct {
	Dir, Name string // without a name: the directory itself

	// Slight says that only the time of change differs. That is no write: a name
	// was added to the file elsewhere, which nobody is told, or a flag was set.
	Slight bool
}

// Audit compares a directory of a table in memory, by its number, with the disk. Root is
// the worktree's. What every scan looks at anyway is left out, as is what lies below.
func Audit(t *stattable.Table, root *dirfd.Dir, number int) (all []Difference) {
	dir, ok := t.Dir(number)
	if !ok {
		return nil
	}
	row, _, _ := t.Row(dir)
	if row.Flags()&(stattable.Ambiguous|stattable.Retry|stattable.Dropped) != 0 {
		return nil // every scan lists it, with all in it
	}
	at := root
	if dir != "" {
		var err error
		if at, err = root.OpenDir(dir); err != nil {
			return []Difference{{Dir: tree.Parent(dir), Name: path.Base(dir)}}
		}
		defer at.Close()
	}
	st, err := at.Stat()
	if err != nil || !row.SameDir(&st) {
		h := row.Head()
		slight := err == nil && h.Mode == st.Mode && h.Ino == st.Ino && h.Mtime == st.Mtime
		all = append(all, Difference{Dir: dir, Slight: slight})
	}
	for _, e := range row.Entries() {
		if e.Flags()&(stattable.IsDir|stattable.AbsentNow|stattable.AlwaysLook) != 0 {
			continue
		}
		if err := at.LstatRaw(e.CName(), &st); err != nil || !e.Same(&st) {
			it := e.Item()
			slight := err == nil && it.Mode == st.Mode && it.Ino == st.Ino && it.Size == st.Size && it.Mtime == st.Mtime
			all = append(all, Difference{Dir: dir, Name: it.Name, Slight: slight})
		}
	}
	return all
}
