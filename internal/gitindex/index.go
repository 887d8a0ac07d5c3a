// Package gitindex reads git's index: from the bytes of an index file to
// entries grouped by directory.
//
// It reads every variant git writes (versions 2 to 4, split and sparse
// indexes, SHA-1 and SHA-256, with and without a checksum), refuses what it
// does not understand, and trusts nothing: bytes that are not an index give an
// error, never a panic and never an entry. It writes nothing, and it does not
// know where an index lies or what is on disk.
//
// The format is described in git-scm.com/docs/gitformat-index.
package gitindex

import (
	"errors"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// ErrMalformed is reported for bytes that are not an index: cut short, out of
// order, with a wrong checksum, or with paths that no directory can hold.
var ErrMalformed = errors.New("malformed index")

// ErrUnsupported is reported for an index that says of itself that a reader
// must know something this package does not: a version or a mandatory
// extension. The error's text names it.
var ErrUnsupported = errors.New("unsupported index")

// Flags are the marks that git's commands put on an entry.
type Flags uint8

// The flags of an entry. Their numbers are part of [Directory.Digest].
const (
	AssumeValid  Flags = 1 << iota // git update-index --assume-unchanged
	SkipWorktree                   // not wanted on disk (sparse checkout)
	IntentToAdd                    // git add -N: the path is known, its content is not
)

// An Entry is one path of the index.
type Entry struct {
	Name  string // last component of the path, bytes as on disk
	Stat  Stat   // of the file when git last saw it equal to ID; all zero when unknown
	Mode  tree.Mode
	ID    oid.ID
	Stage uint8 // 0 merged; 1 base, 2 ours, 3 theirs of an unmerged path
	Flags Flags
}

// A Directory is what the index holds directly in one directory. It is shared
// by all callers and must not be changed.
type Directory struct {
	Entries []Entry  // sorted by name as bytes, then by stage
	Dirs    []string // names of the subdirectories that hold entries, sorted as bytes

	// Sparse is the id of the git tree that stands for this whole directory in
	// a sparse index; Entries and Dirs are then empty. Otherwise zero.
	Sparse oid.ID

	// Tree is the id of the git tree that the index's entries in and below this
	// directory make, if the index knows it (git's cache of trees), else zero.
	// It says nothing about what is on disk, and nothing about whether git has
	// that object.
	Tree oid.ID

	// Digest is a fingerprint of names, modes, flags, stages and ids of Entries,
	// of Dirs and of Sparse; stat data are not part of it. It is the same in
	// every process and version, is never 0, and guards against accidents, not
	// against forgery.
	Digest uint64

	path   string
	parent uint32 // in Index.dirs; the root is its own
	total  int    // entries in and below; a sparse directory counts as one
}

// Find returns the entries of a name: none, one, or the stages of an unmerged
// path. A nil directory holds nothing.
func (d *Directory) Find(name string) []Entry {
	if d == nil {
		return nil
	}
	i, _ := slices.BinarySearchFunc(d.Entries, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	n := i
	for n < len(d.Entries) && d.Entries[n].Name == name {
		n++
	}
	return d.Entries[i:n]
}

// An Index is a decoded index file. It is read-only and may be shared by any
// number of goroutines. It does not refer to the bytes it was decoded from.
type Index struct {
	Version int   // 2, 3 or 4
	Sparse  bool  // whole directories may be one tree entry
	Mtime   int64 // of the index file, from [Options]

	alg    oid.Algorithm
	dirs   []*Directory // parents before children
	byPath map[string]*Directory
	length int
}

// Dir returns what the index holds in a directory, nil if nothing. The path is
// slash-separated; "" is the worktree itself.
func (x *Index) Dir(path string) *Directory { return x.byPath[path] }

// Len returns the number of entries, stages and sparse directories included.
func (x *Index) Len() int { return x.length }
