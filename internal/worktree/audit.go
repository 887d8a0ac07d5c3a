package worktree

import (
	"path"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// A Difference is a name that is not as a base has it.
type Difference struct {
	Dir, Name string // without a name: the directory itself

	// Slight says that only the time of change differs. That is no write: a name
	// was added to the file elsewhere, which nobody is told, or a flag was set.
	Slight bool
}

// Numbers is above the number of each directory of the base.
func (b *Base) Numbers() int { return b.table.Len() }

// Audit compares a directory of the base, by its number, with the disk. Root is the
// worktree's. What every scan looks at anyway is left out, as is what lies below.
func (b *Base) Audit(root *dirfd.Dir, number int) (all []Difference) {
	dir, ok := b.table.Dir(number)
	if !ok {
		return nil
	}
	row, _, _ := b.table.Row(dir)
	if row.Flags()&(stattable.Ambiguous|stattable.Retry|stattable.Dropped) != 0 {
		return nil // every scan lists it, with all in it
	}
	at := root
	if dir != "" {
		var err error
		if at, err = root.OpenDir(dir); err != nil {
			return []Difference{{Dir: dirfd.Parent(dir), Name: path.Base(dir)}}
		}
		defer at.Close()
	}
	st, err := at.Stat()
	if err != nil || !row.SameDir(&st) {
		h := row.Head()
		slight := err == nil && h.Mode == st.Mode && h.Ino == st.Ino && h.Mtime == st.Mtime
		all = append(all, Difference{Dir: dir, Slight: slight})
	}
	for rest := row.Entries(); !rest.Empty(); {
		var e stattable.Entry
		e, rest = rest.Cut()
		if e.Flags()&(stattable.IsDir|stattable.AbsentNow|alwaysLook) != 0 {
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

// Covers reports whether a scan of these candidates looks at what differs.
func (c *Candidates) Covers(d Difference) bool {
	names, all := c.in(d.Dir)
	return all || names[d.Name] || d.Name == "" && c.above[d.Dir] || c.isBelow(path.Join(d.Dir, d.Name))
}
