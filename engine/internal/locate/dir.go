package locate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// The files in a store's folder.
const (
	StoreFile     = "store.db"
	StatTableFile = "stat.db"
	LockFile      = "operation.lock" // held while files of the worktree are changed
	noteFile      = "directory"      // the note
)

// noteBytesMax bounds what is read of a note. No path is longer than a part of it.
const noteBytesMax = 1 << 16

// Stores is the directory in which the stores of directories without git lie, below the
// user's state directory: each in a folder of its own, named after the directory's path.
//
// A note in each folder says which directory the store is for: where it was, and
// what tells it from any other. So a directory that was renamed finds its store
// again (docs/decisions/0015-stores.md). The notes say nothing that counts by
// itself: a store that a note leads to is asked before it is taken.
//
// Nothing of another user's is opened, moved or removed.
type Stores struct {
	dir   string
	judge trust.Judge
}

// OpenStores returns the directory of the user's stores, which need not be there yet. One that is somebody
// else's is refused: nothing is left to fall back on.
func OpenStores(env func(string) string) (*Stores, error) {
	s := &Stores{judge: trust.Judge{Env: env}}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		home = env("USERPROFILE")
	}
	switch d := env("XDG_STATE_HOME"); {
	case filepath.IsAbs(d):
		s.dir = filepath.Join(d, "rewind")
	case home == "":
		return nil, errors.New("neither XDG_STATE_HOME nor HOME says where to keep the store: set HOME to your home directory")
	default:
		s.dir = filepath.Join(home, ".local", "state", "rewind")
	}
	return s, s.own(s.dir)
}

// Dir returns the directory, which need not be there.
func (s *Stores) Dir() string { return s.dir }

// own returns nil if all the paths are the user's own, and refuses one that is not.
func (s *Stores) own(paths ...string) error {
	err := s.judge.Owns("", paths...)
	if f := (*trust.Foreign)(nil); errors.As(err, &f) {
		return fmt.Errorf("%w: a state directory is not yours: %w: set XDG_STATE_HOME to a directory of yours (or, if it ought to be yours, \"sudo chown -R %s %s\")", records.ErrRefused, f, trust.Self(), f.Path)
	}
	return nil
}

// folder names the folder of a directory's store: readable, and unique by a hash of
// the real path.
func (s *Stores) folder(root string) string {
	sum := oid.BLAKE3.Sum(oid.Blob, []byte(root)).String()
	return filepath.Join(s.dir, readable(filepath.Base(root))+"-"+sum[:16])
}

func readable(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return r
		}
		return '_'
	}, s)
	return clean[:min(len(clean), 40)]
}

// has reports whether there is a store in a folder.
func has(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, StoreFile))
	return err == nil
}

// An identity tells a directory from others.
type identity struct {
	Birth string `json:"birth"` // dirfd.Birth
	Inode uint64 `json:"inode"` // two that are made in one moment have the same time
}

// A note says for which directory a store is.
type note struct {
	Root records.Path `json:"root"` // where it was
	identity
	Apart     bool      `json:"apart,omitempty"`    // somebody wanted it beside git
	Successor Successor `json:"successor,omitzero"` // took all of it over; zero: nobody did
}

// A Successor is the store of the repository that a directory became. A repository that
// lost its store, or was made anew, has another one.
type Successor struct {
	Folder records.Path `json:"folder"`
	ID     string       `json:"id"` // the store's own
}

// identify looks at a directory. Not ok: it is not there, or what the system tells
// is too little to know it again: an inode alone is given to another directory.
func identify(dir string) (id identity, ok bool) {
	birth, err := dirfd.Birth(dir)
	if err != nil || !strings.HasPrefix(birth, "born ") {
		return id, false
	}
	st, err := dirfd.StatDir(dir)
	return identity{birth, st.Ino}, err == nil && st.Ino != 0
}

// Note writes down for which directory a folder's store is, which is about to be
// written to. Apart: it is to stay beside git, now and later.
func Note(folder, root string, apart bool) error {
	id, ok := identify(root)
	if !ok {
		return nil // nobody would know it again
	}
	now, _ := readNote(folder)
	want := note{Root: records.Path(root), identity: id, Apart: apart || now.Apart}
	if now == want {
		return nil
	}
	return want.write(folder)
}

func (n note) write(folder string) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(folder, noteFile), append(text, '\n'), 0o600)
}

func readNote(folder string) (n note, ok bool) {
	text, err := durable.ReadFile(filepath.Join(folder, noteFile), noteBytesMax)
	return n, err == nil && json.Unmarshal(text, &n) == nil && n.Birth != "" && n.Inode != 0
}

