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
	"encoding/binary"
	"errors"
	"slices"

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

// Flags are the marks that git's commands put on an entry. That it is to count as
// unchanged (git update-index --assume-unchanged) is passed over.
type Flags uint8

// The flags of an entry. Their numbers are part of [Directory.Digest].
const (
	SkipWorktree Flags = 1 << iota // not wanted on disk (sparse checkout)
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

	Number int32 // its place in the index, below [Index.Len]
}

// A Directory is what the index holds directly in one directory. Its strings
// may lie in the bytes that the index was decoded from.
type Directory struct {
	Entries []Entry  // sorted by name as bytes, then by stage
	Dirs    []string // names of the subdirectories that hold entries, sorted as bytes; shared, not to be changed

	// Sparse is the id of the git tree that stands for this whole directory in
	// a sparse index; Entries and Dirs are then empty. Otherwise zero.
	Sparse oid.ID

	// Digest is a fingerprint of names, modes, flags, stages and ids of Entries,
	// of Dirs and of Sparse; stat data are not part of it. It is the same in
	// every process and version, is never 0, and guards against accidents, not
	// against forgery.
	Digest uint64
}

// An Index is an index file that was checked and taken apart. It is read-only
// and may be shared by any number of goroutines. It keeps the bytes it was
// decoded from: an entry is decoded when its directory is asked for, by the one
// who asks, because that is as fast as finding it decoded.
type Index struct {
	Sparse bool  // whole directories may be one tree entry
	Skips  bool  // an entry is marked [SkipWorktree], or is a whole directory
	Mtime  int64 // of the index file, from [Options]

	alg     oid.Algorithm
	files   [2]*file // by record.base
	records []record // in the order of the file
	runs    []run
	dirs    []place // parents before children
	byPath  map[string]uint32
}

// A place is one directory: where its entries are among the records.
type place struct {
	path        string
	names       []string // of subdirectories
	sparse      oid.ID
	parent      uint32 // in Index.dirs; the root is its own
	first, last int32  // in Index.runs; -1: none
	count       uint32 // entries
	kids        uint32 // subdirectories
}

// A run is a piece of a directory's records without a subdirectory's between
// them. The numbers of records are below 1<<32 / 62.
type run struct {
	from, to uint32
	next     int32 // in Index.runs; -1: none
}

// Dir returns what the index holds in a directory, nil if nothing. The path is
// slash-separated; "" is the worktree itself.
func (x *Index) Dir(path string) *Directory {
	d := &Directory{}
	if !x.Read(path, d) {
		return nil
	}
	return d
}

// Read is [Index.Dir] into a directory that the caller has for it, whose
// entries it writes over. It reports false where the index holds nothing.
func (x *Index) Read(path string, into *Directory) bool {
	i, ok := x.byPath[path]
	if !ok {
		return false
	}
	p := &x.dirs[i]
	into.Dirs, into.Sparse = p.names, p.sparse
	into.Entries = slices.Grow(into.Entries[:0], int(p.count))[:p.count]
	skip, n := 0, 0
	if path != "" {
		skip = len(path) + 1
	}
	for at := p.first; at >= 0; at = x.runs[at].next {
		for i := x.runs[at].from; i < x.runs[at].to; i++ {
			x.entry(&x.records[i], skip, &into.Entries[n])
			into.Entries[n].Number = int32(i)
			n++
		}
	}
	into.Digest = into.digest()
	return true
}

// Content returns the bytes of the id of the content that an entry has, by the
// entry's number; nil for what is no file: a link, a commit, a directory. They
// are not to be changed.
func (x *Index) Content(number int) []byte {
	r := &x.records[number]
	f := x.files[r.base]
	p := f.data[r.at:]
	if tree.Mode(binary.BigEndian.Uint32(p[24:])).Type() != tree.File {
		return nil
	}
	return p[statSize : statSize+f.hash]
}

// Len returns the number of entries, stages and sparse directories included.
func (x *Index) Len() int { return len(x.records) }
