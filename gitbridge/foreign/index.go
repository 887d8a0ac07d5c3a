package foreign

import (
	"fmt"
	"path"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An indexTree is an index as a tree, as "git write-tree" makes it.
type indexTree struct {
	repo    *gitbridge.Repo
	tree    oid.ID
	objects []gitbridge.Loose // trees that git lacks, a tree after those in it
	made    map[oid.ID][]byte
}

// newIndexTree makes the tree of an index; nil is one without entries.
func newIndexTree(repo *gitbridge.Repo, index *gitindex.Index) (x *indexTree, err error) {
	x = &indexTree{repo: repo, made: map[oid.ID][]byte{}}
	if index == nil {
		x.tree, err = x.encode(nil)
	} else {
		x.tree, err = x.dir(index, "")
	}
	return x, err
}

func (x *indexTree) dir(index *gitindex.Index, at string) (oid.ID, error) {
	d := index.Dir(at)
	if d == nil {
		return x.encode(nil)
	}
	if !d.Sparse.IsZero() {
		return d.Sparse, nil
	}
	var entries []tree.Entry
	for _, e := range d.Entries {
		if e.Stage != 0 {
			return oid.ID{}, fmt.Errorf("%w: %q is unmerged in the index", ErrCannotWrite, path.Join(at, e.Name))
		}
		if e.Flags&gitindex.IntentToAdd == 0 {
			entries = append(entries, tree.Entry{Name: e.Name, Mode: e.Mode, ID: e.ID})
		}
	}
	for _, name := range d.Dirs {
		id, err := x.dir(index, path.Join(at, name))
		if err != nil {
			return oid.ID{}, err
		}
		if id != x.repo.Algorithm().Sum(oid.Tree, nil) { // it has more than intentions to add
			entries = append(entries, tree.Entry{Name: name, Mode: tree.GitDir, ID: id})
		}
	}
	return x.encode(entries)
}

// encode makes a tree object.
func (x *indexTree) encode(entries []tree.Entry) (oid.ID, error) {
	tree.Sort(entries)
	payload := tree.Encode(entries, x.repo.Algorithm())
	id := x.repo.Algorithm().Sum(oid.Tree, payload)
	if _, twice := x.made[id]; !twice {
		x.made[id] = payload
		if !x.repo.Has(id) {
			x.objects = append(x.objects, gitbridge.Loose{Kind: oid.Tree, Payload: payload})
		}
	}
	return id, nil
}

// added returns the files that a tree has and the index has not.
func (x *indexTree) added(worktree oid.ID) (paths []string, err error) {
	load := func(id oid.ID, _ ...oid.ID) ([]byte, error) {
		if p, ok := x.made[id]; ok {
			return p, nil
		}
		if id == x.repo.Algorithm().Sum(oid.Tree, nil) {
			return nil, nil
		}
		kind, p, err := x.repo.Read(id)
		if err == nil && kind != oid.Tree {
			err = fmt.Errorf("%v: %w: it is a %v", id, gitbridge.ErrMalformed, kind)
		}
		return p, err
	}
	for c, err := range tree.Diff(tree.State{Tree: x.tree}, tree.State{Tree: worktree}, x.repo.Algorithm(), load) {
		if err != nil {
			return nil, err
		}
		if c.From.Mode == 0 && !c.To.Mode.IsDir() {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}
