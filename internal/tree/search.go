package tree

import (
	"fmt"
	"iter"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Need is an object that a tree consists of: the tree itself, a tree below
// it, or the content of a file or link.
type Need struct {
	ID   oid.ID
	Kind oid.Kind
	Path string // where it was met first; "" for the root
}

// A Search looks for objects of trees by difference from trees that are known:
// what a known tree has at the same path, or in the same directory, is neither loaded nor
// yielded; what it has elsewhere may be. It may be used for
// several roots, and then yields each object once. One goroutine uses it.
type Search struct {
	Algorithm oid.Algorithm
	Load      Loader

	// Overlay says that the trees are overlays, in which the directory of a
	// nested repository is a tree of ours. In a git tree it names a commit of
	// another repository, which is no object here.
	Overlay bool

	// Skip, which may be nil, reports contents that are not to be yielded. They take
	// up no memory: a search remembers everything else that it has met.
	Skip func(oid.ID) bool

	seen oid.Index // known, or yielded already
}

// Beyond yields what root needs and the known trees do not have, an object
// after all that it needs itself. Known trees are compared with root directory
// by directory; one that cannot be loaded is left out, so that more is yielded.
// The sequence ends with an error where a tree of root cannot be loaded.
func (s *Search) Beyond(root oid.ID, known ...oid.ID) iter.Seq2[Need, error] {
	return func(yield func(Need, error) bool) {
		for _, id := range known {
			if !id.IsZero() {
				s.seen.Add(id)
			}
		}
		if !root.IsZero() {
			s.tree(Need{ID: root, Kind: oid.Tree}, known, yield)
		}
	}
}

// tree yields a directory; false: the caller wants no more.
func (s *Search) tree(n Need, known []oid.ID, yield func(Need, error) bool) bool {
	if s.met(n.ID) {
		return true
	}
	s.seen.Add(n.ID)
	list, below, err := s.open(n, known)
	if err != nil {
		yield(n, err)
		return false
	}
	for _, e := range list {
		need := Need{ID: e.ID, Kind: oid.Blob, Path: Join(n.Path, e.Name)}
		if s.met(e.ID) || !s.counts(&e) {
			continue
		}
		if e.Mode.IsDir() {
			need.Kind = oid.Tree
			if !s.tree(need, below[e.Name], yield) {
				return false
			}
			continue
		}
		if s.Skip != nil && s.Skip(e.ID) {
			continue
		}
		s.seen.Add(e.ID)
		if !yield(need, nil) {
			return false
		}
	}
	return yield(n, nil)
}

// met reports whether an object is known, or was yielded.
func (s *Search) met(id oid.ID) bool {
	_, met := s.seen.Place(id)
	return met
}

// counts reports whether an entry is an object that a search looks for.
func (s *Search) counts(e *Entry) bool {
	return !e.ID.IsZero() && (e.Mode.Type() != Nested || s.Overlay)
}

// know takes up an entry of a known tree.
func (s *Search) know(e *Entry, below map[string][]oid.ID) {
	if s.counts(e) {
		s.seen.Add(e.ID)
		if e.Mode.IsDir() {
			below[e.Name] = append(below[e.Name], e.ID)
		}
	}
}

// fewUnlike is how many entries of a directory are looked for among those of the known
// one, before all of those are taken up.
const fewUnlike = 4

// open returns the entries of a directory, without what known trees have, and the trees
// below these.
func (s *Search) open(n Need, known []oid.ID) (list []Entry, below map[string][]oid.ID, err error) {
	if err := CheckPath(n.Path); err != nil {
		return nil, nil, err
	}
	payload, err := s.Load(n.ID)
	if err != nil {
		return nil, nil, err
	}
	if len(known) == 1 && !known[0].IsZero() {
		if was, err := s.Load(known[0]); err == nil {
			if list, below, ok := s.unlike(payload, was); ok {
				return list, below, nil
			}
		}
		known = nil
	}
	if list, err = Decode(payload, s.Algorithm); err != nil {
		return nil, nil, fmt.Errorf("tree %v: %w", n.ID, err)
	}
	return list, s.learn(known), nil
}

// unlike returns the entries of a directory that the one known tree, which most have, has
// not, and the trees below that. Only what is not in the directory any more is taken up: of
// many entries few differ. Not ok: one of them cannot be read.
func (s *Search) unlike(now, was []byte) (left []Entry, below map[string][]oid.ID, ok bool) {
	x, y := read(now, s.Algorithm), read(was, s.Algorithm)
	again := *y
	left, gone := apart(x, y)
	if x.err != nil || y.err != nil {
		return nil, nil, false
	}
	below = map[string][]oid.ID{}
	for i := range gone {
		s.know(&gone[i], below)
	}
	few := len(left) <= fewUnlike
	for e := again.next(); e != nil; e = again.next() {
		if few {
			left = slices.DeleteFunc(left, func(l Entry) bool { return l.ID == e.ID })
		} else if s.counts(e) {
			s.seen.Add(e.ID)
		}
	}
	return left, below, true
}

// learn takes up what is in known trees, and gives the trees below them.
func (s *Search) learn(known []oid.ID) map[string][]oid.ID {
	below := map[string][]oid.ID{}
	for i, id := range known {
		if id.IsZero() || slices.Contains(known[:i], id) {
			continue
		}
		list, err := entries(id, s.Algorithm, s.Load)
		if err != nil {
			continue
		}
		for _, e := range list {
			s.know(&e, below)
		}
	}
	return below
}
