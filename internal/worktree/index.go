package worktree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// directory returns what the index holds in a directory, nil if nothing. What
// a sparse index holds as one tree is given as if its files were entries, not
// wanted on disk.
func (s *scan) directory(r *realm, path string) (*gitindex.Directory, error) {
	return s.directoryInto(r, path, &gitindex.Directory{})
}

// directoryInto is [scan.directory] into one that the caller has for it.
func (s *scan) directoryInto(r *realm, path string, dir *gitindex.Directory) (*gitindex.Directory, error) {
	if err := s.load(r); err != nil || r.index == nil {
		return nil, err
	}
	id, there, err := s.sparse(r, r.inside(path), dir)
	if err != nil || id.IsZero() && !there {
		return nil, err
	}
	if id.IsZero() {
		return dir, nil
	}
	entries, err := s.objectTree(id)
	if err != nil {
		return nil, err
	}
	*dir = gitindex.Directory{Digest: mixID(1, id)}
	for _, e := range entries {
		if e.Mode.Type() == tree.Dir {
			dir.Dirs = append(dir.Dirs, e.Name)
			continue
		}
		dir.Entries = append(dir.Entries, gitindex.Entry{Name: e.Name, Mode: e.Mode, ID: e.ID, Flags: gitindex.SkipWorktree, Number: -1})
	}
	slices.Sort(dir.Dirs)
	return dir, nil
}

// inIndex says what the index itself has under a name in a directory: a row may know of
// what was there before.
func (s *scan) inIndex(r *realm, path, name string) (k known, t tracked, ok bool, err error) {
	if k.dir, err = s.directory(r, path); err != nil {
		return k, t, false, err
	}
	t, ok = k.file(name)
	return k, t, ok, nil
}

// inside turns a path of the worktree into one of the repository.
func (r *realm) inside(path string) string {
	if r.path == "" {
		return path
	}
	return path[min(len(path), len(r.path)+1):]
}

// sparse returns the tree that stands for a directory in a sparse index, or
// that is a part of such a tree; zero where the index has entries, which it
// reads into dir, or has nothing there.
func (s *scan) sparse(r *realm, path string, dir *gitindex.Directory) (id oid.ID, there bool, err error) {
	if r.index.Read(path, dir) {
		return dir.Sparse, true, nil
	}
	if !r.index.Sparse || path == "" {
		return oid.ID{}, false, nil
	}
	above, name := tree.Split(path)
	id, _, err = s.sparse(r, above, dir)
	if err != nil || id.IsZero() {
		return oid.ID{}, false, err
	}
	entries, err := s.objectTree(id)
	for _, e := range entries {
		if e.Name == name && e.Mode.Type() == tree.Dir {
			return e.ID, false, nil
		}
	}
	return oid.ID{}, false, err
}

// objectTree reads a tree of the repository.
func (s *scan) objectTree(id oid.ID) ([]tree.Entry, error) {
	if s.cfg.Load == nil {
		return nil, fmt.Errorf("tree %v of the sparse index: no objects at hand", id)
	}
	payload, err := s.cfg.Load(oid.Tree, id)
	if err != nil {
		return nil, fmt.Errorf("tree of the sparse index: %w", err)
	}
	entries, err := tree.Decode(payload, s.cfg.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("tree of the sparse index: %w", err)
	}
	return entries, nil
}

// A tracked is what a listing must know of a name that the index has.
type tracked struct {
	mode  tree.Mode       // of the git tree
	id    oid.ID          // an earlier content
	entry *gitindex.Entry // nil if the index was not decoded, or of a conflict
	skip  bool            // not wanted on disk
}

// known is what the index has in one directory: as the index says it, or, if
// the index has not changed, as the row remembers it.
type known struct {
	digest uint64
	dir    *gitindex.Directory
	row    map[string]stattable.Item
	last   int // where the last name was in dir.Entries: they are asked for in order
}

// indexDigest returns the digest of the index entries in a directory, from the
// row if that can be believed.
func (w *worker) indexDigest(n *node) (uint64, error) {
	if w.asked = nil; n.noIndex {
		return 0, nil
	}
	if n.realm.trusted && !n.row.IsZero() {
		return n.row.Head().Index, nil
	}
	dir, err := w.directoryInto(n.realm, n.path, &w.index)
	if err != nil || dir == nil {
		return 0, err
	}
	w.asked = dir
	return dir.Digest, nil
}

// otherwise returns the entry of an index that was written since, if it has another
// id for a file than the row has for git's tree; else nil.
func (w *worker) otherwise(n *node, e stattable.Entry) *gitindex.Entry {
	if w.asked == nil || n.side != inTree || e.Flags()&stattable.Tracked == 0 {
		return nil
	}
	i, ok := slices.BinarySearchFunc(w.asked.Entries, e.Name(), func(x gitindex.Entry, name string) int { return strings.Compare(x.Name, name) })
	if !ok || w.asked.Entries[i].Stage != 0 {
		return nil
	}
	if git := e.Git(); git.IsZero() || git == w.asked.Entries[i].ID {
		return nil
	}
	return &w.asked.Entries[i]
}

// holds reports whether the index has something in a directory. In a submodule of
// a directory whose row hides something that is not known before.
func (w *worker) holds(n *node) bool {
	if n.noIndex || n.gitlink.commit.IsZero() || n.nestedRoot() {
		return !n.noIndex
	}
	dir, err := w.directory(n.realm, n.path)
	return err != nil || dir != nil
}

