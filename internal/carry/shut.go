package carry

import (
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A shut says which users, as bits of permissions, cannot come into a directory, because
// of itself or of one above it: where things are taken from, and where they are taken to.
type shut struct{ from, to tree.Mode }

// shutOut are the permissions of those users that may not enter a directory.
func shutOut(dir tree.Mode) (m tree.Mode) {
	if dir&0o010 == 0 {
		m |= 0o070
	}
	if dir&0o001 == 0 {
		m |= 0o007
	}
	return m
}

// shutRoots notes who may come into the two directories.
func (p *putter) shutRoots() error {
	from, err := p.from.Stat()
	if err != nil {
		return err
	}
	to, err := p.to.Stat()
	p.shut[""] = shut{shutOut(from.Mode), shutOut(to.Mode)}
	return err
}

// enter notes who may come into a directory, by its modes here and there.
func (p *putter) enter(at string, from, to tree.Mode) {
	above := p.shut[dirfd.Parent(at)]
	p.shut[at] = shut{above.from | shutOut(from), above.to | shutOut(to)}
}

// keepShut takes from a mode what it would allow users that a directory keeps out here,
// and that the same directory lets in there: it may have been closed since the snapshot.
func (p *putter) keepShut(dir string, m tree.Mode) tree.Mode {
	s := p.shut[dir]
	return m &^ (s.from &^ s.to)
}
