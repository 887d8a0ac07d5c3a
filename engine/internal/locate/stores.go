package locate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ErrInUse is reported of a store that is not removed: its directory stands, or
// somebody works in it.
var ErrInUse = errors.New("in use")

// The states of a directory that a store is for.
const (
	Stands  = "stands"  // it is where it was
	Gone    = "gone"    // nothing is there
	Another = "another" // another directory is there now
	Unknown = "unknown" // it cannot be told
	Passed  = "passed"  // it is a repository now, whose store has all of this one
)

// A Store is one store of the
type Store struct {
	ID        string // the name of its folder
	Folder    string
	Directory string // of which it has the history; "": not known
	State     string // what became of that
	Bytes     int64  // of the folder's files
	Snapshots int
	Last      time.Time // of the newest snapshot; zero: there is none
	Err       error     // why the store cannot be read; nil: it can

	on *Stores
}

// List lists the stores, by the names of their folders.
func (s *Stores) List(ctx context.Context) ([]Store, error) {
	s.sweep()
	var list []Store
	for _, folder := range s.folders() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, s.look(ctx, folder))
	}
	return list, nil
}

// look reads what there is to know of a store. The store's own record of its
// directory counts, and the note where there is none.
func (s *Stores) look(ctx context.Context, folder string) Store {
	out := Store{ID: filepath.Base(folder), Folder: folder, State: Unknown, on: s}
	entries, err := os.ReadDir(folder)
	out.Err = err
	for _, e := range entries {
		if st, err := e.Info(); err == nil {
			out.Bytes += st.Size()
		}
	}
	n, noted := readNote(folder)
	birth := n.Birth
	out.Directory = string(n.Root)
	w, ids, err := out.read(ctx)
	out.Err = errors.Join(out.Err, err)
	if !noted {
		out.Directory, birth = string(w.Root), w.Birth
	}
	switch out.State = stateOf(out.Directory, birth, n.Inode); {
	case out.State == Stands && s.has(ctx, n.Successor, ids):
		out.State = Passed
	case out.State == Gone && folder != s.folder(out.Directory): // it followed its directory to a path that nobody wrote down yet
		out.State = Unknown
	}
	return out
}

// has reports whether the store that took these snapshots over is there, and has
// them. Somebody may have deleted the repository, or its store, since.
func (s *Stores) has(ctx context.Context, by Successor, ids []oid.ID) bool {
	path := filepath.Join(string(by.Folder), StoreFile)
	if by.ID == "" || s.own(string(by.Folder), path, path+".lock") != nil {
		return false
	}
	db, err := cas.Open(ctx, path, nil)
	if err != nil {
		return false
	}
	defer db.Close()
	all := NameOf(db) == by.ID
	err = db.View(ctx, func(v *cas.View) error {
		in := records.In(v, &records.Owner{Key: "."})
		for _, id := range ids {
			known, err := in.Find(id)
			if all = all && known != nil; err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil && all
}

// NameOf is a store's own random id, as notes and stat tables have it.
func NameOf(s *cas.Store) string {
	id := s.ID()
	return hex.EncodeToString(id[:])
}

func stateOf(dir, birth string, inode uint64) string {
	if dir == "" {
		return Unknown
	}
	_, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone
	case err != nil:
		return Unknown
	case !isDir(dir):
		return Another
	}
	id, ok := identify(dir)
	if ok && birth != "" && (id.Birth != birth || inode != 0 && id.Inode != inode) {
		return Another
	}
	return Stands // also where the system does not tell: better kept than removed
}

// read reads the store's records.
func (st *Store) read(ctx context.Context) (w records.Worktree, ids []oid.ID, err error) {
	db, err := cas.Open(ctx, filepath.Join(st.Folder, StoreFile), &cas.Options{Algorithm: oid.BLAKE3})
	if err != nil {
		return w, nil, err
	}
	defer db.Close()
	err = db.View(ctx, func(v *cas.View) error {
		in := records.In(v, &records.Owner{Key: "."})
		all, err := in.Worktrees()
		if err != nil {
			return err
		}
		w = all["."]
		if _, st.Snapshots, err = in.Count(); err != nil {
			return err
		}
		snaps, err := in.Snapshots()
		for _, s := range snaps {
			if ids = append(ids, s.ID); len(ids) == 1 {
				st.Last = s.Time
			}
		}
		return err
	})
	return w, ids, err
}

// Removable returns why a store is not to be removed, nil if it may be.
func (st *Store) Removable(force bool) error {
	if st.State == Gone || st.State == Passed || force {
		return nil
	}
	return fmt.Errorf("%w: %s has the history of %s, which may still be wanted there (--force removes it all the same)", ErrInUse, st.ID, st.Directory)
}

// removedSuffix ends the name of a folder that is being removed.
const removedSuffix = ".removed"

// Remove removes a store with all its history. Only by force does it so where there
// is anything at the directory's path: it is found by that. First the folder gets a name under which no store is looked for:
// so the store is wholly there or not at all, whatever happens meanwhile.
func (st *Store) Remove(force bool) error {
	if err := st.Removable(force); err != nil {
		return err
	}
	if err := st.on.own(filesOf(st.Folder)...); err != nil {
		return err
	}
	var all []*durable.Held
	for _, name := range []string{LockFile, StoreFile + ".lock"} {
		held, err := durable.TryLock(filepath.Join(st.Folder, name), durable.Exclusive)
		if errors.Is(err, durable.ErrLocked) {
			return fmt.Errorf("%w: another program works in the store %s", ErrInUse, st.ID)
		}
		if err != nil {
			return err
		}
		defer held.Unlock()
		all = append(all, held)
	}
	aside, stamp := st.Folder+removedSuffix, Stamp(st.Folder)
	if err := durable.LetGo(all...); err != nil {
		return err
	}
	if err := setAside(st.Folder, aside, stamp); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}

// Stamp tells the store in a folder from what it is once something was recorded in it; "": there is none.
func Stamp(folder string) string {
	st, err := os.Lstat(filepath.Join(folder, StoreFile))
	if err != nil {
		return ""
	}
	return fmt.Sprint(st.Size(), st.ModTime().UnixNano())
}

// setAside renames the folder of a store. Where locks in it had to be given back for that,
// nobody can have it open while it is renamed; and one in which something was recorded
// since the stamp was taken goes back.
func setAside(folder, aside, stamp string) error {
	if err := durable.Rename(folder, aside); err != nil {
		return err
	}
	if Stamp(aside) == stamp {
		return nil
	}
	return errors.Join(fmt.Errorf("%w: something was recorded in %s meanwhile", ErrInUse, folder), durable.Rename(aside, folder))
}

// sweep removes what a removal left that was interrupted.
func (s *Stores) sweep() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		folder := filepath.Join(s.dir, e.Name())
		if e.IsDir() && strings.HasSuffix(folder, removedSuffix) && s.own(folder) == nil {
			_ = os.RemoveAll(folder)
		}
	}
}
