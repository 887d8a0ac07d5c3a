package locate

import "path/filepath"

// A Home is a directory without git, and where its store lies.
type Home struct {
	Root   string // the directory
	Folder string // where its store is, or will be
	From   string // where the directory was when its store was last written; "": here
}

// nearest chooses, among dir and the directories above it, the nearest that has a
// store; base, which is one of them, if none has. The store of a directory that was
// renamed is given the folder of its new name. A folder in which anything is
// somebody else's is refused.
func (s *Stores) nearest(dir, base string) (Home, error) {
	home := Home{Root: base, Folder: s.folder(base)}
	elsewhere := s.finder()
	for at := dir; ; at = filepath.Dir(at) {
		if folder := s.folder(at); has(folder) {
			home.Root, home.Folder = at, folder
			break
		}
		if moved, ok := elsewhere(at); ok {
			home = Home{at, s.follow(moved, at), moved.Root}
			break
		}
		if at == filepath.Dir(at) || at == base && base != dir {
			break
		}
	}
	return home, s.own(openedIn(home.Folder)...)
}
