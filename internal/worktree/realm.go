package worktree

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
)

// A realm is the part of the worktree that one repository rules: all of it, or
// a nested repository.
type realm struct {
	repo       *Repo
	path       string // of its root
	ignores    *ignore.Chain
	attributes *attr.Chain
	clean      *attr.Config
	plain      bool // without an attribute nothing is converted
	unlike     bool // a filter that is not in force now may have made an index entry as long as its file, and unlike it

	key     uint64 // of the index file; 0 if it may change without a trace
	trusted bool   // the rows' index digests were made from this very file

	once      sync.Once
	index     *gitindex.Index
	err       error
	sizes     []int64     // of the contents of the index's entries; nil if they are asked for singly
	allWanted atomic.Bool // no entry is marked skip-worktree, as far as is known
}

// enterRealm makes a directory the root of a repository's realm.
func (s *scan) enterRealm(n *node, repo *Repo) error {
	r := &realm{repo: repo, path: n.path, ignores: repo.Ignore, attributes: repo.Attr, clean: repo.Clean}
	if r.ignores == nil {
		r.ignores = ignore.NewChain()
	}
	if r.attributes == nil {
		r.attributes = attr.NewChain(nil)
	}
	if r.clean == nil {
		r.clean = &attr.Config{}
	}
	r.plain, r.unlike = r.clean.Conversion(attr.Attrs{}).Identity(), r.clean.KeepsLength()
	n.realm, n.noIndex = r, repo.Index == nil
	n.row = s.row(n)
	if !s.young(&repo.IndexStat) {
		r.key = indexKey(&repo.IndexStat)
	}
	r.trusted = !n.row.IsZero() && r.key != 0 && n.row.Head().IndexKey == r.key
	r.allWanted.Store(r.trusted && n.row.Flags()&stattable.AllWanted != 0)
	n.nested = n.parent != nil
	if n.nested {
		n.side = min(n.side, asGitlink)
	}
	n.barred = n.ignored && !n.all
	n.ignored, n.all = false, n.all && !n.nested
	n.full = notFull // its own index says what is known in it
	n.rules, n.attrs = s.rulesDigest(r), s.attrsDigest(r)
	n.settle()
	return nil
}

// row returns what the table knows of a directory, if it may be believed.
func (s *scan) row(n *node) stattable.Row {
	row, number, ok := s.cfg.StatTable.Row(n.path)
	if !ok {
		return stattable.Row{}
	}
	if n.rowNumber = number; s.seen != nil {
		s.seen[number] = true
	}
	return row
}

func indexKey(st *dirfd.Stat) uint64 {
	h := mixString(uint64(st.Mode), boot())
	for _, v := range []uint64{st.Ino, uint64(st.Size), uint64(st.Mtime), uint64(st.Ctime)} {
		h = mix(h, v)
	}
	return max(h, 1)
}

// rulesDigest covers everything outside the tree that decides what is recorded
// and how, besides conversions.
func (s *scan) rulesDigest(r *realm) uint64 {
	set := &s.cfg.Settings
	h := mix(TreeFunction, uint64(s.cfg.Umask))
	h = mix(h, uint64(s.cfg.Algorithm))
	h = mixString(h, fmt.Sprint(set.NoFileMode, set.NoSymlinks, set.FoldCase, set.AllowNTFS, set.ProtectHFS, set.Compose != nil))
	if s.cfg.Policy != nil {
		h = mix(h, s.cfg.Policy.Digest())
	}
	for _, path := range slices.Sorted(maps.Keys(s.cfg.Leave)) {
		h = mixString(h, path)
	}
	if readers := s.cfg.Readers.Digest(); readers != "" {
		h = mixString(h, fmt.Sprint(readers, s.cfg.Private))
	}
	return mix(h, r.ignores.Digest())
}

// attrsDigest covers everything outside the tree that decides on conversions.
func (s *scan) attrsDigest(r *realm) uint64 {
	h := mixString(r.attributes.Digest(), fmt.Sprintf("%+v", *r.clean))
	if s.cfg.Filter != nil {
		h++
	}
	if r.repo.Cone != nil {
		h = mix(h, r.repo.Cone.Digest())
	}
	if !r.repo.AttrTree.IsZero() {
		h = mixID(h, r.repo.AttrTree)
	}
	return h
}

// load decodes the index, once. Where nothing is known of the worktree yet, the
// sizes of all contents will be needed: together they cost far less.
func (s *scan) load(r *realm) error {
	r.once.Do(func() {
		if r.repo.Index != nil {
			r.index, r.err = r.repo.Index()
		}
		if r.index == nil {
			return
		}
		r.allWanted.Store(!r.index.Skips)
		if s.cfg.Sizes != nil && r.path == "" && s.cfg.StatTable.Len() == 0 {
			r.sizes = make([]int64, r.index.Len())
			s.cfg.Sizes(len(r.sizes), r.index.Content, r.sizes)
		}
	})
	return r.err
}

// size returns the size of the content that the index has for a file.
func (s *scan) size(r *realm, e *gitindex.Entry) (int64, bool) {
	if s.cfg.Sizes == nil {
		return 0, false
	}
	if r.sizes != nil && e.Number >= 0 {
		n := r.sizes[e.Number]
		return n, n >= 0
	}
	return s.sizeOf(e.ID)
}

// sizeOf asks for the size of one content of git.
func (s *scan) sizeOf(id oid.ID) (int64, bool) {
	if s.cfg.Sizes == nil {
		return 0, false
	}
	var one [1]int64
	s.cfg.Sizes(1, func(int) []byte { return id.Bytes() }, one[:])
	return one[0], one[0] >= 0
}

// wantsAll reports whether nothing in the index is left out of the disk on
// purpose. As long as that is known, a name that the index has and the disk
// has not is simply deleted.
func (r *realm) wantsAll() bool { return r.repo.Index == nil || r.allWanted.Load() }