// knownIn returns what the index has in a directory, until the worker goes on
// to another. Old are the row's entries.
func (w *worker) knownIn(n *node, old map[string]stattable.Item) (k known, err error) {
	if n.noIndex {
		return k, nil
	}
	if n.realm.trusted && !n.row.IsZero() && n.row.Flags()&stattable.Hides == 0 {
		k.digest, k.row = n.row.Head().Index, old
		return k, nil
	}
	if k.dir, err = w.directoryInto(n.realm, n.path, &w.index); k.dir != nil {
		k.digest = k.dir.Digest
	}
	return k, err
}

// file says what the index has under a name that is no directory in it.
func (k *known) file(name string) (tracked, bool) {
	if it, ok := k.row[name]; ok && it.Flags&stattable.Tracked != 0 && (it.Flags&stattable.IsDir == 0 || it.GitMode == tree.GitLink) {
		return tracked{mode: it.GitMode, id: it.Git, skip: it.Flags&stattable.AbsentNow != 0 && !it.Git.IsZero()}, true
	}
	first, end := k.entries(name)
	if first == end {
		return tracked{}, false
	}
	at := first
	for i := first; i < end; i++ { // of a conflict "ours" counts, as for git
		if k.dir.Entries[i].Stage == 2 {
			at = i
			break
		}
	}
	return trackedBy(&k.dir.Entries[at]), true
}

// content returns the id of what git reads, whatever its mode, where it wants a
// file's content from the index: of a conflict only our side. It is zero if there
// is nothing to be read.
func (k *known) content(name string) oid.ID {
	first, end := k.entries(name)
	for i := first; i < end; i++ {
		e := &k.dir.Entries[i]
		if (e.Stage == 0 || e.Stage == 2) && e.Mode != tree.GitLink && e.Flags&gitindex.IntentToAdd == 0 {
			return e.ID
		}
	}
	return oid.ID{}
}

// entries returns which entries of the index have a name.
func (k *known) entries(name string) (first, end int) {
	if k.dir == nil {
		return 0, 0
	}
	all, i := k.dir.Entries, k.last
	for i < len(all) && all[i].Name < name {
		i++
	}
	if i == k.last && i > 0 && name <= all[i-1].Name { // it comes out of order
		i, _ = slices.BinarySearchFunc(all, name, func(e gitindex.Entry, name string) int { return strings.Compare(e.Name, name) })
	}
	k.last = i
	for end = i; end < len(all) && all[end].Name == name; end++ {
	}
	return i, end
}

func trackedBy(e *gitindex.Entry) tracked {
	t := tracked{mode: e.Mode, id: e.ID}
	if e.Stage == 0 {
		t.entry = e
		t.skip = e.Flags&gitindex.SkipWorktree != 0 && e.Flags&gitindex.IntentToAdd == 0
	}
	return t
}

// unwanted: git's tree has the entry though it is not on disk.
func (t *tracked) unwanted() bool { return t.skip }

// settled: git's tree has the entry as long as git add leaves it alone.
func (t *tracked) settled() bool {
	return t.entry != nil && t.entry.Flags&gitindex.IntentToAdd == 0
}

// holds reports whether the index has something below a subdirectory.
func (k *known) holds(name string) bool {
	if it, ok := k.row[name]; ok && it.Flags&stattable.Tracked != 0 && it.Flags&stattable.IsDir != 0 && it.GitMode != tree.GitLink {
		return true
	}
	_, found := k.subdirectory(name)
	return found
}

// subdirectory returns which of the index's subdirectories has a name.
func (k *known) subdirectory(name string) (at int, found bool) {
	if k.dir == nil || len(k.dir.Dirs) == 0 {
		return 0, false
	}
	return slices.BinarySearch(k.dir.Dirs, name)
}

// names are all names that the index has in the directory.
func (k *known) names() []string {
	var out []string
	for name, it := range k.row {
		if it.Flags&stattable.Tracked != 0 {
			out = append(out, name)
		}
	}
	if k.dir != nil {
		for i := range k.dir.Entries {
			out = append(out, k.dir.Entries[i].Name)
		}
		out = append(out, k.dir.Dirs...)
	}
	return out
}

// absentTree makes the git tree of a directory of the index, of the entries that
// stay in it. It is zero if that is nothing.
func (w *worker) absentTree(r *realm, path string, stays func(*tracked) bool) (oid.ID, error) {
	if err := w.load(r); err != nil || r.index == nil {
		return oid.ID{}, err
	}
	dir := &gitindex.Directory{}
	if id, there, err := w.sparse(r, r.inside(path), dir); err != nil || !id.IsZero() || !there {
		return id, err
	}
	var entries []tree.Entry
	for i := range dir.Entries {
		if t := trackedBy(&dir.Entries[i]); stays(&t) {
			entries = append(entries, tree.Entry{Name: dir.Entries[i].Name, Mode: t.mode, ID: t.id})
		}
	}
	for _, name := range dir.Dirs {
		id, err := w.absentTree(r, tree.Join(path, name), stays)
		if err != nil {
			return oid.ID{}, err
		}
		if !id.IsZero() {
			entries = append(entries, tree.Entry{Name: name, Mode: tree.GitDir, ID: id})
		}
	}
	return w.saveTree(entries, oid.ID{})
}
