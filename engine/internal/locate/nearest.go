package locate

import "path/filepath"

// nearest chooses, among dir and the directories above it, the nearest that has a
// store; base, which is one of them, if none has. It returns that, the folder where its store
// is or will be, and where it was when that was last written, "" for here. The store of a directory that was
// renamed is given the folder of its new name. A folder in which anything is
// somebody else's is refused.
func (s *Stores) nearest(dir, base string) (root, folder, from string, err error) {
	root, folder = base, s.folder(base)
	elsewhere := s.finder()
	for at := dir; ; at = filepath.Dir(at) {
		if its := s.folder(at); has(its) {
			root, folder = at, its
			break
		}
		if moved, ok := elsewhere(at); ok {
			root, folder, from = at, s.follow(moved, at), moved.Root
			break
		}
		if at == filepath.Dir(at) || at == base && base != dir {
			break
		}
	}
	return root, folder, from, s.own(openedIn(folder)...)
}
