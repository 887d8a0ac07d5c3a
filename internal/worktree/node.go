package worktree

import (
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/internal/attr"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/ignore"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/stattable"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A node is one directory in a scan. One worker visits it; the worker that
// finishes the last of its subdirectories finishes it.
type node struct {
	parent     *node
	depth      int
	levels     levels // of the scan
	path, name string
	realm      *realm
	inherited

	was       stattable.Entry // what the row of the parent says; none if the parent was listed
	gitlink   gitlink         // what the git tree has in its place; zero if it has the directory
	held      bool            // the index has it, as a gitlink or for what lies in it
	row       stattable.Row   // of the last scan; zero if there is none
	rowNumber int
	contents  *contents // nil as long as the row holds
	gone      *absence  // it is not recorded; nil if it is
	asked     bool      // its ".git" was resolved
	barred    bool      // the rules around the repository that it is ignore it

	rulesOut, attrsOut uint64 // digests for its subdirectories
	ignoreFile         ruleFile
	attrFile           ruleFile
	ignoring           sync.Once // guards the ignore rules, see [worker.ignoring]
	attributing        sync.Once // and the attributes
	ignores            *ignore.Chain
	attributes         *attr.Chain
	attrDir            oid.ID // this directory in the tree of attributes; zero if there is none

	pending atomic.Int32 // subdirectories not yet finished, and 1 for the visit itself
	mu      sync.Mutex
	reports []report // of subdirectories, where they are news

	mode          tree.Mode
	tree, overlay oid.ID // when finished
}

// A gitlink is the entry that a git tree has in the place of a repository.
type gitlink struct {
	commit   oid.ID // zero: there is no link
	headed   bool   // it is the commit that the repository was on, not the index's
	conflict bool   // the index has it in a conflict, at which git add fails
	instead  oid.ID // the commit that is there instead of a git tree without entries
}

// An absence says of a directory that it is not recorded.
type absence struct {
	note  stattable.Note  // why, if that is to be named
	stays *stattable.Item // what git's tree has of it all the same; nil if nothing
}

// A side is where a directory may be in git. The order counts: what is around a
// directory allows it so much and no more.
type side uint8

const (
	outside   side = iota // nowhere: neither it nor what is in it
	asGitlink             // as a gitlink: what is in it is in the overlay
	inTree                // in the tree, with what is in it
)

// A fullness says whether there are too many files that the index does not know.
type fullness uint8

const (
	notFull   fullness = iota
	fullAbove          // in a directory above it
	fullHere           // in it; then in none above
)

// inherited is what a directory is told by the one above it. All of it is part
// of the digest that a row is bound to, except what the index digest covers.
type inherited struct {
	rules, attrs uint64 // digests of what is in force
	side         side
	full         fullness // if so: take what the index has, not the rest
	ignored      bool     // it is here in spite of the rules: take what is named, not the rest
	all          bool     // it was named itself: take everything
	buried       bool     // and it is, or is in, an ignored directory
	nested       bool     // it is, or is in, a nested repository
	noIndex      bool     // the index has nothing in it
	reach        reach    // of what is done about small ignored files
	private      bool     // one who may read git's objects cannot enter a directory above it; after the visit: or it
}

func (h *inherited) digest() uint64 {
	var flags uint64
	for i, set := range []bool{h.side == inTree, h.ignored, h.all, h.nested, h.full == fullAbove, h.private, h.reach < measured, h.reach < taken} {
		if set {
			flags |= 1 << i
		}
	}
	return mix(h.rules, flags)
}

// contents is what a directory holds itself, when its row does not say it.
type contents struct {
	head   stattable.Head
	items  []stattable.Item
	notes  []stattable.Note
	listed bool // it was listed afresh: the items have no subdirectory that reports
}

// A report tells a directory of one of its subdirectories.
type report struct {
	item stattable.Item // if it is gone: what stays of it, or its name
	gone *absence
}

// A ruleFile says where the rules of a directory's own file are.
type ruleFile struct {
	onDisk  bool
	refused bool   // its rules are too much to count
	id      oid.ID // in the index only; after reading: of the bytes that are in force
}

// child makes the node of a subdirectory, with a copy of the name. The caller
// fills in what is special.
func (n *node) child(name string) *node {
	c := &node{parent: n, path: tree.Join(n.path, name), realm: n.realm, depth: n.depth + 1, levels: n.levels}
	c.name = c.path[len(c.path)-len(name):]
	c.inherited = inherited{rules: n.rulesOut, attrs: n.attrsOut, all: n.all, nested: n.nested, private: n.private}
	if n.side == inTree {
		c.side = inTree
	}
	if n.trackedOnly() {
		c.full = fullAbove
	}
	c.reach = c.levels.of(c.depth)
	c.pending.Store(1)
	return c
}

// settle fixes the digest of a child after its flags are known.
func (n *node) settle() { n.rules = n.inherited.digest() }

// report tells the parent what became of a finished directory, unless that is
// what the parent's row says already.
func (n *node) report() {
	p := n.parent
	if p == nil {
		return
	}
	r := report{gone: n.gone}
	switch {
	case n.gone == nil:
		r.item = n.item()
	case n.gone.stays != nil:
		r.item = *n.gone.stays
	default:
		r.item.Name = n.name
	}
	if n.gone == nil && !n.was.IsZero() && n.was.SameAs(&r.item) {
		return
	}
	p.mu.Lock()
	p.reports = append(p.reports, r)
	p.mu.Unlock()
}

// item is the entry of a directory in the row of its parent.
func (n *node) item() stattable.Item {
	it := stattable.Item{Name: n.name, Mode: n.mode, GitMode: tree.GitDir, Git: n.tree, Raw: n.overlay, Flags: stattable.IsDir}
	if n.nestedRoot() {
		it.Mode = tree.Nested | n.mode.Perm()
	}
	if n.nestedRoot() || !n.gitlink.commit.IsZero() {
		it.GitMode, it.Git = tree.GitLink, n.gitlink.commit
	} else if n.tree.IsZero() && !n.gitlink.instead.IsZero() {
		it.GitMode, it.Git = tree.GitLink, n.gitlink.instead
	}
	if n.side == outside {
		it.Git = oid.ID{}
		it.Flags |= stattable.OutOfGit
	}
	if n.ignored && !n.all || n.barred {
		it.Flags |= stattable.Ignored
	}
	if n.held {
		it.Flags |= stattable.Tracked
	}
	if n.trackedOnly() {
		it.Flags |= stattable.InFull
	}
	return it
}

func (n *node) nestedRoot() bool { return n.parent != nil && n.realm != n.parent.realm }

// head begins the head of a directory's row.
func (s *scan) head(n *node, st *dirfd.Stat) stattable.Head {
	h := stattable.Head{Mode: st.Mode, Ino: st.Ino, Mtime: st.Mtime, Ctime: st.Ctime, Rules: n.rules, Attrs: n.attrs}
	if s.young(st) {
		h.Flags |= stattable.Ambiguous
	}
	if n.parent == nil || n.nestedRoot() {
		h.IndexKey = n.realm.key
	}
	return h
}

// mix folds a number into a digest. Digests guard against accidents only.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// mixID folds an object id into a digest; the zero id changes it too.
func mixID(h uint64, id oid.ID) uint64 {
	var buf [32]byte
	p := id.Append(buf[:0])
	for i := 0; i+8 <= len(p) && i < 16; i += 8 {
		var v uint64
		for _, b := range p[i : i+8] {
			v = v<<8 | uint64(b)
		}
		h = mix(h, v)
	}
	return mix(h, uint64(len(p)))
}

func mixString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = mix(h, uint64(s[i]))
	}
	return mix(h, uint64(len(s)))
}