// folders lists the folders that have a store and are the user's own.
func (s *Stores) folders() (list []string) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		folder := filepath.Join(s.dir, e.Name())
		if e.IsDir() && !strings.HasSuffix(folder, removedSuffix) && has(folder) && s.own(filesOf(folder)...) == nil {
			list = append(list, folder)
		}
	}
	return list
}

// filesOf lists what must be the user's own in a folder before it is moved.
func filesOf(folder string) []string {
	return append(openedIn(folder), filepath.Join(folder, noteFile))
}

// openedIn lists what must be the user's own before the store in a folder is opened:
// the folder, and files in it.
func openedIn(folder string) []string {
	list := []string{folder}
	for _, name := range []string{StoreFile, StoreFile + ".lock", StatTableFile, LockFile} {
		list = append(list, filepath.Join(folder, name))
	}
	return list
}

// Before returns the folder of the store that the directory had before there was a
// repository in it, "" if there is none: the note names this very directory, nobody
// wanted the store beside git, and the repository's store is not known to have all
// that is in it. Fresh says that this one has nothing yet; then the directory may have
// had another name too.
func (s *Stores) Before(root string, by Successor, fresh bool) string {
	folder := s.folder(root)
	if !has(folder) {
		if !fresh {
			return ""
		}
		moved, ok := s.finder()(root)
		if !ok {
			return ""
		}
		folder = moved.Folder
	}
	id, known := identify(root)
	n, noted := readNote(folder)
	if !known || !noted || n.identity != id || n.Apart || n.Successor == by && !fresh || s.own(filesOf(folder)...) != nil {
		return ""
	}
	return folder
}

// NoteTaken notes that a repository's store has all that is in a folder's.
func NoteTaken(folder string, by Successor) error {
	n, ok := readNote(folder)
	if !ok {
		return nil
	}
	n.Successor = by
	return n.write(folder)
}

// TakenOver returns the id of a store of this directory of which a repository's store
// took over all, "" if there is none.
func (s *Stores) TakenOver(root string) string {
	folder := s.folder(root)
	if n, ok := readNote(folder); ok && n.Successor != (Successor{}) && has(folder) {
		return filepath.Base(folder)
	}
	return ""
}

// A lost is a store of a directory that was somewhere else.
type lost struct {
	Folder string
	Root   string // where the directory was
	id     identity
}

// finder returns a function that finds the store of a directory which had another
// name when it was recorded. The notes are read at the first question.
//
// The note names this very directory, by birth and inode, and it is not where it
// was any more: a copy, which an image of a disk makes of everything, leaves the
// original where it is. Where two stores would do, none does.
func (s *Stores) finder() func(dir string) (lost, bool) {
	var all []lost
	read := false
	return func(dir string) (found lost, ok bool) {
		id, known := identify(dir)
		if !known {
			return found, false
		}
		if !read {
			read = true
			for _, folder := range s.folders() {
				if n, ok := readNote(folder); ok {
					all = append(all, lost{folder, string(n.Root), n.identity})
				}
			}
		}
		for _, l := range all {
			if l.id != id || l.Root != dir && !left(l.Root, id) {
				continue
			}
			if ok {
				return lost{}, false
			}
			found, ok = l, true
		}
		return found, ok
	}
}

// left reports whether a directory is certainly not at a path any more.
func left(path string, id identity) bool {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !isDir(path) {
		return true
	} else if err != nil {
		return false
	}
	now, ok := identify(path)
	return ok && now != id
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// follow gives a store the folder that its directory has by its new name. The
// folder is renamed, which happens wholly or not at all, and its note gets the new
// path: by that people are asked whether they need the history. Where it cannot be renamed now,
// because somebody works in it or it may not be written there, it stays as it is.
// follow returns where the store is.
func (s *Stores) follow(l lost, dir string) (folder string) {
	to := s.folder(dir)
	s.rename(l.Folder, to, dir)
	if has(to) {
		return to // also if another process was first
	}
	return l.Folder
}

func (s *Stores) rename(from, to, dir string) {
	held, err := durable.TryLock(filepath.Join(from, LockFile), durable.Exclusive)
	if err != nil {
		return
	}
	defer held.Unlock()
	if s.own(filesOf(to)...) != nil || has(to) {
		return
	}
	for _, path := range filesOf(to)[1:] { // what a command that recorded nothing left
		_ = durable.Remove(path)
	}
	_ = os.Remove(to)
	if durable.Rename(from, to) != nil {
		return
	}
	if n, ok := readNote(to); ok {
		n.Root = records.Path(dir)
		_ = n.write(to) // else the next one that records does it; see look
	}
}
