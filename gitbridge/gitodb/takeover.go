package gitodb

import "os"

// To open and map a pack costs more than all that a small change asks of it. Who opens
// a database again and again therefore hands the open files on. That never decides what
// is in the database: alternates are read and packs are listed as if nothing had been
// open, and a pack is kept only if its files are still those that were opened.

// TakeOver takes what another database has open, which from now on may only be closed.
// It is called before the first question.
func (d *DB) TakeOver(from *DB) {
	if from.alg != d.alg {
		return
	}
	d.taken = map[string]*source{}
	for _, s := range from.all() {
		_ = s.closeRetired() // nobody reads them any more
		d.taken[s.dir] = s
	}
	from.sources = nil
	if from.dir == d.dir {
		d.listed.at, d.listed.names = from.listed.at, from.listed.names
	}
}

// isStill reports whether the index of a pack is open, and its name still leads to it; so
// must that of the pack, if that is open too. Its time is its age, which others set.
func (p *pack) isStill() bool {
	x := p.index
	if x == nil || x.file == nil {
		return false
	}
	st, err := os.Stat(p.path + ".idx")
	if err != nil || !os.SameFile(st, x.file) || st.Size() != x.file.Size() || !st.ModTime().Equal(x.file.ModTime()) {
		return false
	}
	if p.file == nil {
		return true
	}
	st, err = os.Stat(p.path + ".pack")
	return err == nil && os.SameFile(st, p.info) && st.Size() == p.info.Size()
}
