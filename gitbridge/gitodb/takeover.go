package gitodb

import (
	"errors"
	"os"
	"slices"
)

// To open and map a pack costs more than all that a small change asks of it. Who opens
// a database again and again therefore hands the open files on. That never decides what
// is in the database: alternates are read and packs are listed as if nothing had been
// open, and a file is used only if the one of its name is still the same, unchanged. So
// is the list of links, as long as the directory shows no change.

// TakeOver takes what another database has open, which from now on may only be closed.
// It is called before the first question.
func (d *DB) TakeOver(from *DB) {
	if from.alg != d.alg {
		return
	}
	d.taken = map[string][]*pack{}
	for _, s := range from.all() {
		d.taken[s.dir] = s.give()
	}
	from.links.Lock()
	defer from.links.Unlock()
	if d.dir == from.dir && lasting(d.dir) {
		d.links.paths, d.links.at = from.links.paths, from.links.at
	}
}

// give returns the packs with files that another database may use, and lists them no
// more.
func (s *source) give() (list []*pack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, s.taken = s.taken, nil
	l := s.packs.Swap(nil)
	s.recent.Store(nil)
	if l == nil {
		return list
	}
	for _, p := range *l {
		if x := p.opened(); x != nil && x.at != (stamp{}) {
			list = append(list, p)
		} else {
			s.retired = append(s.retired, p)
		}
	}
	return list
}

// opened returns the index of a pack if it is open; if not, it will not be opened.
func (p *pack) opened() *index {
	p.once.Do(func() {})
	return p.index
}

// adopt gives a new pack what was taken over, where that is its files as they are now.
func (s *source) adopt(p *pack) {
	i := slices.IndexFunc(s.taken, func(old *pack) bool { return old.path == p.path })
	if i < 0 {
		return
	}
	old := s.taken[i]
	old.mu.Lock()
	defer old.mu.Unlock()
	x := old.opened()
	if !isStill(p.path+".idx", x.at) {
		return
	}
	p.once.Do(func() { p.index, old.index = x, nil })
	if old.file != nil && isStill(p.path+".pack", old.at) {
		p.file, p.size, p.at, p.data, p.unmap = old.file, old.size, old.at, old.data, old.unmap
		old.file, old.data, old.unmap = nil, nil, nil
	}
}

// isStill reports whether a path leads to the very file that had a stamp when it was
// opened.
func isStill(path string, at stamp) bool {
	if at == (stamp{}) {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && stampIn(st) == at
}

// dropTaken closes what was taken over and not adopted.
func (s *source) dropTaken() error { return closeAll(&s.taken) }

func (d *DB) dropTaken() error {
	var errs []error
	for dir, list := range d.taken {
		errs = append(errs, closeAll(&list))
		delete(d.taken, dir)
	}
	return errors.Join(errs...)
}

func closeAll(list *[]*pack) error {
	var errs []error
	for _, p := range *list {
		errs = append(errs, p.close())
	}
	*list = nil
	return errors.Join(errs...)
}
